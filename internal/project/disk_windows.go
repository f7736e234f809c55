package project

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// Writable cannot be told from a directory's attributes here; the attempt
// tells.
func Writable(string) bool { return true }

// FreeSpace returns the free bytes for this user; there is no fixed number of
// inodes.
func FreeSpace(dir string) (bytes, inodes int64, err error) {
	p, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(p, &free, nil, nil)
	return int64(free), 1 << 62, err
}

// sameDevice reports whether a rename between two directories can work.
func sameDevice(a, b string) bool {
	return strings.EqualFold(filepath.VolumeName(a), filepath.VolumeName(b))
}
