package flock

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// IsHeld reports whether a process holds the lock on a path, as the kernel lists it,
// without taking the lock. The second result says whether this platform can tell.
func IsHeld(path string) (held, known bool) {
	if _, err := os.Stat("/proc/locks"); err != nil {
		return false, false
	}
	return holderOf(path) != "", true
}

// holderOf names the process that holds a lock, as the kernel lists it.
func holderOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	f, err := os.Open("/proc/locks")
	if err != nil {
		return ""
	}
	defer f.Close()
	inode := fmt.Sprintf(":%d", info.Sys().(*syscall.Stat_t).Ino)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// 1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF
		word := strings.Fields(lines.Text())
		if len(word) < 6 || word[1] != "FLOCK" || !strings.HasSuffix(word[5], inode) {
			continue
		}
		name, _ := os.ReadFile("/proc/" + word[4] + "/comm")
		return strings.TrimSpace(fmt.Sprintf("process %s %s", word[4], strings.TrimSpace(string(name))))
	}
	return ""
}
