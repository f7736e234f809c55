package croft_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/recording"
)

// consolePages are the pages whose console blocks are run, each from its first to its last in one shell.
var consolePages = []string{
	"README.md", "docs/start.md", "docs/day.md", "docs/checks.md", "docs/undoing.md", "docs/repositories.md", "docs/provisioning.md", "docs/troubleshooting.md", "docs/leaving.md",
}

// TestConsoleBlocks runs what the pages show being typed, on a terminal of 80 columns, and compares what is printed with
// what they show: hashes, IDs, times and the widths of columns may differ, and [..] stands for anything.
// CROFT_UPDATE=1 writes what is printed into the pages. Before a block, a comment that begins with "<!-- sh" has
// commands that prepare it and are not shown.
func TestConsoleBlocks(t *testing.T) {
	if testing.Short() || os.Getenv("CROFT_CI") == "" && os.Getenv("CROFT_UPDATE") == "" {
		t.Skip("with CROFT_CI=1, as .ci/run has it: it builds the program and types all that the pages show")
	}
	bin := buildProgram(t)
	for _, page := range consolePages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			steps := consoleSteps(string(text))
			printed := runConsole(t, bin, steps)
			lines := strings.Split(string(text), "\n")
			for i, step := range slices.Backward(steps) {
				if step.isHidden || isShown(step.shown, printed[i]) {
					continue
				}
				if os.Getenv("CROFT_UPDATE") == "" {
					t.Errorf("%s:%d: $ %s\nprints\n%s\nand not\n%s\n(CROFT_UPDATE=1 go test -run TestConsoleBlocks . writes it)",
						page, step.line, step.command, strings.Join(printed[i], "\n"), strings.Join(step.shown, "\n"))
					continue
				}
				lines = slices.Replace(lines, step.line, step.line+len(step.shown), printed[i]...)
			}
			if os.Getenv("CROFT_UPDATE") != "" {
				if err := os.WriteFile(page, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestConsolePages: no page has console blocks that nobody runs.
func TestConsolePages(t *testing.T) {
	for _, page := range markdownPages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		has := slices.ContainsFunc(consoleSteps(string(text)), func(s consoleStep) bool { return !s.isHidden })
		if isRun := slices.Contains(consolePages, page); has != isRun {
			t.Errorf("%s: has console blocks: %v; is run: %v", page, has, isRun)
		}
	}
}

// consoleStep is a command of a page with what is shown below it.
type consoleStep struct {
	command  string
	shown    []string
	line     int // of the first line that is shown below it, from 0
	isHidden bool
}

// consoleSteps reads the commands of a page.
func consoleSteps(text string) (steps []consoleStep) {
	const outside, inBlock, inComment = 0, 1, 2
	state := outside
	for i, line := range strings.Split(text, "\n") {
		switch {
		case state == outside && line == "```console":
			state = inBlock
		case state == inBlock && line == "```":
			state = outside
		case state == outside && strings.HasPrefix(line, "<!-- sh"):
			state = inComment
			steps = append(steps, consoleStep{isHidden: true})
		case state == inComment && line == "-->":
			state = outside
		case state == inComment:
			steps[len(steps)-1].command += line + "\n"
		case state == inBlock && strings.HasPrefix(line, "$ "):
			steps = append(steps, consoleStep{command: line[2:], line: i + 1})
		case state == inBlock && len(steps) > 0:
			last := &steps[len(steps)-1]
			if strings.HasPrefix(line, "> ") && len(last.shown) == 0 {
				last.command += "\n" + line[2:]
				last.line = i + 1
				continue
			}
			last.shown = append(last.shown, line)
		}
	}
	return steps
}

// mark stands before what a command prints.
const mark = "\uf001"

// runConsole runs the steps of a page in one shell on a terminal, and returns the lines that each prints.
func runConsole(t *testing.T, bin string, steps []consoleStep) [][]string {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for i, step := range steps {
		if step.isHidden {
			fmt.Fprintf(&script, "(set -e\n%s) >%s/setup.log 2>&1 </dev/null || { cat %[2]s/setup.log; printf '%s%d failed\\n'; exit 1; }\n", step.command, dir, mark, i)
			continue
		}
		command := step.command
		if command == "croft" || command == "croft list" { // it looks at all, however slow the machine is
			command = "croft list --full"
		}
		fmt.Fprintf(&script, "printf '%s%d\\n'\n%s\n", mark, i, command)
	}
	script.WriteString("printf '" + mark + "end\\n'\n")
	file := filepath.Join(dir, "page.sh")
	for path, content := range map[string]string{
		file: script.String(),
		filepath.Join(home, ".gitconfig"): "[init]\n\tdefaultBranch = main\n[user]\n\tname = Ada\n\temail = ada@example.com\n" +
			"[advice]\n\tdetachedHead = false\n[core]\n\tpager = cat\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := onConsole(t, home, []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home,
		"CROFT_STATE_DIR=" + filepath.Join(home, ".local/state/croft"), "CROFT_DATA_DIR=" + filepath.Join(home, ".local/share/croft"), "CROFT_GC_AUTO=false", "GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat", "PAGER=cat", "CROFT_PAGER=cat",
		"LC_ALL=C.UTF-8", "TZ=UTC", "TERM=xterm", "NO_COLOR=1", "SHELL=/bin/sh", "USER=ada",
	}, "bash", "--norc", "--noprofile", file)
	printed := make([][]string, len(steps))
	at := -1
	for line := range strings.SplitSeq(out, "\n") {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			at = -1
			if strings.HasSuffix(rest, " failed") {
				t.Fatalf("what prepares a block fails:\n%s", out)
			}
			_, _ = fmt.Sscanf(rest, "%d", &at)
			continue
		}
		// How git is older than it should be depends on the machine; the note has two lines.
		if at >= 0 && !strings.HasPrefix(line, "note: git ") && !strings.HasPrefix(line, "your distribution added them; git ") {
			printed[at] = append(printed[at], strings.TrimRight(line, " "))
		}
	}
	if !strings.Contains(out, mark+"end") {
		t.Fatalf("the page did not come to its end:\n%s", out)
	}
	for i, lines := range printed {
		for len(lines) > 0 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		printed[i] = lines
	}
	return printed
}

