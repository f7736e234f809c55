package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long a command may take on a machine that is busy with others.
const patience = 30 * time.Second

// desk is a user's place: a home directory with a project, and terminals on which the program runs.
type desk struct {
	t       *testing.T
	program string
	home    string
	dir     string // of the project, ~/src/app
	env     []string
	tmux    string // the socket of the terminals; empty: there is none yet
	cells   int    // number of terminals so far
}

// userConfig is the git configuration of the user.
const userConfig = "[init]\n\tdefaultBranch = main\n[user]\n\tname = Ada\n\temail = ada@example.com\n[advice]\n\tdetachedHead = false\n"

// tmuxConfig: a terminal stays when its program has ended.
const tmuxConfig = `set -g status off
set -g exit-empty off
set -g escape-time 0
set -g history-limit 5000
set -g remain-on-exit on
set -g remain-on-exit-format ''
set -g default-terminal xterm-256color
set -g default-shell /bin/sh
set -g set-titles off
`

// goProgram stands for the tool of Go: a project of the stories has its checks by it. It is held up by ~/hold until the
// test takes that away, and what it finds depends on the files of the work alone.
const goProgram = `#!/bin/sh
held() { while [ -e ~/hold ]; do sleep 0.05; done; }
case $1 in
vet) held ;;
test)
	echo "ok    app/internal/auth   0.214s"
	held
	if [ -e flaky.txt ] && [ ! -e ~/flaked ]; then
		>~/flaked
		echo "--- FAIL: TestRetry (0.00s)"
		exit 1
	fi
	if grep -qs 101 src/limit.go || [ -e broken.txt ]; then
		echo "--- FAIL: TestRateLimit (0.00s)"
		echo "    limit_test.go:41: got 101 requests, want 100"
		exit 1
	fi
	echo "ok    app/internal/limit  0.103s"
	;;
esac
`

// agentProgram stands for an agent: it is at work until the test ends.
const agentProgram = "#!/bin/sh\nexec cat ~/work >/dev/null\n"

// placeOf makes a directory whose path has the same length on every machine: it decides where lines end.
func placeOf(t *testing.T) string {
	t.Helper()
	const length = 40
	base := os.TempDir()
	if len(base) > length-len("/desk-123456789") {
		base = "/tmp" // the path of a socket is short, too
	}
	for range 100 {
		name := "desk-" + strconv.FormatUint(rand.Uint64(), 36) + strconv.FormatUint(rand.Uint64(), 36) + strings.Repeat("0", length)
		path := filepath.Join(base, name)[:length]
		if err := os.Mkdir(path, 0o755); err == nil {
			return path
		}
	}
	t.Fatalf("no directory can be made in %s", base)
	return ""
}

// newDesk makes a home directory with a project of six files and one commit.
func newDesk(t *testing.T, program string) *desk {
	t.Helper()
	home := filepath.Join(placeOf(t), "home")
	d := &desk{t: t, program: program, home: home, dir: filepath.Join(home, "src", "app")}
	const date = "2026-01-02T12:00:00Z"
	d.env = []string{
		"PATH=" + strings.Join([]string{filepath.Dir(program), filepath.Join(home, "bin"), os.Getenv("PATH")}, string(os.PathListSeparator)),
		"HOME=" + home, "CROFT_STATE_DIR=" + filepath.Join(home, ".local/state/croft"), "CROFT_DATA_DIR=" + filepath.Join(home, ".local/share/croft"),
		"CROFT_GC_AUTO=false", "CROFT_POOL_SIZE=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
		"TERM=xterm", "LC_ALL=C.UTF-8", "TZ=UTC", "USER=ada", "SHELL=/bin/sh", "PAGER=cat", "EDITOR=true", "PS1=$ ", "ENV=",
	}
	files := map[string]string{
		filepath.Join(home, ".gitconfig"):    userConfig,
		filepath.Join(home, ".tmux"):         tmuxConfig,
		filepath.Join(home, "bin", "go"):     goProgram,
		filepath.Join(home, "bin", "claude"): agentProgram,
	}
	for i := 1; i <= 6; i++ {
		files[filepath.Join(d.dir, "src", fmt.Sprintf("f%d.txt", i))] = "one\ntwo\nthree\nfour\nfive\n"
	}
	writeFiles(t, files)
	t.Cleanup(d.leave)
	d.sh(`chmod 755 ~/bin/* && mkfifo ~/work && git init -q && git add . && git commit -qm first && croft list 2>/dev/null`)
	return d
}

