//go:build unix

package samples

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/buildtest"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// program is the croft under test. TestMain sets it before any test runs.
var program string

func TestMain(m *testing.M) {
	os.Exit(buildtest.Main(m, buildtest.Options{}, func(path string) { program = path }))
}

// patience is how long any one process may take.
const patience = 3 * time.Minute

// project is a sample in a repository, with a home directory and a state of its own.
type project struct {
	t   *testing.T
	dir string // the main checkout
	env []string
}

// newProject commits the files of a sample, with more of them or others in their place, and writes a .env that git ignores.
func newProject(t *testing.T, sample string, more map[string]string) *project {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, dir: filepath.Join(top, "app")}
	home := filepath.Join(top, "home")
	if err := errors.Join(os.Mkdir(home, 0o755), os.CopyFS(p.dir, os.DirFS(filepath.Join("testdata", sample)))); err != nil {
		t.Fatal(err)
	}
	p.env = append(gittest.Environ(home), "CROFT_GC_AUTO=false", "SHELL=/bin/sh")
	p.env = append(p.env, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	for name, text := range more {
		gittest.WriteFile(t, filepath.Join(p.dir, name), text)
	}
	p.choosePorts()
	p.must(p.run(p.dir, "", "git", "init", "--quiet", "--initial-branch=main"))
	p.must(p.run(p.dir, "", "git", "add", "--all"))
	p.must(p.run(p.dir, "", "git", "commit", "--quiet", "--message", "sample"))
	gittest.WriteFile(t, filepath.Join(p.dir, ".env"), "TOKEN=secret\n")
	return p
}

// blocks counts the projects of this process.
var blocks atomic.Int64

// choosePorts gives the project a range of ports of its own: states that do not know of each other may give the
// same port to two tests.
func (p *project) choosePorts() {
	p.t.Helper()
	first := 21000 + os.Getpid()%18*600 + int(blocks.Add(1)-1)*150
	file := filepath.Join(p.dir, "croft.toml")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "[ports]\n") {
		p.t.Fatalf("the sample has no ports: %v", err)
	}
	gittest.WriteFile(p.t, file, strings.Replace(string(text), "[ports]\n", fmt.Sprintf("[ports]\nrange = \"%d-%d\"\n", first, first+149), 1))
}

// result is the outcome of a process.
type result struct {
	command        []string
	stdout, stderr string
	code           int
	err            error // it could not be run at all, or took too long
}

func (r result) String() string {
	return fmt.Sprintf("%q: exit %d %v\n%s%s", r.command, r.code, r.err, r.stdout, r.stderr)
}

// run runs a program in a directory, with an input.
func (p *project) run(dir, input string, command ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	if command[0] == "croft" {
		cmd.Path, cmd.Err = program, nil
	}
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, p.env, strings.NewReader(input), &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	r := result{command: command, stdout: stdout.String(), stderr: stderr.String()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		r.code, err = exit.ExitCode(), nil
	}
	r.err = errors.Join(err, ctx.Err())
	return r
}

// must fails the test unless a process succeeded.
func (p *project) must(r result) result {
	p.t.Helper()
	if r.code != 0 || r.err != nil {
		p.t.Fatal(r)
	}
	return r
}

// croft runs croft in the main checkout.
func (p *project) croft(args ...string) result {
	return p.run(p.dir, "", append([]string{"croft"}, args...)...)
}

// approve approves the commands of the project, as a person does once.
func (p *project) approve() {
	p.t.Helper()
	var shown struct {
		Trust struct {
			Hash string `json:"hash"`
		} `json:"trust"`
	}
	r := p.must(p.croft("config", "trust", "--setup", "--dry-run", "--json"))
	if err := json.Unmarshal([]byte(r.stdout), &shown); err != nil || shown.Trust.Hash == "" {
		p.t.Fatalf("%v: %v", err, r)
	}
	plain := p.env
	p.env = append(slices.Clip(plain), "CROFT_TRUST="+shown.Trust.Hash)
	p.must(p.croft("config", "trust", "--setup"))
	p.env = plain
}

// create makes a workspace by one command, which must set it up.
func (p *project) create(name string) croft.Workspace {
	p.t.Helper()
	var made struct {
		Workspaces []croft.Workspace `json:"workspaces"`
	}
	r := p.must(p.croft("new", name, "--json"))
	if err := json.Unmarshal([]byte(r.stdout), &made); err != nil || len(made.Workspaces) != 1 {
		p.t.Fatalf("%v: %v", err, r)
	}
	w := made.Workspaces[0]
	if strings.Contains(r.stderr, "croft.toml") {
		p.t.Errorf("a part of croft.toml is not used: %v", r)
	}
	if w.Provision == nil || w.Provision.State != croft.ProvisionReady {
		p.t.Fatalf("it is not set up: %v", r)
	}
	return w
}

// provisioned runs croft provision, and returns its steps.
func (p *project) provisioned(args ...string) []croft.ProvisionedStep {
	p.t.Helper()
	var got struct {
		Provision croft.Provision `json:"provision"`
	}
	r := p.must(p.croft(append([]string{"provision", "--json"}, args...)...))
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		p.t.Fatalf("%v: %v", err, r)
	}
	return got.Provision.Steps
}
