//go:build unix

package attack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is the time in which a command of croft with little to do must end. A command
// that takes longer hangs.
const patience = 30 * time.Second

// mode is the mode of a host's workspaces.
type mode string

const (
	worktree mode = "worktree" // the agent writes the common git directory too
	isolated mode = "isolated" // the agent has a git directory of its own
	plain    mode = "plain"    // the same, and the project has none
)

var (
	everyMode = []mode{worktree, isolated, plain}
	gitModes  = []mode{worktree, isolated}
)

// host is a person's machine: a home directory, Croft's state and data, and a
// project, all below top.
type host struct {
	t     *testing.T
	mode  mode
	top   string
	dir   string // the project
	env   []string
	bound time.Duration // the time in which every command must end
}

// inModes runs an attack in each of the modes.
func inModes(t *testing.T, modes []mode, attack func(t *testing.T, h *host)) {
	for _, m := range modes {
		t.Run(string(m), func(t *testing.T) { attack(t, newHost(t, m)) })
	}
}

// newHost makes a host whose project has four text files and a directory.
func newHost(t *testing.T, m mode) *host {
	t.Helper()
	h := bareHost(t, m)
	for i := range 4 {
		put(t, filepath.Join(h.dir, fmt.Sprintf("f%d.txt", i)), "a\nb\nc\n")
	}
	put(t, filepath.Join(h.dir, "src", "m.txt"), "x\n")
	if m != plain {
		h.git(h.dir, "init", "--quiet", "--initial-branch=main")
		h.commit("base")
	}
	return h
}

// bareHost makes a host whose project is an empty directory.
func bareHost(t *testing.T, m mode) *host {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, mode: m, top: top, dir: filepath.Join(top, "t", "app"), bound: patience}
	for _, dir := range []string{h.dir, h.path("can"), h.path("home")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	put(t, h.path("home", ".gitconfig"), "[user]\n\tname = Host\n\temail = host@example.com\n[init]\n\tdefaultBranch = main\n")
	h.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.path("home"), "LANG=C.UTF-8", "TERM=dumb", "GIT_CONFIG_NOSYSTEM=1",
		"CROFT_STATE_DIR=" + h.path("state"), "CROFT_DATA_DIR=" + h.path("data"),
		// Upkeep in the background would outlive the test.
		"CROFT_GC_AUTO=false",
	}
	return h
}

// path is a path below the host's top directory.
func (h *host) path(elem ...string) string { return filepath.Join(append([]string{h.top}, elem...)...) }

// set sets a variable for all further processes.
func (h *host) set(name, value string) { h.env = append(slices.Clip(h.env), name+"="+value) }

// commit commits everything in the project.
func (h *host) commit(message string) {
	h.t.Helper()
	h.git(h.dir, "add", "--all")
	h.git(h.dir, "commit", "--quiet", "--message", message)
}

// demand commits checks for merges to main, and approves them by their digest.
func (h *host) demand(checks ...string) {
	h.t.Helper()
	put(h.t, filepath.Join(h.dir, "croft.toml"), checksFile(checks...))
	if h.mode != plain {
		h.commit("checks")
	}
	h.set("CROFT_TRUST", digest(checks...))
}

func checksFile(checks ...string) string {
	var quoted []string
	for _, c := range checks {
		quoted = append(quoted, fmt.Sprintf("%q", c))
	}
	return "[merge]\nchecks = [" + strings.Join(quoted, ", ") + "]\n"
}

