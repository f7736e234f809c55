package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newTerminal returns both sides of a terminal.
func newTerminal(t *testing.T) (control, user *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = control.Close() })
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if uerr := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil || uerr != nil {
		t.Skip(err, uerr)
	}
	user, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = user.Close() })
	return control, user
}

func modesOf(t *testing.T, terminal *os.File) *unix.Termios {
	t.Helper()
	modes, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return modes
}

// TestTerminal: keys come as they are typed, what was typed before does not, and the terminal is given back as it was.
func TestTerminal(t *testing.T) {
	control, user := newTerminal(t)
	go func() { // what is shown has to be read
		buf := make([]byte, 1024)
		for {
			if _, err := control.Read(buf); err != nil {
				return
			}
		}
	}()
	was := modesOf(t, user)
	if _, err := control.WriteString("typed before\ry\r"); err != nil {
		t.Fatal(err)
	}
	keys, err := Open(user, user)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	if reflect.DeepEqual(was, modesOf(t, user)) {
		t.Error("the terminal is not raw")
	}
	next := func(want Key) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if got, err := keys.Next(ctx); err != nil || got != want {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}
	for text, want := range map[string]Key{"a": {Rune: 'a'}, "検": {Rune: '検'}, "\x1b[A": {Kind: Up}, "\x1b": {Kind: Escape}, "\x03": {Kind: Interrupt}, "\r": {Kind: Enter}} {
		if _, err := control.WriteString(text); err != nil {
			t.Fatal(err)
		}
		next(want)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	next(Key{Kind: Redraw})
	ctx, cancel := context.WithCancelCause(t.Context())
	signal := errors.New("terminated")
	time.AfterFunc(20*time.Millisecond, func() { cancel(signal) })
	if key, err := keys.Next(ctx); !errors.Is(err, signal) {
		t.Errorf("%v, %v", key, err)
	}
	keys.Close()
	keys.Close()
	if now := modesOf(t, user); !reflect.DeepEqual(was, now) {
		t.Errorf("the terminal is %+v, and was %+v", now, was)
	}
}

// TestTerminalHangsUp: without anybody who types, it is over.
func TestTerminalHangsUp(t *testing.T) {
	control, user := newTerminal(t)
	keys, err := Open(user, user)
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	_ = control.Close()
	if key, err := keys.Next(t.Context()); err == nil {
		t.Errorf("%v", key)
	}
}
