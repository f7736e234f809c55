//go:build unix

package fsx

import (
	"errors"
	"os"
	"syscall"
)

// SyncOpen syncs a file or a directory. A file system that cannot sync a
// directory keeps it by other means.
func SyncOpen(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// SyncReadOnly waits until the contents of a file, which may be read-only, are on
// disk.
func SyncReadOnly(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
