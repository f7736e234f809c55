package fsx

import (
	"os"
	"path/filepath"
)

// CloseToOthers takes the rights of other users away from a directory of Croft's that was made by
// somebody else. Croft's is one that has the file called ours, or nothing in it; any other may be
// for other things too, and one in which everybody may write is. These stay as they are, and so
// does one of another user.
func CloseToOthers(dir, ours string) {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o077 == 0 || info.Mode()&os.ModeSticky != 0 {
		return
	}
	if _, err := os.Lstat(filepath.Join(dir, ours)); err != nil {
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
			return
		}
	}
	_ = os.Chmod(dir, 0o700) // only its owner can
}
