//go:build unix

package battery

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// obstacle makes the last of three creations fail.
type obstacle struct {
	name   string
	code   string                         // the error that is wanted
	args   []string                       // of croft new; default: the three names
	env    []string                       // of the failing call
	set    func(t *testing.T, p *project) // sets it up
	lift   func(t *testing.T, p *project) // removes it
	isLong bool                           // only in the full form
}

// trio are the workspaces of every case.
func trio() []string { return []string{"one", "two", "three"} }

// TestAllOrNone makes the last of several creations fail in every known way. Nothing of the
// others may remain, no foreign file may be touched, and afterwards the same names must
// work.
func TestAllOrNone(t *testing.T) {
	cases := 0
	for _, o := range append(pathObstacles(), append(gitObstacles(), requestObstacles()...)...) {
		if o.isLong && !isLong() {
			continue
		}
		cases++
		t.Run(o.name, func(t *testing.T) {
			p := smallProject(t)
			if o.args == nil {
				o.args = trio()
			}
			if o.set != nil {
				o.set(t, p)
			}
			before := p.foreign()
			env := p.env
			p.env = append(slices.Clip(p.env), o.env...)
			r := p.croft(append([]string{"new"}, o.args...)...)
			p.env = env
			if a := p.answer(r); r.code == 0 || a.code() != o.code {
				t.Fatalf("want %s: %v", o.code, r)
			}
			requireSame(t, "after the failure", before, p.foreign())
			if left, _ := os.ReadDir(filepath.Join(p.state(), "ops")); len(left) > 0 {
				t.Errorf("operations left: %v", left)
			}
			if o.lift != nil {
				o.lift(t, p)
			}
			requireTrio(t, p)
		})
	}
	report(t, "all-or-none", "%d ways to fail the third of three creations: nothing of the others remained, nothing foreign was touched, the same names worked afterwards", cases)
}

// requireTrio creates the three workspaces and checks that they are whole.
func requireTrio(t *testing.T, p *project) {
	t.Helper()
	requireMade(t, p, p.croft(append([]string{"new"}, trio()...)...))
}

// requireMade checks the answer of a croft new of the trio, and the project.
func requireMade(t *testing.T, p *project, r result) {
	t.Helper()
	if r.code != 0 || len(p.answer(r).Workspaces) != 3 {
		t.Fatalf("the same names again: %v", r)
	}
	for _, w := range p.answer(r).Workspaces {
		if s := p.git(w.Path, "status", "--porcelain"); s != "" {
			t.Errorf("%s is not clean: %s", w.Name, s)
		}
	}
	if list := p.mustCroft("list").Workspaces; len(list) != 3 {
		t.Errorf("%d workspaces are listed, want 3", len(list))
	}
	if n := len(lines(p.git(p.dir, "worktree", "list"))); n != 4 {
		t.Errorf("git lists %d worktrees, want 4", n)
	}
	if f := p.run(p.dir, "git", "fsck", "--no-dangling", "--no-progress"); f.code != 0 {
		t.Errorf("git fsck: %v", f)
	}
	p.requireNoOperation()
}

