//go:build !unix

package fsx

import (
	"os"
	"path/filepath"
)

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

func openDirectory(path string) (*os.File, error) { return os.Open(path) }

// ReadSmall reads a file that holds a line or two.
func ReadSmall(path string) ([]byte, error) { return ReadFile(path, MaxSmall) }

// ReadSmall reads a file that holds a line or two, by its path from the directory.
func (l *Listing) ReadSmall(path string) ([]byte, error) {
	return ReadSmall(filepath.Join(l.dir.Name(), path))
}

// IsMountPoint reports whether another file system is mounted on a directory. It is not
// known here.
func IsMountPoint(string) bool { return false }

// InheritAs lets what is made in a directory get the rules of access that it would get
// in another one. Not here.
func (d *Dir) InheritAs(*Dir) {}

// IsOthers reports whether a directory belongs to another user; here that is not known.
func IsOthers(string) bool { return false }
