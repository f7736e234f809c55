package fsx

import (
	"fmt"
	"os"
	"strings"
)

// Identity tells one file or directory from every other that was ever at its
// path: its inode and the moment of its birth. An inode alone comes back as
// soon as a directory is deleted and another one made. Kernels count such
// moments in steps of a few milliseconds, so two directories that were made one
// after the other within one step may have the same.
//
// The zero Identity is that of nothing. It is a string so that it can be
// recorded and compared.
type Identity string

// IdentityOf returns the identity of what lies at a path. A link is looked at
// itself. Where the file system keeps no times of birth, the identity is the
// inode alone; [Identity.HasBirth] tells.
func IdentityOf(path string) (Identity, error) {
	ino, birth, err := lookAt(path)
	if err != nil {
		return "", err
	}
	return identity(ino, birth), nil
}

func identity(ino uint64, birth int64) Identity {
	if birth == 0 {
		return Identity(fmt.Sprintf("%d", ino))
	}
	return Identity(fmt.Sprintf("%d@%d", ino, birth))
}

// HasBirth reports whether the identity includes a time of birth.
func (id Identity) HasBirth() bool { return strings.Contains(string(id), "@") }

// IsAt reports whether what lies at a path has this identity. Nothing has the
// zero identity.
func (id Identity) IsAt(path string) bool {
	now, err := IdentityOf(path)
	return err == nil && id != "" && now == id
}

// IsThere reports whether anything lies at a path.
func IsThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