// openTerminal makes a terminal of a size: the end of who looks at it, and that of programs.
func openTerminal(t *testing.T, rows, columns uint16) (control, terminal *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { _ = control.Close() })
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return control, terminal
}

// onConsole runs a command on a terminal of its own, and returns what stays to be seen.
func onConsole(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	control, terminal := openTerminal(t, 50, 80)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, env, terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	var out bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&out, control) // it ends with an error, when the last process leaves the terminal
	}()
	err := cmd.Wait()
	select {
	case <-read:
	case <-ctx.Done():
	}
	if err != nil {
		t.Logf("the shell: %v", err)
	}
	return strings.ReplaceAll(standing(t, out.String()), dir, "~")
}

// standing is what stands on the terminal when all is printed: without the lines that a program has written over,
// such as the progress of a check that takes longer than a moment.
func standing(t *testing.T, printed string) string {
	t.Helper()
	var terminal recording.Terminal
	const tab = "\uf009" // a character without a use, since the terminal knows no tabs
	if _, err := terminal.Write([]byte(strings.ReplaceAll(printed, "\t", tab))); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	var b strings.Builder
	for _, row := range terminal.Rows() {
		for _, span := range row {
			b.WriteString(span.Text)
		}
		b.WriteByte('\n')
	}
	return strings.ReplaceAll(b.String(), tab, "\t")
}

// varying is what differs from run to run: IDs, times, hashes, and the widths of the columns that have them.
var varying = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\b[0-9a-hjkmnp-tv-z]{16}\b`), "ID"},
	{regexp.MustCompile(`([✓○] )[0-9a-hjkmnp-tv-z]{4,15}(  +\d)`), "${1}ID$2"}, // the beginning of one, in a list of acts
	{regexp.MustCompile(`\bundo [0-9a-hjkmnp-tv-z]{4,15}\b`), "undo ID"},       // the same, in what takes an act back
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "HASH"},
	{regexp.MustCompile(`\b[0-9a-f]{7}\b`), "HASH"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|s|m|h|d)\b`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`\b\d+(\.\d+)? [kMG]?B\b`), "SIZE"},
	{regexp.MustCompile(`  +`), "  "},
}

// isShown reports whether printed lines are those that a page shows.
func isShown(shown, printed []string) bool {
	for len(shown) > 0 && shown[len(shown)-1] == "" {
		shown = shown[:len(shown)-1]
	}
	if len(shown) != len(printed) {
		return false
	}
	for i, want := range shown {
		got := printed[i]
		for _, v := range varying {
			want, got = v.pattern.ReplaceAllString(want, v.by), v.pattern.ReplaceAllString(got, v.by)
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(want, " ")), `\[\.\.\]`, ".*")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
			return false
		}
	}
	return true
}

// TestIsShown: what varies may differ, and nothing else.
func TestIsShown(t *testing.T) {
	for _, tt := range []struct {
		shown, printed string
		want           bool
	}{
		{"fix  merged as 1a2b3c4  2s", "fix   merged as 9f8e7d6  14m", true},
		{"fix  merged", "fix  conflict", false},
		{"path [..]/app", "path /tmp/x/app", true},
		{"one", "one\ntwo", false},
		{"", "one", false},
	} {
		split := func(text string) []string {
			return slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return l == "" })
		}
		if got := isShown(split(tt.shown), split(tt.printed)); got != tt.want {
			t.Errorf("%q, %q: %v", tt.shown, tt.printed, got)
		}
	}
}
