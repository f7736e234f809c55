//go:build unix

package fsx

import (
	"os"

	"golang.org/x/sys/unix"
)

// rmdir removes a directory that is empty, and nothing that is no directory.
func (d *TreeDir) rmdir(name string) error {
	self, err := d.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	raw, err := self.SyscallConn()
	if err != nil {
		return err
	}
	var rerr error
	err = raw.Control(func(fd uintptr) { rerr = unix.Unlinkat(int(fd), name, unix.AT_REMOVEDIR) })
	if err == nil {
		err = rerr
	}
	if err != nil {
		return &os.PathError{Op: "rmdir", Path: name, Err: err}
	}
	return nil
}
