//go:build unix

package samples

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/npmtest"
)

// sample is how one works in a project: what a developer types in a workspace that is set up.
type sample struct {
	test  string // runs its tests
	serve string // serves its page at PORT
	page  string // the file with the text of the page
}

// TestNode: npm installs packages that depend on each other from a registry on this machine.
func TestNode(t *testing.T) {
	t.Parallel()
	require(t, "node", "npm")
	registry := npmtest.Serve(
		t,
		npmtest.Package{Name: "greet", Needs: []string{"shout"}, Files: map[string]string{
			"index.js": "const shout = require('shout'); module.exports = (name) => shout(`hello ${name}`);\n",
		}},
		npmtest.Package{Name: "shout", Needs: []string{"mark"}, Files: map[string]string{
			"index.js": "module.exports = (text) => text.replace('hello', 'HELLO') + require('mark');\n",
		}},
		npmtest.Package{Name: "mark", Files: map[string]string{"index.js": "module.exports = '!';\n"}},
	)
	p := newProject(t, "node", map[string]string{"package-lock.json": registry.LockFile("sample", "greet"), ".npmrc": registry.Config()})
	requireWorkable(t, p, sample{test: "npm test", serve: "exec npm run dev", page: "page.js"})
	if registry.Requests() < 3 {
		t.Errorf("the registry was asked %d times", registry.Requests())
	}
}

// TestPython: each workspace has a virtual environment that finds the workspace's own files.
func TestPython(t *testing.T) {
	t.Parallel()
	p := newProject(t, "python", nil)
	usePython(t, p)
	requireWorkable(t, p, sample{
		test: ".venv/bin/python -m unittest discover tests", serve: "exec .venv/bin/python -m app", page: "src/app/__init__.py",
	})
}

// TestPythonFindsTheProject: tests that pass because they import the project's files are no proof of the work. A probe
// tells it.
func TestPythonFindsTheProject(t *testing.T) {
	t.Parallel()
	text := readFile(t, filepath.Join("testdata", "python", "croft.toml"))
	p := newProject(t, "python", map[string]string{"croft.toml": strings.Replace(text, "editable.py src", "editable.py $CROFT_REPO/src", 1)})
	usePython(t, p)
	p.approve()
	r := p.croft("new", "a")
	if r.code != 0 || !strings.Contains(r.stderr, "failed: probe-1") || !strings.Contains(r.stderr, "lies outside of the workspace") {
		t.Error(r)
	}
	if r := p.croft("list"); !strings.Contains(r.stdout, "not set up") {
		t.Error(r)
	}
}

// TestGo: a module is built and tested without a network.
func TestGo(t *testing.T) {
	t.Parallel()
	p := newProject(t, "go", nil)
	for _, name := range []string{"GOCACHE", "GOPATH", "GOMODCACHE", "GOROOT"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		p.env = append(p.env, name+"="+strings.TrimSpace(string(out)))
	}
	p.env = append(p.env, "GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0")
	requireWorkable(t, p, sample{test: "go test -count=1 ./...", serve: "go build -o bin/app . && exec bin/app", page: "page.go"})
}

