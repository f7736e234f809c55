package fsx

import (
	"slices"

	"golang.org/x/sys/unix"
)

func networkFS(dir string) string {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return ""
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	if slices.Contains([]string{"nfs", "smbfs", "afpfs", "webdav"}, name) {
		return name
	}
	return ""
}
