package shadow

import (
	"os"

	"golang.org/x/sys/unix"
)

// openPlain opens a file for reading and follows no link.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// clone lets a file share the blocks of another one.
func clone(from, to *os.File) error {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}

// clonePath is for systems that make a clone under a new name.
func clonePath(_, _ string) error { return unix.ENOTSUP }