// require skips the test where a program is missing; in CI it fails.
func require(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("CROFT_CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
}

// usePython puts the directory of the interpreter itself before others: what is called python3 may be a script
// that looks for it below the home directory.
func usePython(t *testing.T, p *project) {
	t.Helper()
	require(t, "python3")
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import os, sys; print(os.path.dirname(os.path.realpath(sys.executable)))").Output()
	if err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "PATH="+filepath.Dir(program)+":"+strings.TrimSpace(string(out))+":"+os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1")
}

// requireWorkable: one command after the approval makes a workspace in which the tests pass; the servers of two workspaces
// run at once, each with its own page; and nothing of the project is written.
func requireWorkable(t *testing.T, p *project, s sample) {
	t.Helper()
	p.approve()
	a, b := p.create("a"), p.create("b")
	for _, w := range []croft.Workspace{a, b} {
		if r := p.run(p.dir, s.test+"\n", "croft", "sh", w.Name); r.code != 0 || r.err != nil {
			t.Errorf("the tests in a new workspace: %v", r)
		}
		if r := p.must(p.run(w.Path, "", "git", "status", "--porcelain")); r.stdout != "" {
			t.Errorf("a workspace that was set up has changes: %v", r)
		}
	}
	before := p.provisioned("a")
	for i, step := range p.provisioned("a") {
		if isProbe := strings.HasPrefix(step.Name, "probe-"); !isProbe && !step.At.Equal(before[i].At) {
			t.Errorf("%s ran again", step.Name)
		}
	}
	requireOwnPages(t, p, s, a, b)
	gittest.WriteFile(t, filepath.Join(a.Path, ".env"), "TOKEN=mine\n")
	for _, w := range []croft.Workspace{a, b} {
		p.must(p.croft("remove", "--force", w.Name))
	}
	if got := readFile(t, filepath.Join(p.dir, ".env")); got != "TOKEN=secret\n" {
		t.Errorf("the project's .env is %q", got)
	}
	if r := p.must(p.run(p.dir, "", "git", "status", "--porcelain", "--ignored")); r.stdout != "!! .env\n" {
		t.Errorf("the project has more than its .env: %v", r)
	}
	p.must(p.croft("restore", "a"))
	if r := p.run(p.dir, s.test+"\n", "croft", "sh", "a"); r.code == 0 {
		t.Errorf("the .env of a restored workspace is not its own: %v", r)
	}
	gittest.WriteFile(t, filepath.Join(a.Path, ".env"), "TOKEN=secret\n")
	if r := p.run(p.dir, s.test+"\n", "croft", "sh", "a"); r.code != 0 {
		t.Errorf("the tests in a restored workspace: %v", r)
	}
}

// requireOwnPages changes the page in two workspaces, and asks the servers of both for it while both run.
func requireOwnPages(t *testing.T, p *project, s sample, workspaces ...croft.Workspace) {
	t.Helper()
	var stops []func()
	for _, w := range workspaces {
		file := filepath.Join(w.Path, s.page)
		text := readFile(t, file)
		changed := strings.NewReplacer("HELLO ", "HELLO "+w.Name+" of ", "greet(\"node", "greet(\""+w.Name+" of node").Replace(text)
		if changed == text {
			t.Fatalf("the page is not in %s", s.page)
		}
		gittest.WriteFile(t, file, changed)
		stops = append(stops, p.start(w, s.serve))
	}
	for _, w := range workspaces {
		port := w.Ports[0].Port
		want := fmt.Sprintf("%s at %d\nHELLO %s of ", w.Name, port, w.Name)
		if got := fetch(t, port); !strings.HasPrefix(got, want) {
			t.Errorf("the page of %s is %q", w.Name, got)
		}
	}
	for _, stop := range stops {
		stop()
	}
}

// start starts a server with the variables of a workspace, as a script does that evaluates croft env. The
// function that it returns ends it.
func (p *project) start(w croft.Workspace, command string) func() {
	p.t.Helper()
	script := `eval "$(croft env --export "$1")" && cd "$(croft path "$1")" && eval "$2"`
	cmd := exec.CommandContext(p.t.Context(), "/bin/sh", "-c", script, "sh", w.Name, command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, p.t.Output(), p.t.Output()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel, cmd.WaitDelay = end, 10*time.Second
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	hasEnded := false
	stop := func() {
		if !hasEnded {
			hasEnded = true
			_ = end()
			_ = cmd.Wait()
		}
	}
	p.t.Cleanup(stop)
	return stop
}

// fetch returns what a server on this machine answers, once it listens.
func fetch(t *testing.T, port int) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(req)
		if err == nil {
			text, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
