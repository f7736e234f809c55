//go:build linux || darwin

package config

import (
	"os"
	"syscall"
)

// inodeOf returns what tells a file from another one that took its place: its inode and the
// time of its last change, which no program can set.
func inodeOf(info os.FileInfo) any {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return [2]any{s.Ino, changed(s)}
	}
	return nil
}