func pathObstacles() []obstacle {
	at := func(p *project) string { return filepath.Join(p.workspaces(), "three") }
	place := func(put func(path string) error) func(*testing.T, *project) {
		return func(t *testing.T, p *project) {
			t.Helper()
			if err := os.MkdirAll(p.workspaces(), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := put(at(p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	lift := func(t *testing.T, p *project) {
		t.Helper()
		if err := os.RemoveAll(at(p)); err != nil {
			t.Fatal(err)
		}
	}
	file := func(path string) error { return os.WriteFile(path, []byte("mine"), 0o644) }
	dir := func(path string) error { return os.Mkdir(path, 0o755) }
	return []obstacle{
		{name: "path taken by a file", code: "WORKTREE_EXISTS", set: place(file), lift: lift},
		{name: "path taken by an empty directory", code: "WORKTREE_EXISTS", set: place(dir), lift: lift},
		{name: "path taken by a directory with files", code: "WORKTREE_EXISTS", lift: lift, set: place(func(path string) error {
			if err := dir(path); err != nil {
				return err
			}
			return file(filepath.Join(path, "mine"))
		})},
		{name: "path taken by a link to a directory", code: "WORKTREE_EXISTS", lift: lift, set: place(func(path string) error {
			return os.Symlink("../app/src", path)
		})},
		{name: "path taken by a link to nothing", code: "WORKTREE_EXISTS", lift: lift, set: place(func(path string) error {
			return os.Symlink("nowhere", path)
		})},
		{
			name: "the directory for workspaces is a file", code: "NOT_WRITABLE",
			set:  func(t *testing.T, p *project) { mustDo(t, file(p.workspaces())) },
			lift: func(t *testing.T, p *project) { mustDo(t, os.Remove(p.workspaces())) },
		},
	}
}

func mustDo(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func gitObstacles() []obstacle {
	branch := func(name string) func(*testing.T, *project) {
		return func(_ *testing.T, p *project) { p.git(p.dir, "branch", name) }
	}
	noBranch := func(name string) func(*testing.T, *project) {
		return func(_ *testing.T, p *project) { p.git(p.dir, "branch", "-D", name) }
	}
	blob := func(p *project) string {
		oid := p.git(p.dir, "rev-parse", "main:src/main.txt")
		return filepath.Join(p.dir, ".git", "objects", oid[:2], oid[2:])
	}
	lock := func(p *project) string { return filepath.Join(p.dir, ".git", "refs", "heads", "croft", "three.lock") }
	return []obstacle{
		{name: "branch taken", code: "BRANCH_EXISTS", set: branch("croft/three"), lift: noBranch("croft/three")},
		{
			name: "branch taken and packed", code: "BRANCH_EXISTS", lift: noBranch("croft/three"),
			set: func(t *testing.T, p *project) {
				branch("croft/three")(t, p)
				p.git(p.dir, "pack-refs", "--all")
			},
		},
		{name: "branch blocked by one below", code: "BRANCH_BLOCKED", set: branch("croft/three/x"), lift: noBranch("croft/three/x")},
		{name: "branch blocked by one above", code: "BRANCH_BLOCKED", set: branch("croft"), lift: noBranch("croft")},
		{
			name: "a file of the commit is missing", code: "GIT_FAILED",
			set:  func(t *testing.T, p *project) { mustDo(t, os.Rename(blob(p), blob(p)+".away")) },
			lift: func(t *testing.T, p *project) { mustDo(t, os.Rename(blob(p)+".away", blob(p))) },
		},
		{
			name: "a required filter that may not run", code: "FILTER_REFUSED",
			set: func(t *testing.T, p *project) {
				p.write(".git/info/attributes", "*.txt filter=mine\n")
				p.git(p.dir, "config", "filter.mine.required", "true")
				p.git(p.dir, "config", "filter.mine.smudge", "cat")
			},
			lift: func(t *testing.T, p *project) {
				mustDo(t, os.Remove(filepath.Join(p.dir, ".git", "info", "attributes")))
			},
		},
		{
			// git waits ten seconds for such a lock.
			name: "a ref that somebody has locked", code: "GIT_FAILED", isLong: true,
			set: func(t *testing.T, p *project) {
				mustDo(t, os.MkdirAll(filepath.Dir(lock(p)), 0o755))
				mustDo(t, os.WriteFile(lock(p), nil, 0o644))
			},
			lift: func(t *testing.T, p *project) { mustDo(t, os.Remove(lock(p))) },
		},
	}
}

func requestObstacles() []obstacle {
	swarm := func(names ...string) []string {
		return append([]string{"--layout", "swarm", "--session", "s1"}, names...)
	}
	return []obstacle{
		{name: "role missing", code: "ROLE_NOT_FOUND", args: swarm("tester", "writer", "nobody")},
		{
			name: "role file cannot be written", code: "NOT_WRITABLE", args: append([]string{"--role", "writer"}, trio()...),
			set: func(t *testing.T, p *project) {
				p.write("CLAUDE.md/x", "a directory where the role has a file")
				p.git(p.dir, "add", "--all")
				p.git(p.dir, "commit", "--quiet", "--message", "a directory")
			},
		},
		{
			name: "path taken in the main checkout", code: "WORKTREE_EXISTS", args: append([]string{"--layout", "agents"}, trio()...),
			set:  func(t *testing.T, p *project) { p.write(".worktrees/three/mine", "mine") },
			lift: func(t *testing.T, p *project) { mustDo(t, os.RemoveAll(filepath.Join(p.dir, ".worktrees"))) },
		},
		{name: "limit reached", code: "LIMIT_REACHED", env: []string{"MAX_WORKERS=2"}},
		{name: "name twice", code: "WORKTREE_EXISTS", args: []string{"one", "two", "two"}},
		{name: "name refused", code: "INVALID_NAME", args: []string{"one", "two", "../three"}},
		{name: "base unknown", code: "BASE_NOT_FOUND", args: append([]string{"--base", "nowhere"}, trio()...)},
		{name: "no room by the limits", code: "NO_SPACE", env: []string{"CROFT_LIMITS_MIN_FREE_BYTES=1125899906842624"}},
		{name: "no inodes by the limits", code: "NO_SPACE", env: []string{"CROFT_LIMITS_MIN_FREE_INODES=1099511627776"}},
	}
}
