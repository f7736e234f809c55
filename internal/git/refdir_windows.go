package git

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// rmdir removes a directory that is empty, and nothing that is no directory.
func (d *refDir) rmdir(name string) error {
	path, err := windows.UTF16PtrFromString(filepath.Join(d.Name(), name))
	if err != nil {
		return err
	}
	return windows.RemoveDirectory(path)
}

// names is by how many names a file can be reached.
func names(os.FileInfo) uint64 { return 1 }
