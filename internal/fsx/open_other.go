//go:build !unix

package fsx

import "os"

// NonBlocking is the flag for those who open files by other means than this
// package's; there is none here.
const NonBlocking = 0

func openNoFollow(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	return os.Open(path)
}
