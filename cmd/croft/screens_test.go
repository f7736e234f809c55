//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/buildtest"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// desk is a terminal of a user, with a project and the program.
type desk struct {
	t       *testing.T
	program string
	dir     string
	env     []string
}

func (d *desk) run(dir, name string, args ...string) {
	d.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, d.env
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// onTerminal returns what a terminal of a size receives from a command.
func (d *desk) onTerminal(width, height uint16, env []string, args ...string) string {
	d.t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		d.t.Skip(err)
	}
	defer control.Close()
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if uerr := unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0); err != nil || uerr != nil {
		d.t.Skip(err, uerr)
	}
	if err := unix.IoctlSetWinsize(int(control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		d.t.Skip(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		d.t.Skip(err)
	}
	cmd := exec.CommandContext(d.t.Context(), d.program, args...)
	cmd.Dir, cmd.Env = d.dir, append(append([]string{}, d.env...), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	_ = terminal.Close()
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = out.ReadFrom(control)
	}()
	timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); err != nil {
		d.t.Errorf("croft %v: %v", args, err)
	}
	<-done
	return strings.ReplaceAll(out.String(), "\r\n", "\n")
}

// The parts of a screen that are not the same in every run.
var (
	someAge    = regexp.MustCompile(`\b\d+[sm] ago`)
	someIdle   = regexp.MustCompile(`( +)(\x1b\[2m)?(\d+[sm])(\x1b| )`)
	someCommit = regexp.MustCompile(`as [0-9a-f]{7}\b`)
	someID     = regexp.MustCompile(`as [0-9a-z]{16}\b`)
)

// settled makes them the same, as wide as they were.
func settled(text string) string {
	text = someAge.ReplaceAllString(text, "0s ago")
	text = someIdle.ReplaceAllStringFunc(text, func(was string) string {
		part := someIdle.FindStringSubmatch(was)
		return strings.Repeat(" ", len(part[1])+len(part[3])-len("0s")) + part[2] + "0s" + part[4]
	})
	return someID.ReplaceAllString(someCommit.ReplaceAllString(text, "as 0000000"), "as ID")
}

// TestScreens: the list and a workspace as a real terminal shows them, in two sizes, with and without
// colour, and in ASCII.
func TestScreens(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program and runs git")
	}
	work := t.TempDir()
	program, err := buildtest.Croft(work, buildtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const date = "2026-01-02T12:00:00Z"
	home := filepath.Join(work, "home")
	d := &desk{t: t, program: program, dir: filepath.Join(work, "app"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CROFT_STATE_DIR=" + filepath.Join(work, "state"), "CROFT_GC_AUTO=false", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date, "TERM=xterm", "LANG=C.UTF-8", "USER=ada", "CROFT_POOL_SIZE=0",
	}}
	writeFiles(t, map[string]string{
		filepath.Join(home, ".gitconfig"):    "[init]\n\tdefaultBranch = main\n[user]\n\tname = Ada\n\temail = ada@example.com\n",
		filepath.Join(d.dir, "a.txt"):        "one\ntwo\n",
		filepath.Join(d.dir, "src", "b.txt"): "b\n",
	})
	d.run(d.dir, "git", "init", "-q")
	d.run(d.dir, "git", "add", ".")
	d.run(d.dir, "git", "commit", "-q", "-m", "first")
	d.run(d.dir, program, "new", "api-docs", "dark-mode", "fix-login", "search-index", "upgrade-deps")
	of := func(name string) string { return filepath.Join(work, "app.croft", name) }
	writeFiles(t, map[string]string{
		filepath.Join(of("api-docs"), "docs.txt"):        "docs\n",
		filepath.Join(of("fix-login"), "login.txt"):      strings.Repeat("login\n", 30),
		filepath.Join(of("dark-mode"), "検索.css"):         "dark\n",
		filepath.Join(of("search-index"), "a.txt"):       "mine\ntwo\n",
		filepath.Join(of("search-index"), "src", "c.go"): "package src\n",
	})
	d.run(d.dir, program, "merge", "api-docs", "--keep")
	d.run(d.dir, program, "finish", "fix-login", "--no-merge")
	writeFiles(t, map[string]string{filepath.Join(d.dir, "a.txt"): "yours\ntwo\n"})
	d.run(d.dir, "git", "commit", "-q", "-a", "-m", "yours")
	conflict := exec.Command(program, "merge", "search-index")
	conflict.Dir, conflict.Env = d.dir, d.env
	if out, err := conflict.CombinedOutput(); err == nil {
		t.Fatalf("there is no conflict: %s", out)
	}
	for name, env := range map[string][]string{"plain": {"NO_COLOR=1"}, "colour": nil, "ascii": {"NO_COLOR=1", "CROFT_ASCII=1"}} {
		var b strings.Builder
		for _, size := range [][2]uint16{{80, 24}, {140, 40}} {
			for _, args := range [][]string{{"list", "--full"}, {"show", "search-index"}, {"show", "fix-login"}} {
				fmt.Fprintf(&b, "== %dx%d: croft %s\n%s", size[0], size[1], strings.Join(args, " "), d.onTerminal(size[0], size[1], env, args...))
			}
		}
		path, got := filepath.Join("testdata", "screens-"+name+".golden"), settled(b.String())
		if os.Getenv("CROFT_UPDATE") == "1" {
			writeFiles(t, map[string]string{path: got})
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if strings.Contains(got, "\x1b") != (name == "colour") {
			t.Errorf("%s: colours are not as they were asked for", name)
		}
	}
}

func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
