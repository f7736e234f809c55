package croft_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/recording"
)

// picture is a session on a terminal that a page shows.
type picture struct {
	name, title string
	setup       string // run before, and not shown
	typed       []keystrokes
}

// keystrokes are a command that is typed.
type keystrokes struct {
	command string
	before  string        // run before, and not shown
	watched time.Duration // it goes on until ctrl-c
	fails   bool
}

// pictureRepository makes a project with two checks, and an agent: a script that does what its task says, a line
// after the other. PACE is the time for which agents and checks seem to think.
const pictureRepository = `mkdir -p ~/bin ~/src/app/internal && cd ~/src/app && git init -q
cat >~/bin/agent <<'AGENT'
#!/bin/sh
sleep PACE
case $1 in
tasks/fix-login.md) for i in 1 2 3 4 5 6 7 8; do echo "// login $i" >>internal/login.go; sleep PACE; done ;;
tasks/search-index.md) sed -i 's/limit = 10/limit = 25/' config.txt; echo '// search' >internal/search.go; sleep PACE ;;
tasks/rate-limit.md) exit 1 ;;
tasks/rate-limit-2.md) echo '// 101 requests' >internal/limit.go ;;
tasks/rate-limit-3.md) echo '// 100 requests' >internal/limit.go ;;
tasks/dark-mode.md) sed -i 's/limit = 10/limit = 50/' config.txt; printf 'body {\n  color: #eee;\n}\n' >dark.css; sleep PACE; sleep PACE ;;
tasks/csv-export.md) for i in 1 2 3 4 5 6; do echo "id,$i" >>export.csv; sleep PACE; sleep PACE; done ;;
tasks/resolve.md) printf 'name = app\nlimit = 50\n' >config.txt; git add config.txt ;;
esac
AGENT
cat >test <<'TEST'
#!/bin/sh
for p in auth store; do sleep PACE; echo "ok    app/internal/$p"; done
sleep PACE
if grep -qs 101 internal/limit.go; then
	echo '--- FAIL: TestRateLimit (0.00s)'
	echo '    limit_test.go:41: got 101 requests, want 100'
	exit 1
fi
echo 'ok    app/internal/limit'
TEST
printf '#!/bin/sh\nsleep PACE\n' >lint
chmod 755 ~/bin/agent test lint
printf 'name = app\nlimit = 10\n' >config.txt
printf '[merge]\nchecks = ["./lint", "./test"]\n' >croft.toml
echo package internal >internal/internal.go
git add -A && git commit -qm first && CROFT_TRUST=$(croft config trust -n 2>&1 | sed -n 's/^CROFT_TRUST=//p') croft config trust
work() { for task in "$@"; do croft run "${task%%-[0-9]}" -- agent "tasks/$task.md"; done; }
`

// pictures are those of README and the book.
func pictures() []picture {
	return []picture{
		{
			name: "agents", title: "Five agents in one repository",
			typed: []keystrokes{
				{command: "croft new fix-login search-index rate-limit dark-mode csv-export"},
				{command: "for a in $(croft list --names); do croft run -q --detach $a -- agent tasks/$a.md; done"},
				{command: "croft list --watch", watched: 12 * time.Second},
				{command: "croft", before: "until [ -z \"$(croft list --state working --names)\" ]; do sleep 0.05; done"},
			},
		},
		{
			name: "collision", title: "A collision, seen before the merge",
			setup: "croft new fix-login search-index dark-mode && work fix-login search-index dark-mode",
			typed: []keystrokes{
				{command: "croft conflicts"},
				{command: "croft merge fix-login search-index"},
				{command: "croft merge dark-mode", fails: true},
				{command: "croft merge --resolve dark-mode"},
				{command: "croft run dark-mode -- agent tasks/resolve.md"},
				{command: "croft merge dark-mode"},
			},
		},
		{
			name: "check", title: "A check fails, and main stays as it is",
			setup: "croft new rate-limit && work rate-limit-2",
			typed: []keystrokes{
				{command: "croft merge rate-limit", fails: true},
				{command: "croft list"},
				{command: "croft run rate-limit -- agent tasks/rate-limit-3.md"},
				{command: "croft merge rate-limit"},
			},
		},
		{
			name: "undo", title: "Undo, whatever it was",
			setup: "croft new fix-login dark-mode && work fix-login dark-mode",
			typed: []keystrokes{
				{command: "croft merge fix-login"},
				{command: "croft undo --yes"},
				{command: "croft discard dark-mode"},
				{command: "croft undo --yes"},
				{command: "croft list"},
			},
		},
	}
}

