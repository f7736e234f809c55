package fsx

import (
	"errors"

	"golang.org/x/sys/windows"
)

// IsOtherDevice reports whether a rename failed because it would have led to another
// file system.
func IsOtherDevice(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }
