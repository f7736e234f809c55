//go:build unix

package fsx

import (
	"errors"
	"os"
	"syscall"
)

// NonBlocking is the flag for those who open files by other means than this
// package's: a pipe is then not waited for.
const NonBlocking = syscall.O_NONBLOCK

func openNoFollow(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	return f, err
}
