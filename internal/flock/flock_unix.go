//go:build unix

package flock

import (
	"errors"
	"os"
	"syscall"
)

func tryLock(f *os.File, m mode) error { return lockFile(f, m, syscall.LOCK_NB) }

// waitLock takes the lock of an open file as soon as nobody else holds it.
func waitLock(f *os.File, m mode) error { return lockFile(f, m, 0) }

func lockFile(f *os.File, m mode, flags int) error {
	how := syscall.LOCK_EX | flags
	if m == shared {
		how = syscall.LOCK_SH | flags
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		default:
			return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// unlock releases the lock of an open file for every process that has the file. What it does not
// release goes when the file is closed.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
