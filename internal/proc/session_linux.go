package proc

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// onTerminal starts the process on a terminal of its own, which is of the size of the caller's, and
// which is to become that of the session that the process starts (see TakeOver).
// The caller's is raw meanwhile: what is typed, ctrl-c too, is the process's.
func (s *Session) onTerminal(to SessionIO) error {
	ours, theirs, err := openTerminal(cooked)
	if err != nil {
		return err
	}
	s.open = append(s.open, ours)
	defer theirs.Close()
	user := int(to.Terminal.Fd())
	resize := func() {
		if size, err := unix.IoctlGetWinsize(user, unix.TIOCGWINSZ); err == nil {
			_ = unix.IoctlSetWinsize(int(ours.Fd()), unix.TIOCSWINSZ, size)
		}
	}
	resize()
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = theirs, theirs, theirs
	if err := s.cmd.Start(); err != nil {
		return err
	}
	was, err := unix.IoctlGetTermios(user, unix.TCGETS)
	if err == nil {
		err = makeRaw(user)
	}
	if err != nil {
		_ = s.cmd.Process.Kill()
		_, _ = s.cmd.Process.Wait()
		return err
	}
	resized, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(resized, syscall.SIGWINCH)
	var typing sync.WaitGroup
	typing.Go(func() { copyTyped(ours, user, ended) })
	go func() {
		for {
			select {
			case <-resized:
				resize()
			case <-ended:
				return
			}
		}
	}()
	s.restore = func() {
		signal.Stop(resized)
		close(ended)
		typing.Wait()
		_ = unix.IoctlSetTermios(user, unix.TCSETS, was)
	}
	s.copyOutput(ours, to.Log, to.Stdout)
	return nil
}

// copyTyped copies what is typed until the session has ended. It never waits in a read: what is
// typed after the end is the shell's.
func copyTyped(to io.Writer, user int, ended <-chan struct{}) {
	buf := make([]byte, 4<<10)
	for {
		select {
		case <-ended:
			return
		default:
		}
		fds := []unix.PollFd{{Fd: int32(user), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 50)
		if err != nil && err != unix.EINTR {
			return
		}
		if n < 1 {
			continue
		}
		read, err := unix.Read(user, buf)
		if err == unix.EINTR || err == unix.EAGAIN {
			continue
		}
		if err != nil || read <= 0 {
			return // hung up
		}
		if _, err := to.Write(buf[:read]); err != nil {
			return
		}
	}
}
