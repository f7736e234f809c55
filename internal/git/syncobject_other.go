//go:build !windows

package git

import (
	"errors"
	"os"
)

// syncObject waits until a file's contents are on disk.
func syncObject(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
