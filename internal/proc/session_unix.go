//go:build unix

package proc

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Session is a process that leads a session of its own, so that no signal of the caller's
// terminal reaches it, with all that it starts. It outlives its caller.
type Session struct {
	PID int

	cmd     *exec.Cmd
	life    *os.File       // our end of a pipe: the process learns from its end that this one is gone
	outputs sync.WaitGroup // those who copy its output
	open    []io.Closer    // our ends of its pipes, or the terminal
	restore func()         // gives the caller's terminal back

	shown  io.Writer // where its output goes, beside the log
	screen screen    // what was printed there
	on     *terminal // nil: none
}

// SessionIO says what a session reads from and writes to.
type SessionIO struct {
	// Terminal is the caller's. The session gets another one, in between: what is typed goes
	// there, and what is printed comes from there. nil: it has none.
	Terminal *os.File
	// Stdin is what it reads without a Terminal; nil: nothing.
	Stdin *os.File
	// Stdout and Stderr get what it prints, and Log both. With a Terminal all goes to Stdout.
	Stdout, Stderr io.Writer
	Log            io.Writer
}

// The files that the first process of a session has open beside its standard ones.
const (
	sessionLife   = 3 // a pipe with what it was told; it ends with its caller
	sessionStdout = 4 // what it prints, to be read by it if its caller is gone; not on a terminal
	sessionStderr = 5
)

// StartSession starts a process that leads a session and tells it something: TakeOver is its other
// side. Wait has to be called.
func StartSession(c Command, told []byte, to SessionIO) (*Session, error) {
	keepFiles()
	cmd := newCmd(context.Background(), c)
	s := &Session{cmd: cmd, shown: to.Stdout}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	s.life, s.open = ours, append(s.open, ours)
	cmd.ExtraFiles = append(cmd.ExtraFiles, theirs)
	start := s.onPipes
	if to.Terminal != nil {
		start = s.onTerminal
	}
	if err := start(to); err != nil {
		s.close()
		return nil, err
	}
	s.PID = cmd.Process.Pid
	// One that ends before it has read all is seen to end.
	_, _ = s.life.Write(told)
	return s, nil
}

// onPipes starts the process with a pipe for each of its outputs.
func (s *Session) onPipes(io SessionIO) error {
	if io.Stdin != nil {
		s.cmd.Stdin = io.Stdin
	}
	log := &sharedWriter{w: io.Log}
	out, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	s.open = append(s.open, out)
	errOut, oursErr, err := os.Pipe()
	if err != nil {
		_ = ours.Close()
		return err
	}
	s.open = append(s.open, errOut)
	s.cmd.Stdout, s.cmd.Stderr = ours, oursErr
	s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, out, errOut)
	err = s.cmd.Start()
	_, _ = ours.Close(), oursErr.Close()
	if err != nil {
		return err
	}
	s.copyOutput(out, log, io.Stdout, &s.screen)
	s.copyOutput(errOut, log, io.Stderr, &s.screen)
	return nil
}

// sharedWriter is written to by several goroutines.
type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *sharedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.w == nil {
		return len(b), nil
	}
	return w.w.Write(b)
}

// copyOutput copies an output to the writers until it ends. One that fails is left out from then
// on: the process must not have to wait for it.
func (s *Session) copyOutput(from io.Reader, to ...io.Writer) {
	s.outputs.Go(func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			for i, w := range to {
				if w == nil || n == 0 {
					continue
				}
				if _, werr := w.Write(buf[:n]); werr != nil {
					to[i] = nil
				}
			}
			if err != nil {
				return
			}
		}
	})
}

// CopyOutputs copies outputs to a writer until all have ended.
func CopyOutputs(from []io.Reader, to io.Writer) {
	var s Session
	shared := &sharedWriter{w: to}
	for _, r := range from {
		s.copyOutput(r, shared)
	}
	s.outputs.Wait()
}

// Wait waits until the first process of the session has ended, and returns its status: 128 and the
// number of the signal if one killed it.
func (s *Session) Wait() (int, error) {
	state, err := s.cmd.Process.Wait()
	if err != nil {
		return 0, err
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// drainTime is how long the output of a session may go on after all its processes have ended.
const drainTime = 500 * time.Millisecond

// Close takes the rest of the output, and gives the caller's terminal back. Processes that were
// not ended may keep the output open: they are not waited for long.
func (s *Session) Close() {
	drained := make(chan struct{})
	go func() { defer close(drained); s.outputs.Wait() }()
	select {
	case <-drained:
	case <-time.After(drainTime):
	}
	s.close()
}

func (s *Session) close() {
	if s.restore != nil {
		s.restore()
		s.restore = nil
	}
	for _, c := range s.open {
		_ = c.Close()
	}
	s.open = nil
}

// ResetTerminal makes the caller's terminal what it was, if the output goes to one and the session has left something switched on
// there: one that was killed cannot have done that itself.
func (s *Session) ResetTerminal() {
	if f, ok := s.shown.(*os.File); ok && isTerminal(int(f.Fd())) {
		_, _ = f.WriteString(s.screen.undone())
	}
}

// HasOpenLine reports whether the last line that was printed has no end.
func (s *Session) HasOpenLine() bool { return s.shown != nil && s.screen.hasOpenLine() }

// Continue lets the first process go on, if somebody has stopped it.
func (s *Session) Continue() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

// Kill kills the first process.
func (s *Session) Kill() { _ = s.cmd.Process.Kill() }

// NewSession puts this process into a session of its own, so that it is none of those that are
// left of another one. It does nothing in a process that leads a group.
func NewSession() { _, _ = syscall.Setsid() }
