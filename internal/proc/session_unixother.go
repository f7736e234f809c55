//go:build unix && !linux

package proc

import (
	"errors"
	"syscall"
)

// onTerminal cannot put a terminal in between on this platform.
func (s *Session) onTerminal(SessionIO) error { return errors.ErrUnsupported }

// terminal: there is none.
type terminal struct{}

// Suspends never says anything: there is no terminal.
func (s *Session) Suspends() <-chan struct{} { return nil }

// IsSuspended reports that it is not.
func (s *Session) IsSuspended() bool { return false }

// Suspend does nothing.
func (s *Session) Suspend() {}

// Signal asks the processes of a group that a process leads to end, stops them, or kills them.
func Signal(id Identity, how Ending) {
	signals := map[Ending]syscall.Signal{Ask: syscall.SIGTERM, Stop: syscall.SIGSTOP, Continue: syscall.SIGCONT, Kill: syscall.SIGKILL}
	_ = syscall.Kill(-id.PID, signals[how])
}

// hasGroup reports whether a group has processes.
func hasGroup(leader int) bool { return syscall.Kill(-leader, 0) == nil }
