//go:build unix

package proc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Taken is the first process of a session that StartSession started, as it sees itself. It stands
// above the others of the session, and outlives its caller.
type Taken struct {
	onTerminal bool
	outputs    []io.Reader
	isOrphaned atomic.Bool
	orphaned   chan struct{} // closed when the caller is gone

	group atomic.Int64 // of the process that the session is for, on a terminal of this one's
}

// hangUp drops signals. The kernel tells the end of a terminal to the first process of the session alone, which hands it on.
func (t *Taken) hangUp(signals <-chan os.Signal) {
	for sig := range signals {
		if group := int(t.group.Load()); group > 0 && sig == syscall.SIGHUP {
			_ = syscall.Kill(-group, syscall.SIGHUP)
			_ = syscall.Kill(-group, syscall.SIGCONT)
		}
	}
}

// TakeOver is called by the first process of a session. It decodes what it was told, as JSON. Signals
// that would end it are taken from then on and dropped: what it starts gets them by itself.
func TakeOver(told any) (*Taken, error) {
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	t := &Taken{orphaned: make(chan struct{}), onTerminal: isTerminal(0)}
	go t.hangUp(dropped)
	keepFiles()
	life := os.NewFile(sessionLife, "life")
	in := json.NewDecoder(life)
	if err := in.Decode(told); err != nil {
		return nil, err
	}
	if !t.onTerminal {
		t.outputs = []io.Reader{os.NewFile(sessionStdout, "stdout"), os.NewFile(sessionStderr, "stderr")}
	}
	go func() {
		_, _ = io.Copy(io.Discard, life) // until the caller is gone
		t.isOrphaned.Store(true)
		close(t.orphaned)
	}()
	return t, nil
}

// IsOrphaned reports whether the caller is gone.
func (t *Taken) IsOrphaned() bool { return t.isOrphaned.Load() }

// OnOrphaned calls f once the caller is gone, with the outputs that nobody reads any more.
func (t *Taken) OnOrphaned(f func(outputs []io.Reader)) {
	go func() {
		<-t.orphaned
		f(t.outputs)
	}()
}

// Start starts the process that the session is for. It gets the standard files, which this process
// has no more afterwards, whether that succeeds or not.
func (t *Taken) Start(c Command) (*Session, error) {
	cmd := newCmd(context.Background(), c)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	isLed := t.onTerminal && lead()
	cmd.SysProcAttr = ledBy(isLed)
	err := cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) { // a script that does not say what runs it
		shell := newCmd(context.Background(), Command{Path: "/bin/sh", Args: append([]string{cmd.Path}, c.Args...), Env: c.Env, Dir: c.Dir})
		shell.Stdin, shell.Stdout, shell.Stderr, shell.SysProcAttr = os.Stdin, os.Stdout, os.Stderr, cmd.SysProcAttr
		cmd = shell
		err = cmd.Start()
	}
	if err != nil {
		_, _ = os.Stderr.WriteString("croft: " + err.Error() + "\n")
	}
	if null, nerr := os.OpenFile(os.DevNull, os.O_RDWR, 0); nerr == nil {
		for fd := range 3 {
			_ = redirect(int(null.Fd()), fd)
		}
		_ = null.Close()
	}
	if err != nil {
		return nil, err
	}
	if isLed {
		t.group.Store(int64(cmd.Process.Pid))
	}
	return &Session{PID: cmd.Process.Pid, cmd: cmd}, nil
}
