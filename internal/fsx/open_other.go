//go:build !unix

package fsx

import "os"

// nonBlock is not needed where there are no pipes in the file system.
const nonBlock = 0

func openNoFollow(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	return os.Open(path)
}
