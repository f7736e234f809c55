package proc

import "golang.org/x/sys/unix"

// onTerminal starts the process on a terminal of its own, which is of the size of the caller's, and
// which is to become that of the session that the process starts (see TakeOver).
// The caller's is raw meanwhile: what is typed, ctrl-c too, is the process's. While the caller is a job
// in the background its terminal is left alone.
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
	s.on = &terminal{user: user, ours: ours, resize: resize, show: s.redraw, suspends: make(chan struct{}, 1)}
	if err := s.on.take(); err != nil {
		_ = s.cmd.Process.Kill()
		_, _ = s.cmd.Process.Wait()
		return err
	}
	s.restore = s.on.follow()
	s.copyOutput(ours, to.Log, to.Stdout, &s.screen)
	return nil
}
