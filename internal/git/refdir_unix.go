//go:build unix

package git

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rmdir removes a directory that is empty, and nothing that is no directory.
func (d *refDir) rmdir(name string) error {
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

// names is by how many names a file can be reached.
func names(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}
