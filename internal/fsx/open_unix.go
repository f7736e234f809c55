//go:build unix

package fsx

import (
	"errors"
	"os"
	"syscall"
)

// nonBlock keeps an open from waiting for the other end of a pipe.
const nonBlock = syscall.O_NONBLOCK

func openNoFollow(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	return f, err
}
