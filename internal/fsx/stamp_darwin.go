package fsx

import (
	"os"
	"syscall"
)

// addKept adds what only the system's own form of the information has.
func (s *Stamp) addKept(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok {
		s.Device, s.Inode, s.Owner, s.Group, s.Changed = uint64(st.Dev), st.Ino, st.Uid, st.Gid, st.Ctimespec.Nano()
	}
	return ok
}
