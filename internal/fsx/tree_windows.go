package fsx

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// rmdir removes a directory that is empty, and nothing that is no directory.
func (d *TreeDir) rmdir(name string) error {
	path, err := windows.UTF16PtrFromString(filepath.Join(d.Name(), name))
	if err != nil {
		return err
	}
	return windows.RemoveDirectory(path)
}
