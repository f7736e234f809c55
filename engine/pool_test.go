package engine_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// fillPool fills the pool of a project, and wants as many checkouts in it.
func fillPool(t *testing.T, e croft.Service, want int) *croft.Pool {
	t.Helper()
	p, err := e.ChangePool(t.Context(), croft.ChangePoolRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Spares) != want {
		t.Fatalf("%d checkouts in stock, want %d: %s", len(p.Spares), want, p.Why)
	}
	return p
}

// created makes a workspace, and wants its files to come from where they should.
func created(t *testing.T, e croft.Service, name string, by croft.MadeBy) *croft.Workspace {
	t.Helper()
	w, err := e.Create(t.Context(), croft.CreateRequest{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if w.MadeBy != by && !strings.Contains(w.MadeWhy, "the attributes of files differ") {
		t.Fatalf("%s was made by %s (%s), want %s", name, w.MadeBy, w.MadeWhy, by)
	}
	return w
}

// TestPoolStartsNoGit: a workspace from the stock takes no process, in a clone as in a project without a remote.
func TestPoolStartsNoGit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere no spare is copied, and no script may stand for git")
	}
	for _, from := range []string{"no remote", "a clone"} {
		r := gittest.New(t)
		if from == "a clone" {
			origin := gittest.New(t)
			r.Git("remote", "add", "origin", origin.Dir)
			r.Git("fetch", "--quiet")
			r.Git("reset", "--quiet", "--hard", "origin/main")
			r.Git("branch", "--quiet", "--set-upstream-to=origin/main")
		}
		env, log := loggedGit(t, r)
		unfenced := map[string]string{"git.fence": "off"} // a git that is fenced cannot write the log
		first := open(t, r.Dir, &engine.Options{Environ: env, Settings: unfenced})
		fillPool(t, first, 3)
		created(t, first, "warm", croft.MadeFromPool)
		if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), "read-tree") || !strings.Contains(string(b), "diff-files") {
			t.Fatalf("the test does not see git: %q, %v", b, err)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
		second := open(t, r.Dir, &engine.Options{Environ: env, Settings: unfenced}) // as another command
		w := created(t, second, "one", croft.MadeFromPool)
		if b, err := os.ReadFile(log); err == nil {
			t.Errorf("%s: git was started: %s", from, b)
		}
		if got := r.GitIn(w.Path, "status", "--porcelain=v2", "--branch"); !strings.Contains(got, "# branch.head croft/one") {
			t.Errorf("%s: %s", from, got)
		}
	}
}

// checkoutOf is all that a fresh checkout consists of, as git and the file system say it.
func checkoutOf(t *testing.T, r *gittest.Repo, dir string) map[string]string {
	t.Helper()
	got := map[string]string{
		"/staged": r.GitIn(dir, "ls-files", "--stage", "-v", "--eol"), "/status": r.GitIn(dir, "status", "--porcelain=v2", "--untracked-files=all", "--ignored"),
		"/tree": r.GitIn(dir, "write-tree"), "/diff": r.GitIn(dir, "diff", "HEAD"),
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(dir, ".git") || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(b)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + to
		}
		got[strings.TrimPrefix(path, dir)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestPoolEqualsGit: a workspace from the pool, a copy of the last checkout, and one that is brought to another commit
// are what "git worktree add" makes, in random repositories.
func TestPoolEqualsGit(t *testing.T) {
	n := 12
	if os.Getenv("CROFT_LONG") != "" {
		n = 1000
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			r := gittest.Empty(t)
			if rnd.IntN(4) == 0 {
				r.Git("config", "core.autocrlf", "input")
			}
			if rnd.IntN(4) == 0 {
				r.Git("config", "index.version", "4")
			}
			growRandomly(t, r, rnd)
			e := engineIn(t, r, 0)
			fillPool(t, e, 3)
			for i, by := range []croft.MadeBy{croft.MadeFromPool, croft.MadeFromPool, croft.MadeByCopy} {
				if i == 1 || i == 2 && rnd.IntN(2) == 0 {
					growRandomly(t, r, rnd) // what is in stock has another commit
				}
				wantAsGit(t, r, created(t, e, fmt.Sprint("w", i), by))
			}
			fillPool(t, e, 3)
			wantAsGit(t, r, created(t, e, "again", croft.MadeFromPool))
		})
	}
}

func wantAsGit(t *testing.T, r *gittest.Repo, w *croft.Workspace) {
	t.Helper()
	dir := r.Beside("git-" + w.Name)
	r.Git("worktree", "add", "--quiet", "-b", "git-"+w.Name, dir, w.Base)
	if diff := cmp.Diff(checkoutOf(t, r, dir), checkoutOf(t, r, w.Path)); diff != "" {
		t.Errorf("%s (%s) is not what git makes (-git +croft):\n%s", w.Name, w.MadeBy, diff)
	}
	if got := r.GitIn(w.Path, "symbolic-ref", "HEAD"); got != "refs/heads/"+w.Branch {
		t.Errorf("%s has %s checked out", w.Name, got)
	}
	r.GitIn(w.Path, "fsck", "--no-dangling")
}

