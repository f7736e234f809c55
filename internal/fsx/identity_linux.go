package fsx

import (
	"os"

	"golang.org/x/sys/unix"
)

func lookAt(path string) (ino uint64, birth int64, err error) {
	var st unix.Statx_t
	err = unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_SYNC_AS_STAT, unix.STATX_INO|unix.STATX_BTIME, &st)
	if err != nil {
		return 0, 0, &os.PathError{Op: "statx", Path: path, Err: err}
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return st.Ino, birth, nil
}
