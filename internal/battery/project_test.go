//go:build unix

package battery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// patience is how long any one process may take.
const patience = 3 * time.Minute

// project is a repository with surroundings of its own: home directory, state
// and the directory that its workspaces lie in are all below top.
type project struct {
	scene map[string]bool // the commits before the operation; nil: commits are not distinguished
	moves bool            // a merge updates the user's checkout
	t     *testing.T
	top   string
	dir   string // the main checkout
	env   []string
	path  string // PATH
	bin   string // the directory of the croft that is run
}

// newProject makes a project without a repository.
func newProject(t *testing.T) *project {
	t.Helper()
	return newProjectIn(t, keptDir(t))
}

// newProjectIn makes a project without a repository in a directory.
func newProjectIn(t *testing.T, top string) *project {
	t.Helper()
	top, err := filepath.EvalSymlinks(top)
	if err != nil {
		t.Fatal(err)
	}
	p := &project{t: t, top: top, dir: filepath.Join(top, "work", "app"), path: built + ":" + os.Getenv("PATH"), bin: built}
	for _, dir := range []string{p.home(), filepath.Dir(p.dir)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// Upkeep in the background would outlive the test.
	p.env = append(gittest.Environ(p.home()), "CROFT_GC_AUTO=false")
	return p
}

// smallProject makes a project with a few files, made by plain git commands.
func smallProject(t *testing.T) *project {
	t.Helper()
	p := newProject(t)
	p.plant()
	return p
}

// plant makes a repository with a few files.
func (p *project) plant() {
	p.t.Helper()
	p.git(p.work(), "init", "--quiet", "--initial-branch=main", p.dir)
	p.write("README.md", "# app\n")
	p.write("src/main.txt", "one\ntwo\nthree\n")
	p.write("roles/tester/CLAUDE.md", "You are the tester.\n")
	p.write("roles/writer/CLAUDE.md", "You are the writer.\n")
	p.git(p.dir, "add", "--all")
	p.git(p.dir, "commit", "--quiet", "--message", "first")
}

// bigProject makes a project of many files: about 7 KB each, nine to a
// directory, in one pack. The repository is bare when it is made, and then
// cloned, so that origin/main exists.
func bigProject(t *testing.T, files int) *project {
	t.Helper()
	p := newProject(t)
	origin := filepath.Join(p.top, "origin.git")
	p.git(p.top, "init", "--quiet", "--bare", "--initial-branch=main", origin)
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience) // 100,000 files are compressed
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-C", origin, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")
	cmd.Env = p.environ()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writeCommit(in, files)
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatalf("git fast-import: %v", err)
	}
	p.git(p.work(), "clone", "--quiet", "--no-local", origin, p.dir)
	return p
}

// writeCommit writes a commit in the language of git fast-import.
func writeCommit(w interface{ Write([]byte) (int, error) }, files int) {
	rnd := rand.New(rand.NewPCG(7, uint64(files)))
	var b bytes.Buffer
	b.WriteString("commit refs/heads/main\ncommitter Ada <ada@example.com> 1767323045 +0000\ndata 5\nfirst\n")
	for i := range files {
		text := content(rnd, 2000+rnd.IntN(10000))
		fmt.Fprintf(&b, "M 100644 inline d%02d/e%03d/f%d.txt\ndata %d\n%s\n", i/9/64, i/9, i%9, len(text), text)
		if b.Len() > 1<<20 {
			_, _ = w.Write(b.Bytes())
			b.Reset()
		}
	}
	b.WriteString("done\n")
	_, _ = w.Write(b.Bytes())
}

// content is text that compresses about as well as source code does.
func content(rnd *rand.Rand, n int) []byte {
	words := strings.Fields("func return if err nil range package import string int for value key ctx name path this that")
	var b bytes.Buffer
	for b.Len() < n {
		b.WriteString(words[rnd.IntN(len(words))])
		if rnd.IntN(5) == 0 {
			fmt.Fprintf(&b, "%x", rnd.Uint32())
		}
		b.WriteByte(" \n\t("[rnd.IntN(4)])
	}
	return b.Bytes()[:n]
}

