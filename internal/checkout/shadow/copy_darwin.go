package shadow

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openPlain opens a file for reading and follows no link.
func openPlain(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// clonePath makes a clone of a file, with its permissions and times.
func clonePath(from, to string) error { return unix.Clonefile(from, to, unix.CLONE_NOFOLLOW) }

// clone is for systems that can share blocks between open files.
func clone(_, _ *os.File) error { return errors.ErrUnsupported }
