package proc

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// StartTerminal starts a process whose input and output are a terminal in raw
// mode. A program that collects its output until there is a lot of it, when it
// writes to a pipe, answers every line on a terminal. Nothing is echoed and no
// byte is translated. It fails with errors.ErrUnsupported where that cannot be
// had.
func StartTerminal(ctx context.Context, c Command) (*Process, error) {
	ours, theirs, err := openTerminal(raw)
	if err != nil {
		return nil, errors.Join(errors.ErrUnsupported, err)
	}
	p := &Process{ctx: ctx, cmd: newGroupCmd(ctx, c), spec: c, stderr: new(tail), Stdin: ours, Stdout: io.NopCloser(ours)}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs, theirs, p.stderr
	err = p.cmd.Start()
	_ = theirs.Close()
	if err != nil {
		_ = ours.Close()
		return nil, outcomeError(ctx, c, err, nil)
	}
	return p, nil
}

// lineMode says whether a terminal edits and translates lines.
type lineMode bool

const (
	raw    lineMode = false
	cooked lineMode = true
)

func openTerminal(mode lineMode) (ours, theirs *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			_ = ours.Close()
		}
	}()
	fd := int(ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, err
	}
	theirs, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if mode == cooked {
		return ours, theirs, nil
	}
	if err := makeRaw(int(theirs.Fd())); err != nil {
		_ = theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

func makeRaw(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return err
	}
	t.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}
