//go:build !linux && !darwin && !windows

package fsx

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func inodeAndBirth(path string) (ino uint64, birth int64, err error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, 0, err
	}
	return uint64(info.Sys().(*syscall.Stat_t).Ino), 0, nil
}

func identityOfStat(st *unix.Stat_t) Identity { return identity(uint64(st.Ino), 0) }

func networkFS(string) string { return "" }
