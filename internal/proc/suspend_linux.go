package proc

import (
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is the caller's, which is raw while a session has another one in between.
type terminal struct {
	user   int           // the caller's
	ours   *os.File      // our side of the session's
	was    *unix.Termios // as it was found; nil: it was not this process's yet
	resize func()        // gives the session's the size of the caller's
	show   func()        // brings back what the session has switched on

	suspends chan struct{} // somebody wants both to be suspended
}

// follow copies what is typed, and what happens to the caller's terminal, to the session's, until the function is called that
// it returns, which gives the caller's terminal back.
func (t *terminal) follow() (restore func()) {
	arrived, ended := make(chan os.Signal, 4), make(chan struct{})
	signal.Notify(arrived, syscall.SIGWINCH, syscall.SIGCONT)
	var both sync.WaitGroup // they use the terminals, which are closed afterwards
	both.Go(func() { t.copyTyped(ended) })
	both.Go(func() {
		for {
			select {
			case sig := <-arrived:
				if sig == syscall.SIGCONT {
					t.takeBack()
				}
				t.resize()
			case <-ended:
				return
			}
		}
	})
	return func() {
		signal.Stop(arrived)
		close(ended)
		both.Wait()
		t.giveBack()
	}
}

// isOurs reports whether this process may read from the caller's terminal and change it: it would be stopped if it did so as a
// job in the background.
func (t *terminal) isOurs() bool {
	group, err := unix.IoctlGetInt(t.user, unix.TIOCGPGRP)
	return err != nil || group == unix.Getpgrp()
}

// take makes the caller's terminal raw, if it is this process's.
func (t *terminal) take() (err error) {
	if !t.isOurs() {
		return nil
	}
	if t.was == nil {
		if t.was, err = unix.IoctlGetTermios(t.user, unix.TCGETS); err != nil {
			return err
		}
	}
	return makeRaw(t.user)
}

func (t *terminal) giveBack() {
	if t.was != nil && t.isOurs() {
		_ = unix.IoctlSetTermios(t.user, unix.TCSETS, t.was)
	}
}

// takeBack is called when this process goes on after it was stopped, and when it comes to the foreground.
func (t *terminal) takeBack() {
	if t.isOurs() {
		_ = t.take()
		t.show()
	}
}

// copyTyped copies what is typed until the session has ended. It never waits in a read: what is
// typed after the end is the shell's.
func (t *terminal) copyTyped(ended <-chan struct{}) {
	const pause = 50 // milliseconds
	buf := make([]byte, 4<<10)
	isOurs := t.isOurs()
	for {
		select {
		case <-ended:
			return
		default:
		}
		if !t.isOurs() {
			isOurs = false
			time.Sleep(pause * time.Millisecond)
			continue
		}
		if !isOurs { // a shell sends no signal when it brings a job to the foreground that was not stopped
			isOurs = true
			t.resize()
			t.takeBack()
		}
		fds := []unix.PollFd{{Fd: int32(t.user), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, pause)
		if err != nil && err != unix.EINTR {
			return
		}
		if n < 1 {
			continue
		}
		read, err := unix.Read(t.user, buf)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil || read <= 0 {
			return // hung up
		}
		isSuspend := t.isSuspend(buf[:read])
		if _, err := t.ours.Write(buf[:read]); err != nil {
			return
		}
		if isSuspend {
			select {
			case t.suspends <- struct{}{}:
			default: // it is known
			}
		}
	}
}

// isSuspend reports whether ctrl-z was typed, and the session's terminal takes it for that: a program may read it as any other key.
func (t *terminal) isSuspend(typed []byte) bool {
	mode, err := unix.IoctlGetTermios(int(t.ours.Fd()), unix.TCGETS)
	return err == nil && mode.Lflag&unix.ISIG != 0 && mode.Cc[unix.VSUSP] != 0 && bytes.IndexByte(typed, mode.Cc[unix.VSUSP]) >= 0
}

// Suspends says when somebody wants the session to be suspended, with this process: by ctrl-z.
func (s *Session) Suspends() <-chan struct{} {
	if s.on == nil {
		return nil
	}
	return s.on.suspends
}

// foreground returns the group that has the session's terminal, or 0. If that is not the group of the session's own program, this is a
// shell, which looks after its jobs itself, and 0, too; so it is if the program does not want to be suspended.
func (s *Session) foreground() int {
	if s.on == nil {
		return 0
	}
	group, err := unix.IoctlGetInt(int(s.on.ours.Fd()), unix.TIOCGPGRP)
	if err != nil || group <= 1 {
		return 0
	}
	if leader, err := unix.Getsid(group); err != nil || leader != s.PID || parentOf(group) != leader || ignores(group, unix.SIGTSTP) {
		return 0
	}
	return group
}

// parentOf returns the parent of a process, or 0.
func parentOf(pid int) int {
	fields := statFields("/proc/" + strconv.Itoa(pid))
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// ignores reports whether a process ignores a signal.
func ignores(pid int, sig syscall.Signal) bool {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	_, rest, _ := strings.Cut(string(text), "\nSigIgn:")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return err == nil && mask&(1<<(sig-1)) != 0
}

// IsSuspended reports whether what has the session's terminal was stopped, by itself too: whoever sits there could not go on.
func (s *Session) IsSuspended() bool {
	group := s.foreground()
	if group == 0 {
		return false
	}
	id, isThere := Of(group)
	return isThere && IsStopped(id)
}

// suspendTime is how long a program may take to get ready for being stopped, and this process to be stopped.
const suspendTime = 150 * time.Millisecond

// Suspend stops what has the session's terminal, gives the caller's terminal back, and stops this process with its group, until
// its shell lets it go on. If nothing can do that, because there is no shell above it, all goes on at once.
func (s *Session) Suspend() {
	group := s.foreground()
	if group == 0 {
		return
	}
	time.Sleep(suspendTime) // it may be told by its terminal, and leave that as it found it
	if s.foreground() != group {
		return
	}
	_ = unix.Kill(-group, unix.SIGSTOP)
	s.on.giveBack()
	s.ResetTerminal()
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	_ = unix.Kill(0, unix.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(suspendTime):
		s.on.takeBack()
	}
	signal.Stop(continued)
	_ = s.on.take() // before it prints anything
	_ = unix.Kill(-group, unix.SIGCONT)
	_ = unix.Kill(-group, unix.SIGWINCH) // to draw anew
}

// redraw brings back what the session has switched on at the caller's terminal.
func (s *Session) redraw() {
	if f, ok := s.shown.(*os.File); ok && isTerminal(int(f.Fd())) {
		_, _ = f.WriteString(s.screen.redone())
	}
}
