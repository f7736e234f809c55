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
	"time"
)

// Taken is the first process of a session that StartSession started, as it sees itself. It stands
// above the others of the session, and outlives its caller.
type Taken struct {
	onTerminal bool
	outputs    []io.Reader
	isOrphaned atomic.Bool
	orphaned   chan struct{} // closed when the caller is gone
	life       *os.File      // a pipe that ends with the caller

	group            atomic.Int64 // of the process that the session is for, on a terminal of this one's
	isHungUp, isTold atomic.Bool  // the terminal has ended; that process knows it
}

// drop drops signals, but for the end of the terminal: the kernel tells that to the first process of the session alone, which hands
// it on.
func (t *Taken) drop(signals <-chan os.Signal) {
	for sig := range signals {
		if sig == syscall.SIGHUP {
			t.isHungUp.Store(true)
			t.hangUp()
		}
	}
}

// setGroup says which process the session is for. The terminal may have ended since that one began.
func (t *Taken) setGroup(pid int) {
	t.group.Store(int64(pid))
	t.hangUp()
}

// hangUp tells the process that the session is for, once, that its terminal has ended, if both are known.
func (t *Taken) hangUp() {
	if group := int(t.group.Load()); group > 0 && t.isHungUp.Load() && t.isTold.CompareAndSwap(false, true) {
		_ = syscall.Kill(-group, syscall.SIGHUP)
		_ = syscall.Kill(-group, syscall.SIGCONT)
	}
}

// TakeOver is called by the first process of a session. It decodes what it was told, as JSON. Signals
// that would end it are taken from then on and dropped: what it starts gets them by itself.
func TakeOver(told any) (*Taken, error) {
	t := &Taken{orphaned: make(chan struct{}), onTerminal: isTerminal(0)}
	dropped, ended := make(chan os.Signal, 1), make(chan os.Signal, 1) // of its own: no other signal takes its place
	signal.Notify(dropped, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU)
	signal.Notify(ended, syscall.SIGHUP)
	go t.drop(dropped)
	go t.drop(ended)
	keepFiles()
	t.life = os.NewFile(sessionLife, "life")
	in := json.NewDecoder(t.life)
	if err := in.Decode(told); err != nil {
		return nil, err
	}
	if !t.onTerminal {
		t.outputs = []io.Reader{os.NewFile(sessionStdout, "stdout"), os.NewFile(sessionStderr, "stderr")}
	}
	go t.followCaller()
	return t, nil
}

// followCaller waits until the caller is gone.
func (t *Taken) followCaller() {
	_, _ = io.Copy(io.Discard, t.life)
	t.isOrphaned.Store(true)
	close(t.orphaned)
}

// IsOrphaned reports whether the caller is gone. A terminal that has ended was the caller's: its agent may have ended of that before
// the kernel has closed the caller's other files.
func (t *Taken) IsOrphaned() bool {
	if t.isHungUp.Load() {
		select {
		case <-t.orphaned:
		case <-time.After(5 * time.Second): // somebody else has sent the signal
		}
	}
	return t.isOrphaned.Load()
}

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
		t.setGroup(cmd.Process.Pid)
	}
	return &Session{PID: cmd.Process.Pid, cmd: cmd}, nil
}
