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
	if st.Mask&unix.STATX_BTIME != 0 {
		birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return st.Ino, birth, nil
}

func descriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
