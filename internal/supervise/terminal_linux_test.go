package supervise_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/run"
	"golang.org/x/sys/unix"
)

// superviseHere is what this program does as the supervisor of an agent on its terminal.
func superviseHere(dir, script string) {
	svc := &service{now: croft.Run{ID: "run0000000000000", Workspace: "ws00000000000000", Dir: dir}}
	a := begun(svc, filepath.Dir(dir), script)
	a.IO = proc.SessionIO{Terminal: os.Stdin, Stdout: os.Stdout}
	end, err := a.Supervise(context.Background())
	if err != nil || end.HasOpenLine {
		_, _ = os.Stdout.WriteString("\nfailed or open\n")
	}
	_, _ = os.Stdout.WriteString("END\n")
	os.Exit(end.Run.Status)
}

// user is somebody at a terminal, with a shell that controls jobs there.
type user struct {
	t    *testing.T
	ours *os.File
	mu   sync.Mutex
	seen bytes.Buffer
	cmd  *exec.Cmd
}

// sitDown starts a command of a shell on a new terminal.
func sitDown(t *testing.T, command string) *user {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = ours.Close() })
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if uerr := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil || uerr != nil {
		t.Skip(err, uerr)
	}
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer theirs.Close()
	u := &user{t: t, ours: ours, cmd: exec.Command("bash", "--norc", "-c", "set -m; "+command)}
	u.cmd.Stdin, u.cmd.Stdout, u.cmd.Stderr = theirs, theirs, theirs
	u.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := u.cmd.Start(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = u.cmd.Process.Kill(); _ = u.cmd.Wait() })
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			u.mu.Lock()
			u.seen.Write(buf[:n])
			u.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return u
}

func (u *user) text() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen.String()
}

func (u *user) await(what string) {
	u.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(u.text(), what); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			u.t.Fatalf("%q is not shown: %q", what, u.text())
		}
	}
}

// isCooked reports whether the terminal echoes and edits lines.
func (u *user) isCooked() bool {
	u.t.Helper()
	mode, err := unix.IoctlGetTermios(int(u.ours.Fd()), unix.TCGETS)
	if err != nil {
		u.t.Fatal(err)
	}
	return mode.Lflag&unix.ECHO != 0 && mode.Lflag&unix.ICANON != 0
}

func here(t *testing.T, script string) string {
	t.Helper()
	return os.Args[0] + " here " + filepath.Join(t.TempDir(), "run") + " '" + script + "'"
}

// TestTerminalAfterKill: an agent that is killed leaves the terminal as it found it: the other screen, the mouse, the cursor
// and what is typed.
func TestTerminalAfterKill(t *testing.T) {
	u := sitDown(t, here(t, `stty raw -echo; printf "\033[?1049h\033[?25l\033[?1002h\033[?2004hfull"; sleep 0.3; kill -9 $$`)+"; echo status $?")
	u.await("full")
	if u.isCooked() {
		t.Error("the terminal is not the agent's")
	}
	u.await("status 137")
	after := u.text()[strings.Index(u.text(), "full"):]
	if !strings.Contains(after, "\x1b[?25h\x1b[?1002l\x1b[?2004l\x1b[?1049lEND") || !u.isCooked() {
		t.Errorf("%q, cooked: %v", after, u.isCooked())
	}
}

// TestTerminalAfterEnd: one that ends by itself is left alone.
func TestTerminalAfterEnd(t *testing.T) {
	u := sitDown(t, here(t, `printf "\033[?25lfull\n"`)+"; echo status $?")
	u.await("status 0")
	if text := u.text(); !strings.Contains(text, "full\r\nEND") {
		t.Errorf("%q", text)
	}
}

// TestSuspend: ctrl-z suspends the agent and its supervisor, gives the terminal to the shell, and fg lets both go on.
func TestSuspend(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ticks")
	script := `echo ready; i=0; while test $i -lt 400; do i=$((i+1)); echo $i >` + marker + `; sleep 0.02; test -e ` + marker + `.end && break; done; echo over`
	u := sitDown(t, here(t, script)+"; echo suspended $?; sleep 1; fg; echo status $?")
	u.await("ready")
	time.Sleep(200 * time.Millisecond)
	if _, err := u.ours.WriteString("\x1a"); err != nil {
		t.Fatal(err)
	}
	u.await("suspended 148")
	if !u.isCooked() {
		t.Error("the terminal is not the shell's")
	}
	before, _ := os.ReadFile(marker)
	time.Sleep(400 * time.Millisecond)
	if after, err := os.ReadFile(marker); err != nil || string(after) != string(before) {
		t.Errorf("the agent went on from %s to %s, %v", before, after, err)
	}
	if err := os.WriteFile(marker+".end", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	u.await("status 0")
	if !strings.Contains(u.text(), "over\r\nEND") || !u.isCooked() {
		t.Errorf("%q, cooked: %v", u.text(), u.isCooked())
	}
}

// TestSuspendsItself: an agent that reads ctrl-z as a key and stops its group, as editors do, is suspended with its supervisor, and
// goes on with fg.
func TestSuspendsItself(t *testing.T) {
	script := `stty raw -echo; printf "full"; dd bs=1 count=1 2>/dev/null | od -c; kill -TSTP 0; printf "back\r\n"`
	u := sitDown(t, here(t, script)+"; echo suspended $?; stty -a | grep -o -w -- -*icanon; fg; echo status $?")
	u.await("full")
	if _, err := u.ours.WriteString("\x1a"); err != nil {
		t.Fatal(err)
	}
	u.await("suspended 148")
	u.await("status 0")
	_, after, _ := strings.Cut(u.text(), "suspended 148")
	if !strings.Contains(after, "\r\nicanon\r\n") || !strings.Contains(after, "\r\nback\r\nEND") || !u.isCooked() {
		t.Errorf("%q, cooked: %v", after, u.isCooked())
	}
}

// TestHangUp: the end of its terminal reaches an agent whose supervisor was killed.
func TestHangUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	script := `trap "exit 77" HUP; kill -9 $(cut -d" " -f4 /proc/$PPID/stat); while :; do sleep 0.05; done`
	u := sitDown(t, os.Args[0]+" here "+dir+" '"+script+"'; echo killed $?")
	u.await("killed 137")
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(filepath.Dir(dir), "resumed")); err == nil { // the last thing that the shim does
			if status, err := os.ReadFile(filepath.Join(dir, run.StatusFile)); err != nil || string(status) != "77\n" {
				t.Errorf("the agent ended with %q, %v", status, err)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the agent was not told")
		}
	}
}

// TestBackgroundJob: an agent that is started in the background of a shell runs there and leaves the terminal alone; fg gives
// it the terminal.
func TestBackgroundJob(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "fg")
	script := `echo ready; read line; echo got $line`
	u := sitDown(t, here(t, script)+" & until test -e "+marker+"; do sleep 0.02; done; fg; echo status $?")
	u.await("ready")
	if !u.isCooked() {
		t.Error("the terminal is not the shell's")
	}
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); u.isCooked(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the terminal is not the agent's: %q", u.text())
		}
	}
	if _, err := u.ours.WriteString("hello\r"); err != nil {
		t.Fatal(err)
	}
	u.await("got hello")
	u.await("status 0")
	if !u.isCooked() {
		t.Error("the terminal was not given back")
	}
}
