package proc

import (
	"errors"
	"math"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// isTerminal reports whether an open file is a terminal.
func isTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// redirect makes an open file another name of one.
func redirect(from, to int) error { return unix.Dup3(from, to, 0) }

// keepFiles keeps the files that this process has open beside its standard ones, which may be those of the user's shell, from
// what it starts from now on.
func keepFiles() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// lead makes this process, the first of a session, have the terminal that its input is, so that the one that the session is for can
// be started in a group of its own there. That group has a parent in its session: so it can be stopped, and stop itself, as programs do
// that read ctrl-z as a key. The kernel drops that for one that leads a session.
func lead() bool { return unix.IoctlSetInt(0, unix.TIOCSCTTY, 0) == nil }

// ledBy says how the first process of a session starts the one that the session is for: in another group, which has the terminal, or
// without one in another session, so that no signal for that reaches this process.
func ledBy(onTerminal bool) *syscall.SysProcAttr {
	if onTerminal {
		return &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	}
	return &syscall.SysProcAttr{Setsid: true}
}

// EndChildren ends all descendants of this process, which adopts orphans, and returns when it has no
// child any more. What is asked to end has a while for it. The kernel says when there is none: no
// process escapes by being started between two looks.
func (t *Taken) EndChildren(grace time.Duration) {
	const most = time.Minute
	processes := Descendants{IsLeader: true}
	for begun := time.Now(); time.Since(begun) < grace+most; {
		if !reap() {
			return
		}
		EndAll(processes.Strays, grace)
		grace = 0
		time.Sleep(10 * time.Millisecond)
	}
}

// reap waits for the children of this process that have ended, and reports whether it has others.
func reap() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.ECHILD):
			return false
		case err == nil && pid == 0:
			return true
		}
	}
}
