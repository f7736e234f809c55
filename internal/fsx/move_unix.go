//go:build unix

package fsx

import (
	"errors"

	"golang.org/x/sys/unix"
)

// IsOtherDevice reports whether a rename failed because it would have led to another
// file system.
func IsOtherDevice(err error) bool { return errors.Is(err, unix.EXDEV) }
