//go:build unix

package fsx

import (
	"golang.org/x/sys/unix"
)

// IsWritable reports whether this process may make entries in a directory.
func IsWritable(dir string) bool {
	return unix.Access(dir, unix.W_OK|unix.X_OK) == nil
}

// FreeSpace returns the free bytes and inodes for this user. If the file system has no
// fixed number of inodes, it returns the largest number.
func FreeSpace(dir string) (bytes, inodes int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	inodes = int64(st.Ffree)
	if st.Files == 0 {
		inodes = 1 << 62
	}
	return int64(uint64(st.Bavail) * uint64(st.Bsize)), inodes, nil
}

// IsSameDevice reports whether a rename between two directories can work.
func IsSameDevice(a, b string) bool {
	var sa, sb unix.Stat_t
	return unix.Stat(a, &sa) == nil && unix.Stat(b, &sb) == nil && sa.Dev == sb.Dev
}

// TotalSpace returns how many bytes the file system of a directory has, used and free.
func TotalSpace(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(uint64(st.Blocks) * uint64(st.Bsize)), nil
}