// growRandomly commits random changes: new files, changed, deleted and renamed ones, links, modes, empty files, deep
// directories, odd names, attributes and submodules.
func growRandomly(t *testing.T, r *gittest.Repo, rnd *rand.Rand) {
	t.Helper()
	dirs := []string{"", "a", "a/b", "a/b/c d", "ä", strings.Repeat("deep/", 12) + "end", strings.Repeat("n", 200)}
	for range 5 + rnd.IntN(25) {
		name := filepath.Join(r.Dir, dirs[rnd.IntN(len(dirs))], fmt.Sprintf("f %d", rnd.IntN(20)))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		_ = os.RemoveAll(name)
		text := strings.Repeat(fmt.Sprintf("line %d\n", rnd.IntN(9)), rnd.IntN(2000))
		switch rnd.IntN(8) {
		case 0:
			if err := os.Symlink([]string{"f 1", "../nowhere", "/nowhere/at/all"}[rnd.IntN(3)], name); err != nil {
				t.Fatal(err)
			}
		case 1:
			gittest.WriteFile(t, name, text)
			if err := os.Chmod(name, 0o755); err != nil {
				t.Fatal(err)
			}
		case 2:
			gittest.WriteFile(t, name, "")
		case 3: // it is gone
		case 4:
			gittest.WriteFile(t, name, strings.Repeat("\x00\xff", rnd.IntN(100_000)))
		default:
			gittest.WriteFile(t, name, text)
		}
	}
	if rnd.IntN(3) == 0 {
		gittest.WriteFile(t, filepath.Join(r.Dir, ".gitattributes"), []string{"* text=auto\n", "a/** eol=crlf text\n", "*.x ident\n"}[rnd.IntN(3)])
	}
	if rnd.IntN(3) == 0 {
		gittest.WriteFile(t, filepath.Join(r.Dir, ".gitignore"), "*.log\nout/\n")
	}
	gittest.WriteFile(t, filepath.Join(r.Dir, "count"), fmt.Sprint(rnd.Uint64()))
	r.Git("add", "--all")
	if rnd.IntN(3) == 0 {
		r.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",module")
	}
	r.Git("commit", "--quiet", "-m", "grown")
}

// TestPoolIsTheUsers: what has happened to the pool since it was filled is noticed, and nothing of it is handed out.
func TestPoolIsTheUsers(t *testing.T) {
	elsewhere := func(t *testing.T, p *croft.Pool) string { return filepath.Join(filepath.Dir(p.Path), "elsewhere") }
	for name, harm := range map[string]func(t *testing.T, p *croft.Pool){
		"a file was deleted": func(t *testing.T, p *croft.Pool) {
			eachSpare(t, p, func(dir string) error { return os.Remove(filepath.Join(dir, "README.md")) })
		},
		"a file was written": func(t *testing.T, p *croft.Pool) {
			eachSpare(t, p, func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "README.md"), []byte("forged\n"), 0o600)
			})
		},
		"a file is a link now": func(t *testing.T, p *croft.Pool) {
			eachSpare(t, p, func(dir string) error {
				f := filepath.Join(dir, "README.md")
				return joined(os.Remove(f), os.Symlink("/nowhere/at/all", f))
			})
		},
		"the directories are copies": func(t *testing.T, p *croft.Pool) {
			eachSpare(t, p, func(dir string) error {
				return joined(os.CopyFS(dir+".copy", os.DirFS(dir)), os.RemoveAll(dir), os.Rename(dir+".copy", dir))
			})
		},
		"the directories are links": func(t *testing.T, p *croft.Pool) {
			eachSpare(t, p, func(dir string) error {
				return joined(os.Rename(dir, elsewhere(t, p)+filepath.Base(dir)), os.Symlink(elsewhere(t, p)+filepath.Base(dir), dir))
			})
		},
		"the directories are gone": func(t *testing.T, p *croft.Pool) { eachSpare(t, p, os.RemoveAll) },
		"the pool is a link": func(t *testing.T, p *croft.Pool) {
			check(t, joined(os.Rename(p.Path, elsewhere(t, p)), os.Symlink(elsewhere(t, p), p.Path)))
		},
		"the pool is gone": func(t *testing.T, p *croft.Pool) { check(t, os.RemoveAll(p.Path)) },
		"the pool is somebody's file": func(t *testing.T, p *croft.Pool) {
			check(t, joined(os.RemoveAll(p.Path), os.WriteFile(p.Path, []byte("mine\n"), 0o600)))
		},
		"the directories were renamed": func(t *testing.T, p *croft.Pool) {
			eachSpare(t, p, func(dir string) error { return os.Rename(dir, dir+"x") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write("README.md", "read me\n")
			r.Commit("more")
			e := engineIn(t, r, 0)
			p := fillPool(t, e, 3)
			harm(t, p)
			before := filesAt(t, elsewhere(t, p))
			for _, name := range []string{"a", "b"} {
				w := created(t, e, name, croft.MadeByGit)
				wantAsGit(t, r, w)
			}
			_, _ = e.ChangePool(t.Context(), croft.ChangePoolRequest{})
			wantAsGit(t, r, created(t, e, "c", poolOrGit(t, e)))
			if diff := cmp.Diff(before, filesAt(t, elsewhere(t, p))); diff != "" {
				t.Errorf("what is not Croft's any more was changed:\n%s", diff)
			}
		})
	}
}

