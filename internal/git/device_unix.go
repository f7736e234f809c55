//go:build unix

package git

import (
	"errors"

	"golang.org/x/sys/unix"
)

func isOtherDevice(err error) bool { return errors.Is(err, unix.EXDEV) }
