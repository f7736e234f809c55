package walk

import "golang.org/x/sys/unix"

// datesDirs reports whether the times of a directory change with the names in it, at once and for every
// reader: on a file system of this machine that is known to do so.
func datesDirs(fd int) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return false
	}
	return unix.ByteSliceToString(st.Fstypename[:]) == "apfs"
}
