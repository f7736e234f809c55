package walk

import "golang.org/x/sys/unix"

// datesWrites reports whether every write changes the times of its file. On tmpfs one through mapped memory does not.
func datesWrites(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && uint32(st.Type) != unix.TMPFS_MAGIC
}
