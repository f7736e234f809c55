//go:build unix && !linux

package proc

import (
	"syscall"
	"time"
)

// isTerminal reports no terminal: on this platform none can be put in between.
func isTerminal(int) bool { return false }

// redirect makes an open file another name of one.
func redirect(from, to int) error { return syscall.Dup2(from, to) }

// ledBy says how the first process of a session starts the one that the session is for: in its own
// group, by which both are ended.
func ledBy(bool) *syscall.SysProcAttr { return nil }

// EndChildren does nothing: what is left is ended by the group of this process, which is the caller's.
func (t *Taken) EndChildren(time.Duration) {}
