package fsx

import "golang.org/x/sys/unix"

// KeepsTimes reports whether the times of files and directories change with what they hold, at once and for every
// reader: on a file system of this machine that is known to do so.
func KeepsTimes(fd int) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false
	}
	return unix.ByteSliceToString(st.Fstypename[:]) == "apfs"
}