func (p *project) home() string       { return filepath.Join(p.top, "home") }
func (p *project) work() string       { return filepath.Join(p.top, "work") }
func (p *project) state() string      { return filepath.Join(p.home(), "state") }
func (p *project) workspaces() string { return p.dir + ".croft" }

// environ is the environment of every process. The last PATH wins.
func (p *project) environ() []string {
	// The shims of some batteries count their calls in files of their own.
	return append(slices.Clip(p.env), "PATH="+p.path, "CROFT_GIT_FENCE=off")
}

func (p *project) write(name, text string) {
	p.t.Helper()
	gittest.WriteFile(p.t, filepath.Join(p.dir, name), text)
}

// bounded is a context that ends when the test does, or when a process has
// taken too long.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// result is the outcome of a process.
type result struct {
	stdout, stderr string
	code           int // -1 if it was killed
	took           time.Duration
	err            error // it could not be run at all
}

func (r result) String() string {
	return fmt.Sprintf("exit %d %v\n%s%s", r.code, r.err, r.stdout, r.stderr)
}

// run runs a program of PATH in a process group of its own.
func (p *project) run(dir, program string, args ...string) result {
	return p.runWith(nil, dir, program, args...)
}

// runWith runs a program; began is called with its process, if it is not nil.
func (p *project) runWith(began func(*os.Process), dir, program string, args ...string) result {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if program == "croft" {
		program = filepath.Join(p.bin, "croft")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, p.environ(), &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	start := time.Now()
	err := cmd.Start()
	if err == nil {
		if began != nil {
			began(cmd.Process)
		}
		err = cmd.Wait()
	}
	r := result{stdout: stdout.String(), stderr: stderr.String(), took: time.Since(start)}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		r.code = exit.ExitCode()
	} else {
		r.err = err
	}
	if ctx.Err() != nil {
		r.err = ctx.Err()
	}
	return r
}

// git runs git and fails the test if that fails.
func (p *project) git(dir string, args ...string) string {
	p.t.Helper()
	r := p.run(dir, "git", args...)
	if r.code != 0 || r.err != nil {
		p.t.Fatalf("git %s: %v", strings.Join(args, " "), r)
	}
	return strings.TrimSuffix(r.stdout, "\n")
}

// croft runs croft in the main checkout, for an answer in JSON.
func (p *project) croft(args ...string) result { return p.run(p.dir, "croft", asJSON(args)...) }

// mustCroft runs croft and fails the test if that fails.
func (p *project) mustCroft(args ...string) answer {
	p.t.Helper()
	r := p.croft(args...)
	if r.code != 0 || r.err != nil {
		p.t.Fatalf("croft %s: %v", strings.Join(args, " "), r)
	}
	return p.answer(r)
}

// asJSON puts --json before any argument that could be its value.
func asJSON(args []string) []string { return append([]string{args[0], "--json"}, args[1:]...) }

// answer is the output of croft with --json, as far as the batteries use it.
type answer struct {
	Version    int           `json:"version"`
	Workspaces []workspace   `json:"workspaces"`
	Merges     []croft.Merge `json:"merges"`
	Kept       []struct {
		Name   string `json:"name"`
		Reason struct {
			Code croft.Code `json:"code"`
		} `json:"reason"`
	} `json:"kept"`
	Error *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

type workspace struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Branch string `json:"branch"`
	Role   string `json:"role"`
	State  string `json:"state"`
	Status string `json:"status"`
}

func (a answer) code() string {
	if a.Error == nil {
		return ""
	}
	return a.Error.Code
}

func (p *project) answer(r result) answer {
	p.t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil || a.Version != 1 {
		p.t.Fatalf("not an answer in JSON (%v): %v", err, r)
	}
	return a
}

// lines splits what a command printed; nothing gives no line.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func writeFile(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }
