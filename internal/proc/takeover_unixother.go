//go:build unix && !linux

package proc

import (
	"os"
	"strconv"
	"syscall"
	"time"
)

// isTerminal reports no terminal: on this platform none can be put in between.
func isTerminal(int) bool { return false }

// redirect makes an open file another name of one.
func redirect(from, to int) error { return syscall.Dup2(from, to) }

// keepFiles keeps the files that this process has open beside its standard ones from what it starts from now on.
func keepFiles() {
	entries, _ := os.ReadDir("/dev/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// lead reports that this process has no terminal.
func lead() bool { return false }

// ledBy says how the first process of a session starts the one that the session is for: in its own
// group, by which both are ended.
func ledBy(bool) *syscall.SysProcAttr { return nil }

// EndChildren does nothing: what is left is ended by the group of this process, which is the caller's.
func (t *Taken) EndChildren(time.Duration) {}
