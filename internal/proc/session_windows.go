package proc

import (
	"errors"
	"io"
	"os"
)

// Session is a process with all that it starts. There are none on this platform.
type Session struct{ PID int }

// SessionIO says what a session reads from and writes to.
type SessionIO struct {
	Terminal, Stdin *os.File
	Stdout, Stderr  io.Writer
	Log             io.Writer
}

// StartSession fails: this platform has no sessions.
func StartSession(Command, SessionIO) (*Session, error) { return nil, errors.ErrUnsupported }

// Wait fails.
func (*Session) Wait() (int, error) { return 0, errors.ErrUnsupported }

// Close does nothing.
func (*Session) Close() {}

// Signal does nothing: there are no sessions on this platform.
func Signal(Identity, Ending) {}

// NewSession does nothing: there are no sessions on this platform.
func NewSession() {}

// hasGroup reports no group.
func hasGroup(int) bool { return false }
