package walk

import (
	"bytes"
	"encoding/binary"
	"iter"
)

// What the kernel has before the name in an entry of a directory: inode, offset, length and kind.
const (
	direntLength = 16
	direntName   = 19
)

// namesIn yields the names of what the kernel has told of a directory, but for those of itself and of the one above.
// They are valid until the next one.
func namesIn(buf []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(buf) > direntName {
			length := int(binary.NativeEndian.Uint16(buf[direntLength:]))
			if length <= direntName || length > len(buf) {
				return
			}
			name, _, _ := bytes.Cut(buf[direntName:length], []byte{0})
			buf = buf[length:]
			if string(name) != "." && string(name) != ".." && !yield(name) {
				return
			}
		}
	}
}