// digest is the hash of checks by which a person approves them.
func digest(checks ...string) string {
	sum := sha256.New()
	for _, c := range checks {
		fmt.Fprintf(sum, "%d:%s\n", len(c), c)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// result is the outcome of a process.
type result struct {
	stdout, stderr string
	code           int // -1 if it was killed
	took           time.Duration
	memory         int64 // the largest resident size, in bytes
	hung           bool
	err            error
}

func (r result) String() string {
	return fmt.Sprintf("exit %d in %v %v\n%.2000s%.2000s", r.code, r.took.Round(time.Millisecond), r.err, r.stdout, r.stderr)
}

// errorCode is the code of an answer in JSON.
func (r result) errorCode() string {
	var a struct {
		Error *struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(r.stdout), &a) == nil && a.Error != nil {
		return a.Error.Code
	}
	return ""
}

// run runs a program in a process group of its own and kills the group when the bound is
// reached.
func (h *host) run(dir, program string, args ...string) result {
	return h.runWith("", nil, dir, program, args...)
}

func (h *host) runWith(stdin string, env []string, dir, program string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), h.bound)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr head
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(slices.Clip(h.env), env...), &stdout, &stderr
	cmd.Stdin = strings.NewReader(stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	start := time.Now()
	err := cmd.Run()
	r := result{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(start), hung: ctx.Err() != nil}
	if cmd.ProcessState != nil {
		r.code = cmd.ProcessState.ExitCode()
		r.memory = residentOf(cmd.ProcessState)
	}
	if exit := new(exec.ExitError); !errors.As(err, &exit) {
		r.err = err
	}
	return r
}

// head keeps the beginning of what is written to it. A flood of output would otherwise
// count as memory of the test process, and a child's figure begins with that of its parent.
type head struct{ bytes.Buffer }

func (w *head) Write(p []byte) (int, error) {
	if room := 1<<20 - w.Len(); room > 0 {
		w.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// croft runs croft in the project. A command that hangs fails every attack's test.
func (h *host) croft(args ...string) result {
	h.t.Helper()
	return h.croftIn(h.dir, args...)
}

func (h *host) croftIn(dir string, args ...string) result {
	h.t.Helper()
	r := h.run(dir, binary, args...)
	if r.hung {
		h.t.Fatalf("croft %s hangs: no answer after %v", strings.Join(args, " "), h.bound)
	}
	if r.code != 0 && strings.Contains(r.stderr, "goroutine ") {
		h.t.Errorf("croft %s panics: %v", strings.Join(args, " "), r)
	}
	return r
}

// mustCroft runs a command that the attack does not concern, and which must succeed.
func (h *host) mustCroft(args ...string) result {
	h.t.Helper()
	r := h.croft(args...)
	if r.code != 0 || r.err != nil {
		h.t.Fatalf("croft %s: %v", strings.Join(args, " "), r)
	}
	return r
}

// git runs git and fails the test if that fails.
func (h *host) git(dir string, args ...string) string {
	h.t.Helper()
	return h.gitInput(dir, "", args...)
}

func (h *host) gitInput(dir, stdin string, args ...string) string {
	h.t.Helper()
	r := h.runWith(stdin, nil, dir, "git", args...)
	if r.code != 0 || r.err != nil {
		h.t.Fatalf("git %s: %v", strings.Join(args, " "), r)
	}
	return strings.TrimSuffix(r.stdout, "\n")
}

// main is the commit of main, of a project with git.
func (h *host) main() string {
	h.t.Helper()
	return h.git(h.dir, "rev-parse", "refs/heads/main")
}

// mainIfAny is the commit of main, or "" in a project without git.
func (h *host) mainIfAny() string {
	h.t.Helper()
	if h.mode == plain {
		return ""
	}
	return h.main()
}

// agent is a workspace and the agent that works in it.
type agent struct {
	h    *host
	name string
	dir  string // [W]
}

// agent makes a workspace.
func (h *host) agent(name string) *agent {
	h.t.Helper()
	how := h.mode
	if how == plain {
		how = isolated
	}
	h.mustCroft("new", "--mode", string(how), name)
	return &agent{h: h, name: name, dir: strings.TrimSpace(h.mustCroft("path", name).stdout)}
}

// write writes a file of the workspace.
func (a *agent) write(name, text string) {
	a.h.t.Helper()
	put(a.h.t, filepath.Join(a.dir, name), text)
}

// git runs git in the workspace.
func (a *agent) git(args ...string) string {
	a.h.t.Helper()
	return a.h.git(a.dir, args...)
}

// commit commits everything in the workspace.
func (a *agent) commit(message string) {
	a.h.t.Helper()
	a.git("add", "--all")
	a.git("commit", "--quiet", "--message", message)
}

// gitDir is the git directory whose configuration, refs and objects the agent
// can write: the common one [C] in worktree mode, else its own [W].
func (a *agent) gitDir() string {
	if a.h.mode == worktree {
		return filepath.Join(a.h.dir, ".git")
	}
	return filepath.Join(a.dir, ".git")
}

// admin returns the directory that has the HEAD and index of the workspace.
func (a *agent) admin() string {
	a.h.t.Helper()
	if a.h.mode != worktree {
		return a.gitDir()
	}
	return a.git("rev-parse", "--absolute-git-dir")
}

// evil is a program of the attacker's: it leaves a canary file, and then does what git
// asked it for.
func (h *host) evil(name, then string) string {
	h.t.Helper()
	file := h.path("evil", name)
	put(h.t, file, "#!/bin/sh\ntouch '"+h.canary(name)+"'\n"+then+"\n")
	must(h.t, os.Chmod(file, 0o755))
	return file
}

func (h *host) canary(name string) string { return h.path("can", name) }

// sang returns the names of the canary files, and deletes them.
func (h *host) sang() []string {
	h.t.Helper()
	entries, err := os.ReadDir(h.path("can"))
	must(h.t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		must(h.t, os.Remove(h.canary(e.Name())))
	}
	return names
}

// mustBeSilent fails if a program of the attacker's ran.
func (h *host) mustBeSilent(when string) {
	h.t.Helper()
	if names := h.sang(); len(names) > 0 {
		h.t.Errorf("%s: the attacker's program ran: %v", when, names)
	}
}
