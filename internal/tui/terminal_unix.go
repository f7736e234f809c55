//go:build unix

package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// escapeTime is how long after an escape the rest of a sequence may take to come.
const escapeTime = 50 * time.Millisecond

// suspendTime is how long this process may take to be stopped.
const suspendTime = 150 * time.Millisecond

// terminal is a keyboard whose terminal is in raw mode.
type terminal struct {
	in  *os.File
	out io.Writer

	was     *term.State
	decoder decoder

	wake, waker *os.File // a pipe: something is written to it when a signal arrives or a context ends
	signals     chan os.Signal
	following   sync.WaitGroup
	closing     sync.Once
}

// Open puts the terminal that in is into raw mode, and drops what was typed before: it was typed for something
// else. Out is the same terminal.
func Open(in *os.File, out io.Writer) (Keyboard, error) {
	wake, waker, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	was, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, errors.Join(err, wake.Close(), waker.Close())
	}
	t := &terminal{in: in, out: out, was: was, wake: wake, waker: waker, signals: make(chan os.Signal, 4)}
	signal.Notify(t.signals, syscall.SIGWINCH, syscall.SIGCONT)
	t.following.Go(t.follow)
	t.show(pasteSwitch)
	t.dropTyped()
	return t, nil
}

// dropTyped drops what was typed so far.
func (t *terminal) dropTyped() {
	for {
		isTyped, _, err := t.await(0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || !isTyped || t.read() != nil {
			break
		}
	}
	t.decoder = decoder{}
}

// show writes to the terminal. There is nowhere left to tell that it failed.
func (t *terminal) show(text string) { _, _ = io.WriteString(t.out, text) }

// follow wakes Next when the terminal has another size, and takes the terminal again after this process was stopped.
func (t *terminal) follow() {
	for sig := range t.signals {
		if sig == syscall.SIGCONT {
			t.takeAgain()
		}
		_, _ = t.waker.Write([]byte{0})
	}
}

func (t *terminal) takeAgain() {
	_, _ = term.MakeRaw(int(t.in.Fd()))
	t.show(pasteSwitch)
}

// Next waits for a key.
func (t *terminal) Next(ctx context.Context) (Key, error) {
	defer context.AfterFunc(ctx, func() { _, _ = t.waker.Write([]byte{0}) })()
	for {
		if err := context.Cause(ctx); err != nil {
			return Key{}, err
		}
		if key, ok := t.decoder.next(false); ok {
			return key, nil
		}
		timeout := time.Duration(-1)
		if len(t.decoder.typed) > 0 {
			timeout = escapeTime
		}
		isTyped, isWoken, err := t.await(timeout)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return Key{}, err
		case isWoken:
			_, _ = t.wake.Read(make([]byte, 16))
			if ctx.Err() == nil {
				return Key{Kind: Redraw}, nil
			}
		case isTyped:
			if err := t.read(); err != nil {
				return Key{}, err
			}
		default:
			if key, ok := t.decoder.next(true); ok {
				return key, nil
			}
		}
	}
}

// await waits until something was typed, or the pipe has something, or a time has passed that is not negative.
func (t *terminal) await(timeout time.Duration) (isTyped, isWoken bool, err error) {
	in, wake := int(t.in.Fd()), int(t.wake.Fd())
	var limit *unix.Timeval
	if timeout >= 0 {
		tv := unix.NsecToTimeval(timeout.Nanoseconds())
		limit = &tv
	}
	var set unix.FdSet
	set.Set(in)
	set.Set(wake)
	_, err = unix.Select(max(in, wake)+1, &set, nil, nil, limit)
	if err != nil {
		return false, false, err
	}
	return set.IsSet(in), set.IsSet(wake), nil
}

// read takes what was typed. It does not wait.
func (t *terminal) read() error {
	buf := make([]byte, 256)
	n, err := unix.Read(int(t.in.Fd()), buf)
	switch {
	case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		return nil
	case err != nil:
		return err
	case n <= 0:
		return io.EOF // hung up
	}
	t.decoder.typed = append(t.decoder.typed, buf[:n]...)
	return nil
}

// Suspend stops this process with its group. If no shell is above that lets it go on, it goes on at once.
func (t *terminal) Suspend() {
	t.giveBack()
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	_ = unix.Kill(0, unix.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(suspendTime):
	}
	signal.Stop(continued)
	t.takeAgain()
}

func (t *terminal) giveBack() {
	t.show(pasteSwitch0)
	_ = term.Restore(int(t.in.Fd()), t.was)
}

// Close gives the terminal back.
func (t *terminal) Close() {
	t.closing.Do(func() {
		signal.Stop(t.signals)
		close(t.signals)
		t.following.Wait()
		t.giveBack()
		_, _ = t.wake.Close(), t.waker.Close()
	})
}
