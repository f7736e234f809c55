//go:build unix

package gitcmd

import (
	"os"
	"syscall"
)

// IsNull reports whether a file is the null device, from which nothing is read and no process waits. Claude Code's
// sandbox puts it where an agent must not make a file, such as .gitmodules.
func IsNull(info os.FileInfo) bool {
	if info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	want, wantOK := null.Sys().(*syscall.Stat_t)
	return ok && wantOK && is.Rdev == want.Rdev
}
