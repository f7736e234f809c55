package fsx

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// IsWritable reports true: a directory's attributes do not tell whether this process
// may write there.
func IsWritable(string) bool { return true }

// FreeSpace returns the free bytes for this user. The number of inodes is not fixed
// here, so it returns the largest number for them.
func FreeSpace(dir string) (bytes, inodes int64, err error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(p, &free, nil, nil)
	return int64(free), 1 << 62, err
}

// IsSameDevice reports whether a rename between two directories can work.
func IsSameDevice(a, b string) bool {
	return strings.EqualFold(filepath.VolumeName(a), filepath.VolumeName(b))
}

// TotalSpace returns how many bytes the file system of a directory has for this user, used and free.
func TotalSpace(dir string) (int64, error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var total uint64
	err = windows.GetDiskFreeSpaceEx(p, nil, &total, nil)
	return int64(total), err
}
