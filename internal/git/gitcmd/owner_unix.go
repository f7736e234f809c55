//go:build unix

package gitcmd

import (
	"os"
	"strconv"
	"syscall"
)

// isOwnedByUser reports whether a path belongs to the current user; for root, also to the user
// that sudo names.
func (g *Git) isOwnedByUser(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	me := os.Geteuid()
	if me == 0 && owner != 0 {
		if text, ok := g.environ("SUDO_UID"); ok {
			uid, err := strconv.ParseUint(text, 10, 32)
			return err == nil && int(uid) == owner, nil
		}
	}
	return owner == me, nil
}
