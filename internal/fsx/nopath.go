package fsx

import (
	"errors"
	"os"
	"syscall"
)

// IsNoPath reports whether an error says that nothing is at a path, also because of what the path
// is like: it has a byte that no path has, a file in the place of a directory, a name that is too
// long.
func IsNoPath(err error) bool {
	for _, is := range []error{os.ErrNotExist, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ELOOP} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
