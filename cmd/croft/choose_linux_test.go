package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/buildtest"
	"golang.org/x/sys/unix"
)

// seat is a terminal at which somebody sits while a command runs.
type seat struct {
	d       *desk
	control *os.File
	user    *os.File
	was     *unix.Termios // the modes of the terminal before the command
	cmd     *exec.Cmd

	mu   sync.Mutex
	seen bytes.Buffer
}

// sit starts a command on a terminal.
func (d *desk) sit(args ...string) *seat {
	d.t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		d.t.Skip(err)
	}
	d.t.Cleanup(func() { _ = control.Close() })
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if uerr := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil || uerr != nil {
		d.t.Skip(err, uerr)
	}
	user, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		d.t.Skip(err)
	}
	d.t.Cleanup(func() { _ = user.Close() })
	s := &seat{d: d, control: control, user: user, cmd: exec.CommandContext(d.t.Context(), d.program, args...)}
	s.resize(80)
	s.cmd.Dir, s.cmd.Env = d.dir, append([]string{"NO_COLOR=1"}, d.env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = user, user, user
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.was = s.modes() // before the command, which is quick at times, changes them
	if err := s.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := control.Read(buf)
			s.mu.Lock()
			s.seen.Write(buf[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *seat) resize(width uint16) {
	if err := unix.IoctlSetWinsize(int(s.control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
		s.d.t.Skip(err)
	}
}

func (s *seat) modes() *unix.Termios {
	s.d.t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.user.Fd()), unix.TCGETS)
	if err != nil {
		s.d.t.Fatal(err)
	}
	return modes
}

// awaits waits until the terminal has shown a text, and forgets what it has shown so far.
func (s *seat) awaits(text string) {
	s.d.t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		seen := s.seen.String()
		if strings.Contains(seen, text) {
			s.seen.Reset()
		}
		s.mu.Unlock()
		if strings.Contains(seen, text) {
			return
		}
	}
	s.d.t.Fatalf("%q is not shown: %q", text, s.seen.String())
}

func (s *seat) types(text string) {
	if _, err := s.control.WriteString(text); err != nil {
		s.d.t.Fatal(err)
	}
}

// ends waits for the end of the command, and compares its status and the modes of the terminal.
func (s *seat) ends(status int) {
	s.d.t.Helper()
	timer := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	_ = s.cmd.Wait()
	if got := s.cmd.ProcessState.ExitCode(); got != status {
		s.d.t.Errorf("croft %v ends with %d, want %d", s.cmd.Args[1:], got, status)
	}
	if now := s.modes(); !reflect.DeepEqual(s.was, now) {
		s.d.t.Errorf("croft %v leaves the terminal as %+v, and it was %+v", s.cmd.Args[1:], now, s.was)
	}
}

// TestTerminalIsGivenBack: a list to choose from is left in all ways that there are, and the size of the terminal changes
// meanwhile. The terminal is as before then.
func TestTerminalIsGivenBack(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs git")
	}
	program, err := buildtest.Croft(t.TempDir(), buildtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, program)
	d.sh("croft new -q api-docs dark-mode fix-login search-index upgrade-deps")
	d.choose()
	d.watch()
}

// watch leaves a list that is shown anew in all ways that there are.
// What is typed meanwhile is not echoed.
func (d *desk) watch() {
	d.t.Helper()
	for way, leave := range map[string]func(*seat){
		"q":      func(s *seat) { s.types("q") },
		"ctrl-c": func(s *seat) { s.types("\x03") },
		"SIGTERM": func(s *seat) {
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				d.t.Error(err)
			}
		},
		"ctrl-z": func(s *seat) {
			s.types("\x1a")
			s.awaits("\x1b[?1049l") // nobody stops it, since it leads its session
			s.awaits("q ends")
			s.types("q")
		},
	} {
		s := d.sit("list", "--watch")
		s.awaits("q ends")
		if s.modes().Lflag&unix.ECHO != 0 {
			d.t.Errorf("%s: what is typed is echoed", way)
		}
		leave(s)
		s.ends(croft.ExitOK)
	}
}

// choose chooses a workspace on a terminal, leaves the list in all ways that there are, and changes the size of the terminal meanwhile.
// The terminal is as before then.
func (d *desk) choose() {
	d.t.Helper()
	for way, leave := range map[string]func(*seat){
		"esc":    func(s *seat) { s.types("\x1b") },
		"ctrl-c": func(s *seat) { s.types("\x03") },
		"SIGTERM": func(s *seat) {
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				d.t.Error(err)
			}
		},
	} {
		s := d.sit("show")
		s.awaits("esc leaves")
		if reflect.DeepEqual(s.was, s.modes()) {
			d.t.Errorf("%s: the terminal is not raw", way)
		}
		leave(s)
		s.ends(croft.ExitCanceled)
	}
	s := d.sit("path")
	s.awaits("esc leaves")
	s.types("upgrade")
	s.awaits("1 of ")
	s.resize(30)
	s.awaits("…") // lines do not fit any more
	s.types("\r")
	s.awaits("app.croft/upgrade-deps")
	s.ends(croft.ExitOK)
}
