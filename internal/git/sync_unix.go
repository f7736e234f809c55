//go:build unix

package git

import (
	"errors"
	"os"
	"syscall"
)

// syncOpen syncs a file or a directory. A file system that cannot sync a
// directory keeps it by other means.
func syncOpen(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
