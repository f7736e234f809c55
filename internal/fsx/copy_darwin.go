package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// cloneTo makes a clone of a file under a new name.
func cloneTo(from *os.File, to string) error {
	return unix.Fclonefileat(int(from.Fd()), unix.AT_FDCWD, to, 0)
}

// cloneInto is for systems that can share blocks between open files.
func cloneInto(_, _ *os.File) error { return errors.ErrUnsupported }
