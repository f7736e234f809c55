package fsx

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

func inodeAndBirth(path string) (ino uint64, birth int64, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return st.Ino, st.Birthtimespec.Nano(), nil
}

func identityOfStat(st *unix.Stat_t) Identity { return identity(st.Ino, st.Btim.Nano()) }

// cloneTo makes a clone of a file under a new name.
func cloneTo(from *os.File, to string) error {
	return unix.Fclonefileat(int(from.Fd()), unix.AT_FDCWD, to, 0)
}

// cloneInto is for systems that can share blocks between open files.
func cloneInto(_, _ *os.File) error { return errors.ErrUnsupported }

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
