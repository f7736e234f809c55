package fsx

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func lookAt(path string) (ino uint64, birth int64, err error) {
	ino, birth, err = statxAt(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return 0, 0, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	return ino, birth, nil
}

func statx(dir int, name string, flags int) (Identity, error) {
	ino, birth, err := statxAt(dir, name, flags)
	if err != nil {
		return "", err
	}
	return identity(ino, birth), nil
}

func statxAt(dir int, name string, flags int) (ino uint64, birth int64, err error) {
	var st unix.Statx_t
	if err := unix.Statx(dir, name, flags|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return 0, 0, err
	}
	if st.Mask&unix.STATX_BTIME != 0 && !isOverlay(dir, name) {
		birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return st.Ino, birth, nil
}

func descriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// isOverlay reports whether an entry of a directory lies on a file system of
// layers. There a directory of a lower layer is born again with the first change,
// under the same inode.
func isOverlay(dir int, name string) bool {
	var st unix.Statfs_t
	err := unix.Statfs(name, &st)
	if dir != unix.AT_FDCWD {
		err = unix.Fstatfs(dir, &st)
	}
	return err == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC
}
