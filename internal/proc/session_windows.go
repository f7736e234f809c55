package proc

import (
	"errors"
	"io"
	"os"
	"time"
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
func StartSession(Command, []byte, SessionIO) (*Session, error) { return nil, errors.ErrUnsupported }

// Wait fails.
func (*Session) Wait() (int, error) { return 0, errors.ErrUnsupported }

// Close does nothing.
func (*Session) Close() {}

// CopyOutputs does nothing.
func CopyOutputs([]io.Reader, io.Writer) {}

// Continue does nothing.
func (*Session) Continue() {}

// ResetTerminal does nothing.
func (*Session) ResetTerminal() {}

// HasOpenLine reports that nothing was printed.
func (*Session) HasOpenLine() bool { return false }

// Suspends never says anything.
func (*Session) Suspends() <-chan struct{} { return nil }

// IsSuspended reports that it is not.
func (*Session) IsSuspended() bool { return false }

// Suspend does nothing.
func (*Session) Suspend() {}

// Kill does nothing.
func (*Session) Kill() {}

// Taken is the first process of a session, as it sees itself. There are none on this platform.
type Taken struct{}

// TakeOver fails: this platform has no sessions.
func TakeOver(any) (*Taken, error) { return nil, errors.ErrUnsupported }

// OnOrphaned does nothing.
func (*Taken) OnOrphaned(func(output []io.Reader)) {}

// IsOrphaned reports that the caller is there.
func (*Taken) IsOrphaned() bool { return false }

// Start fails.
func (*Taken) Start(Command) (*Session, error) { return nil, errors.ErrUnsupported }

// EndChildren does nothing.
func (*Taken) EndChildren(time.Duration) {}

// Signal does nothing: there are no sessions on this platform.
func Signal(Identity, Ending) {}

// NewSession does nothing: there are no sessions on this platform.
func NewSession() {}

// hasGroup reports no group.
func hasGroup(int) bool { return false }