// leave ends what is still at work, and deletes the home directory.
func (d *desk) leave() {
	_ = os.Remove(filepath.Join(d.home, "hold"))
	if d.tmux != "" {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = exec.CommandContext(ctx, "tmux", "-S", d.tmux, "kill-server").Run()
	}
	isQuiet := 0
	for begun := time.Now(); time.Since(begun) < patience && isQuiet < 2; time.Sleep(20 * time.Millisecond) {
		isQuiet++
		if work, err := os.OpenFile(filepath.Join(d.home, "work"), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // an agent waits
			_ = work.Close()
			isQuiet = 0
		}
		if os.RemoveAll(filepath.Dir(d.home)) != nil { // something writes
			isQuiet = 0
		}
	}
}

// sh runs what is not shown, in the project.
func (d *desk) sh(script string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", script)
	cmd.Dir, cmd.Env = d.dir, d.env
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// output returns what a command prints on a pipe.
func (d *desk) output(script string) string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-ec", script)
	cmd.Dir, cmd.Env = d.dir, d.env
	out, err := cmd.Output()
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// look is how a terminal shows things.
type look struct {
	width, height int
	isPlain       bool // NO_COLOR
	isASCII       bool
}

func (l look) String() string {
	name := fmt.Sprintf("%dx%d", l.width, l.height)
	if l.isASCII {
		name += " ascii"
	}
	return name
}

func (l look) env() (env []string) {
	if l.isPlain {
		env = append(env, "NO_COLOR=1")
	}
	if l.isASCII {
		env = append(env, "CROFT_ASCII=1")
	}
	return env
}

// cell is a terminal on which a command runs.
type cell struct {
	d    *desk
	name string
	line string // the command
}

func (d *desk) control(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-u", "-S", d.tmux, "-f", filepath.Join(d.home, ".tmux")}, args...)...)
	cmd.Dir, cmd.Env = d.dir, d.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (d *desk) mustControl(args ...string) string {
	d.t.Helper()
	out, err := d.control(args...)
	if err != nil {
		d.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return out
}

// onTerminal starts a command on a terminal of its own, in a directory.
func (d *desk) onTerminal(l look, dir, line string) *cell {
	d.t.Helper()
	if d.tmux == "" {
		d.tmux = filepath.Join(filepath.Dir(d.home), "s")
		d.mustControl("start-server")
	}
	d.cells++
	c := &cell{d, fmt.Sprintf("t%d", d.cells), line}
	args := []string{"new-session", "-d", "-s", c.name, "-c", dir, "-x", strconv.Itoa(l.width), "-y", strconv.Itoa(l.height)}
	for _, kv := range l.env() {
		args = append(args, "-e", kv)
	}
	d.mustControl(append(args, "trap : INT; echo '$'; "+line+"\necho $? >"+c.status()+"; printf '"+titled+"'; read -r _")...)
	return c
}

// shown is what stands on the terminal and above it, without the ends of lines that are empty.
func (c *cell) shown() string {
	c.d.t.Helper()
	text := c.d.mustControl("capture-pane", "-p", "-e", "-J", "-S", "-", "-t", c.name)
	// The line of the prompt is above, so that nothing is drawn at the top, from where tmux puts it aside when it is erased.
	return withoutGitNote(strings.TrimRight(strings.TrimPrefix(text, "$\n"), "\n") + "\n")
}

// gitNote is about the git of the machine.
var gitNote = regexp.MustCompile(`(?s)(\x1b\[[0-9;]*m)*note:(\x1b\[[0-9;]*m)* git [0-9.]+ lacks.*? has them[^\n]*\n`)

func withoutGitNote(text string) string { return gitNote.ReplaceAllString(text, "") }

// awaits waits until the terminal shows a text, and lacks another one.
func (c *cell) awaits(text, lacks string) {
	c.d.t.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		shown := unstyled(c.shown())
		if strings.Contains(shown, text) && (lacks == "" || !strings.Contains(shown, lacks)) {
			return
		}
		if time.Since(begun) > patience {
			c.d.t.Fatalf("%s: %q is not shown, or %q is:\n%s", c.line, text, lacks, shown)
		}
	}
}

// types types keys, as tmux calls them, or else characters.
func (c *cell) types(keys ...string) {
	c.d.t.Helper()
	c.d.mustControl(append([]string{"send-keys", "-t", c.name}, keys...)...)
}

func (c *cell) resize(width, height int) {
	c.d.t.Helper()
	c.d.mustControl("resize-window", "-t", c.name, "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
}

// titled gives a terminal a title. What was printed before has been drawn once tmux knows it; of a process that has
// ended tmux may drop the last lines.
const titled, title = `\033]2;ended\007`, "ended"

// ends waits for the end of the command, and returns its status and what it has left on the terminal.
func (c *cell) ends() (status int, shown string) {
	c.d.t.Helper()
	for begun, pause := time.Now(), 4*time.Millisecond; !c.isOver(); time.Sleep(pause) {
		if pause = min(2*pause, 50*time.Millisecond); time.Since(begun) > patience {
			c.d.t.Fatalf("%s does not end:\n%s", c.line, c.shown())
		}
	}
	shown = c.shown()
	text, err := os.ReadFile(c.status())
	if err == nil {
		status, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err != nil {
		c.d.t.Fatalf("%s: %v\n%s", c.line, err, shown)
	}
	c.d.mustControl("kill-session", "-t", c.name)
	return status, shown
}

// isOver reports whether the command has ended, and all that it printed is drawn.
func (c *cell) isOver() bool {
	c.d.t.Helper()
	return c.d.mustControl("display-message", "-p", "-t", c.name, "#{pane_title}") == title+"\n"
}

// status is the file that has the exit status.
func (c *cell) status() string { return filepath.Join(c.d.home, ".status-"+c.name) }

// span is a text in one style.
type span struct {
	text  string
	style string // the numbers of its sequences, sorted: "2;36"
}

var styling = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// unstyled is what is read.
func unstyled(text string) string { return styling.ReplaceAllString(text, "") }

// isCyan reports whether a text is one to type.
func (s span) isCyan() bool { return strings.Contains(s.style, "36") }

// linesOf takes a capture apart. A style goes on over the ends of lines.
func linesOf(capture string) (lines [][]span) {
	style := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(capture, "\n"), "\n") {
		var spans []span
		at := 0
		add := func(text string) {
			if text != "" {
				spans = append(spans, span{text, style})
			}
		}
		for _, m := range styling.FindAllStringSubmatchIndex(line, -1) {
			add(line[at:m[0]])
			at, style = m[1], restyled(style, line[m[2]:m[3]])
		}
		add(line[at:])
		lines = append(lines, joined(spans))
	}
	return lines
}

// joined gives spaces the style of what stands around them.
func joined(spans []span) (all []span) {
	for i, s := range spans {
		isBetween := i > 0 && i+1 < len(spans) && spans[i-1].style == spans[i+1].style && strings.Trim(s.text, " ") == "" && len(s.text) == 1
		if isBetween {
			s.style = spans[i-1].style
		}
		if last := len(all) - 1; last >= 0 && all[last].style == s.style {
			all[last].text += s.text
			continue
		}
		all = append(all, s)
	}
	return all
}

// restyled is a style after a sequence.
func restyled(style, values string) string {
	now := strings.FieldsFunc(style, func(r rune) bool { return r == ';' })
	for value := range strings.SplitSeq(values, ";") {
		switch {
		case value == "" || value == "0":
			now = nil
		case value == "49": // the ground of the terminal
		case strings.HasPrefix(value, "3"): // a colour, or with 39 that of the terminal
			now = slices.DeleteFunc(now, func(v string) bool { return strings.HasPrefix(v, "3") })
			if value != "39" {
				now = append(now, value)
			}
		default:
			now = append(now, value)
		}
	}
	slices.Sort(now)
	return strings.Join(slices.Compact(now), ";")
}

var endSpaces = regexp.MustCompile(` +\n`)

// painted is the text of lines with their styles, each line by itself.
func painted(lines [][]span) string {
	var b strings.Builder
	for _, line := range lines {
		for _, s := range line {
			if s.style == "" {
				b.WriteString(s.text)
				continue
			}
			b.WriteString("\x1b[" + s.style + "m" + s.text + "\x1b[0m")
		}
		b.WriteByte('\n')
	}
	return endSpaces.ReplaceAllString(b.String(), "\n")
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