// poolOrGit returns where the files of the next workspace come from, by what is in stock.
func poolOrGit(t *testing.T, e croft.Service) croft.MadeBy {
	t.Helper()
	p, err := e.Pool(t.Context(), croft.PoolRequest{})
	if err != nil || len(p.Spares) == 0 {
		return croft.MadeByGit
	}
	return croft.MadeFromPool
}

// filesAt lists the files below a directory that need not exist.
func filesAt(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	matches, err := filepath.Glob(dir + "*")
	check(t, err)
	for _, top := range matches {
		check(t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				b, rerr := os.ReadFile(path)
				got[path], err = string(b), rerr
			}
			return err
		}))
	}
	return got
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// joined returns the first error.
func joined(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func eachSpare(t *testing.T, p *croft.Pool, act func(dir string) error) {
	t.Helper()
	entries, err := os.ReadDir(p.Path)
	check(t, err)
	if len(entries) != len(p.Spares) {
		t.Fatalf("%d directories, %d checkouts", len(entries), len(p.Spares))
	}
	for _, e := range entries {
		check(t, act(filepath.Join(p.Path, e.Name())))
	}
}

// TestPoolFallsBack: where the files cannot be made in advance git writes them, and the reason is recorded.
func TestPoolFallsBack(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(r *gittest.Repo)
		with map[string]string
		why  string
	}{
		"off":    {with: map[string]string{"pool.size": "0"}, why: "pool.size is 0"},
		"sparse": {set: func(r *gittest.Repo) { r.Git("sparse-checkout", "set", "a") }, why: "the project's checkout is sparse"},
		"a filter": {set: func(r *gittest.Repo) {
			r.Git("config", "filter.up.clean", "cat")
			r.Git("config", "filter.up.smudge", "cat")
		}, why: "a content filter is configured"},
		"limits": {with: map[string]string{"pool.max_inodes": "1"}, why: "the pool is empty"},
		"line endings that differ in any checkout": {set: func(r *gittest.Repo) {
			r.Write("crlf", "a\r\n")
			r.Commit("crlf")
			r.Write(".gitattributes", "crlf text eol=lf\n")
			r.Git("add", ".gitattributes")
			r.Git("commit", "--quiet", "-m", "attributes")
		}, why: "the pool is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write("a/f", "1\n")
			r.Write("b/f", "2\n")
			r.Commit("files")
			if c.set != nil {
				c.set(r)
			}
			e := engineWith(t, r, c.with)
			if p := fillPool(t, e, 0); p.Why == "" {
				t.Error("the pool does not say why it is empty")
			}
			if w := created(t, e, "w", croft.MadeByGit); w.MadeWhy != c.why {
				t.Errorf("made by git because of %q, want %q", w.MadeWhy, c.why)
			}
			if entries, _ := os.ReadDir(r.Beside(filepath.Base(r.Dir) + ".croft/.pool")); len(entries) > 0 {
				t.Errorf("%d directories were left in the pool", len(entries))
			}
		})
	}
}

func engineWith(t *testing.T, r *gittest.Repo, settings map[string]string) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), r.Dir, &engine.Options{Environ: r.Env, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestPoolFollowsSettings: what was written with other line endings is not handed out.
func TestPoolFollowsSettings(t *testing.T) {
	r := gittest.New(t)
	r.Write("f", "a\nb\n")
	r.Commit("f")
	e := engineIn(t, r, 0)
	fillPool(t, e, 3)
	r.Git("config", "core.autocrlf", "true")
	w := created(t, e, "w", croft.MadeByGit)
	if got := read(t, filepath.Join(w.Path, "f")); got != "a\r\nb\r\n" {
		t.Errorf("%q", got)
	}
	fillPool(t, e, 3)
	w = created(t, e, "x", croft.MadeFromPool)
	if got := read(t, filepath.Join(w.Path, "f")); got != "a\r\nb\r\n" {
		t.Errorf("%q", got)
	}
}

// TestPoolGoes: cleaning everything, and uninstalling, leave nothing of the pool.
func TestPoolGoes(t *testing.T) {
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	p := fillPool(t, e, 3)
	if _, err := e.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(p.Path)); !os.IsNotExist(err) {
		t.Errorf("after clean: %v", err)
	}
	fillPool(t, e, 3)
	if _, err := e.Uninstall(t.Context(), croft.UninstallRequest{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(p.Path)); !os.IsNotExist(err) {
		t.Errorf("after uninstall: %v", err)
	}
}
