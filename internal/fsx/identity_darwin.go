package fsx

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func lookAt(path string) (ino uint64, birth int64, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return st.Ino, st.Birthtimespec.Nano(), nil
}

func identityOfStat(st *unix.Stat_t) Identity { return identity(st.Ino, st.Btim.Nano()) }
