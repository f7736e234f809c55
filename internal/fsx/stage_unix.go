//go:build unix

package fsx

import (
	"errors"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// control calls a function with the descriptor of the directory.
func (d *TreeDir) control(do func(fd int) error) error {
	self, err := d.file()
	if err != nil {
		return err
	}
	raw, err := self.SyscallConn()
	if err != nil {
		return err
	}
	var derr error
	if err := raw.Control(func(fd uintptr) { derr = do(int(fd)) }); err != nil {
		return err
	}
	return derr
}

func (f *Tree) moveNew(from, to *TreeDir, name, newName string) error {
	err := controlBoth(from, to, func(a, b int) error {
		return renameNew(a, filepath.Base(name), b, filepath.Base(newName))
	})
	return linkError("rename", f.Path(name), f.Path(newName), err)
}

// controlBoth calls a function with the descriptors of two directories.
func controlBoth(a, b *TreeDir, do func(a, b int) error) error {
	return a.control(func(fd int) error {
		if a == b { // a descriptor is not held twice
			return do(fd, fd)
		}
		return b.control(func(other int) error { return do(fd, other) })
	})
}

func exchange(of, to *TreeDir, a, b string) error {
	err := controlBoth(of, to, func(x, y int) error { return exchangeAt(x, a, y, b) })
	if isOneOf(err, unix.EINVAL, unix.ENOSYS, unix.ENOTSUP, unix.EXDEV) {
		err = ErrNoExchange
	}
	return linkError("exchange", a, b, err)
}

// isOneOf reports whether an error is one of the system's.
func isOneOf(err error, list ...unix.Errno) bool {
	return slices.ContainsFunc(list, func(e unix.Errno) bool { return errors.Is(err, e) })
}