// TestPictures plays the sessions of the pictures on a terminal, quickly, and compares what stands there at the end with
// what the pictures in docs/pictures show. CROFT_UPDATE=1 plays them at the pace of a person, and writes the pictures.
func TestPictures(t *testing.T) {
	isUpdate := os.Getenv("CROFT_UPDATE") != ""
	if testing.Short() || os.Getenv("CROFT_CI") == "" && !isUpdate {
		t.Skip("with CROFT_CI=1, as .ci/run has it: it builds the program and plays what the pictures show")
	}
	bin := buildProgram(t)
	for _, p := range pictures() {
		t.Run(p.name, func(t *testing.T) {
			if !isUpdate {
				t.Parallel() // a picture has the times of a machine that does nothing else
			}
			path := filepath.Join("docs", "pictures", p.name+".svg")
			played := play(t, bin, p, isUpdate)
			if isUpdate {
				svg := played.SVG()
				if len(svg) > 150_000 {
					t.Errorf("%s: %d bytes", path, len(svg))
				}
				if err := os.WriteFile(path, svg, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			svg, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if shown := recording.TextOf(svg); !isShown(strings.Split(shown, "\n"), strings.Split(strings.TrimSuffix(played.Text(), "\n"), "\n")) {
				t.Errorf("%s shows\n%s\nand what is printed today is\n%s\n(CROFT_UPDATE=1 go test -run TestPictures . plays it again)", path, shown, played.Text())
			}
		})
	}
}

// session is a terminal on which somebody works.
type session struct {
	t        *testing.T
	recorded *recording.Recording
	terminal recording.Terminal
	clock    time.Duration // of the picture
	env      []string
	home     string
	isSlow   bool
}

// play has a session typed on a terminal of 100 columns.
func play(t *testing.T, bin string, p picture, isSlow bool) *recording.Recording {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	config := "[init]\n\tdefaultBranch = main\n[user]\n\tname = Ada\n\temail = ada@example.com\n[core]\n\tpager = cat\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	pace := "0.25" // a merge looks four times a second at its checks: one that is quicker fails twice between two looks
	if isSlow {
		pace = "0.7"
	}
	s := &session{
		t: t, isSlow: isSlow, recorded: &recording.Recording{Title: p.title, Columns: 100}, home: home,
		env: []string{
			"PATH=" + strings.Join([]string{bin, filepath.Join(home, "bin"), os.Getenv("PATH")}, string(os.PathListSeparator)), "HOME=" + home,
			"CROFT_STATE_DIR=" + filepath.Join(home, ".local/state/croft"), "CROFT_DATA_DIR=" + filepath.Join(home, ".local/share/croft"), "CROFT_GC_AUTO=false",
			"GIT_CONFIG_NOSYSTEM=1", "PAGER=cat", "LC_ALL=C.UTF-8", "TZ=UTC", "TERM=xterm", "SHELL=/bin/sh", "USER=ada",
		},
	}
	if err := os.MkdirAll(filepath.Join(home, "src/app"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.prepare(strings.ReplaceAll(pictureRepository, "PACE", pace) + p.setup)
	for _, keys := range p.typed {
		s.enter(keys)
	}
	s.print("\x1b[1m$\x1b[0m ")
	return s.recorded
}

// prepare runs what is not shown.
func (s *session) prepare(script string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-ec", script)
	cmd.Env, cmd.Dir = s.env, filepath.Join(s.home, "src/app")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("what prepares the picture: %v\n%s", err, out)
	}
}

// print shows a text from now on.
func (s *session) print(text string) {
	s.t.Helper()
	if _, err := s.terminal.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
	if !s.terminal.IsHeld() {
		s.recorded.Add(s.clock, s.terminal.Rows())
	}
}

// enter types a command as a person does, and shows what it prints when it prints it.
func (s *session) enter(keys keystrokes) {
	s.t.Helper()
	if keys.before != "" {
		s.prepare(keys.before)
	}
	s.print("\x1b[1m$\x1b[0m ")
	s.clock += 600 * time.Millisecond
	for word := range strings.SplitAfterSeq(strings.ReplaceAll(keys.command, "\n", "\r\n"), " ") {
		s.print(word)
		s.clock += 150 * time.Millisecond
	}
	s.clock += 250 * time.Millisecond
	s.print("\r\n")

	control, terminal := openTerminal(s.t, 40, 100)
	command := keys.command
	if command == "croft" || command == "croft list" { // it looks at all, however slow the machine is
		command = "croft list --full"
	}
	cmd := exec.CommandContext(s.t.Context(), "bash", "--norc", "--noprofile", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = filepath.Join(s.home, "src/app"), s.env, terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	began, at := time.Now(), s.clock
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	_ = terminal.Close()
	if keys.watched > 0 {
		watched := keys.watched
		if !s.isSlow {
			watched = time.Second
		}
		defer time.AfterFunc(watched, func() { _, _ = control.WriteString("\x03") }).Stop()
	}
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	buffer := make([]byte, 32<<10)
	for {
		n, err := control.Read(buffer)
		s.clock = at + time.Since(began)
		if n > 0 {
			s.print(strings.ReplaceAll(string(buffer[:n]), s.home, "~"))
		}
		if err != nil {
			break // the last process left the terminal
		}
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		s.t.Fatal(err)
	case keys.watched == 0 && (err != nil) != keys.fails:
		s.t.Fatalf("%s: %v\n%s", keys.command, err, s.recorded.Text())
	}
	s.clock = at + time.Since(began) + 1500*time.Millisecond
}
