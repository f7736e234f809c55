//go:build unix

package fsx

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// IsMountPoint reports whether another file system, or another part of the same one, is
// mounted on a directory.
func IsMountPoint(path string) bool {
	above, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer above.Close()
	fd, err := openOnMount(above.fd(), filepath.Base(path))
	if err == nil {
		_ = unix.Close(fd)
	}
	return errors.Is(err, ErrMount)
}
