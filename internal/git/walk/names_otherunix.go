//go:build unix && !linux

package walk

import (
	"iter"

	"golang.org/x/sys/unix"
)

// namesIn yields the names of what the kernel has told of a directory, but for those of itself and of the one above.
// They are valid until the next one.
func namesIn(buf []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		_, _, names := unix.ParseDirent(buf, -1, nil)
		for _, name := range names {
			if !yield([]byte(name)) {
				return
			}
		}
	}
}
