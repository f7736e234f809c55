package git

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// tree lists everything below a directory, as path → kind and content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		switch {
		case d.IsDir():
			found[rel] = "directory"
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[rel] = "-> " + target
			return err
		default:
			b, err := os.ReadFile(path)
			found[rel] = string(b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAddIsAcceptedByGit(t *testing.T) {
	for _, branch := range []string{"", "feature/x"} {
		t.Run("branch "+branch, func(t *testing.T) {
			r := gittest.New(t)
			head := r.Git("rev-parse", "HEAD")
			if branch != "" {
				r.Git("branch", branch)
			}
			repo := open(t, r)
			path := r.Beside("a b")
			w, err := repo.Add(t.Context(), worktree.AddSpec{Admin: "croft-1", Path: path, Branch: branch, Head: head, Lock: "being made"})
			if err != nil {
				t.Fatal(err)
			}
			if reason, locked, err := w.LockReason(); reason != "being made" || !locked || err != nil {
				t.Errorf("born with the lock %q, %v, %v", reason, locked, err)
			}
			if err := errors.Join(w.Checkout(t.Context(), 4), w.ClearLock()); err != nil {
				t.Fatal(err)
			}
			if !w.IsRegistered() {
				t.Error("it is not registered")
			}
			r.Git("worktree", "prune", "--expire=now")
			list, err := repo.List(t.Context())
			want := WorktreeEntry{Path: path, Head: head, Branch: branch}
			if err != nil || len(list) != 2 || list[1] != want {
				t.Errorf("after a prune git lists %+v, %v, want %+v", list, err, want)
			}
			if out := r.Git("worktree", "repair") + r.Git("fsck", "--strict"); out != "" {
				t.Errorf("git finds something to repair: %s", out)
			}
			if out := r.GitIn(path, "status", "--porcelain", "--ignored"); out != "" {
				t.Errorf("status: %s", out)
			}
			if got := r.GitIn(path, "rev-parse", "--show-toplevel"); got != path {
				t.Errorf("git takes %s for the top", got)
			}
			gittest.WriteFile(t, filepath.Join(path, "new"), "")
			r.GitIn(path, "add", "new")
			r.GitIn(path, "commit", "--quiet", "-m", "new")
			if r.GitIn(path, "rev-parse", "HEAD~1") != head || r.GitIn(path, "reflog", "show", "HEAD") == "" {
				t.Error("a commit there did not work as it does elsewhere")
			}
			r.Git("worktree", "move", path, r.Beside("moved"))
			r.Git("worktree", "remove", r.Beside("moved"))
			if exists(w.Admin) {
				t.Error("git removed it, but not its admin directory")
			}
		})
	}
}

func TestAddEqualsGit(t *testing.T) {
	r := gittest.New(t)
	r.Git("branch", "one")
	r.Git("branch", "two")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "door")
	r.Git("worktree", "add", "--quiet", "-b", "plain", r.Beside("plain"))
	admin := filepath.Join(r.Dir, ".git", "worktrees")
	ours, theirs := tree(t, w.Admin), tree(t, filepath.Join(admin, "plain"))
	for _, name := range []string{"index", "ORIG_HEAD", "HEAD", "gitdir"} {
		if ours[name] == "" || theirs[name] == "" {
			t.Errorf("%s: ours %q, theirs %q", name, ours[name], theirs[name])
		}
	}
	if ours["commondir"] != theirs["commondir"] {
		t.Errorf("commondir: ours %q, theirs %q", ours["commondir"], theirs["commondir"])
	}
	if got, want := ours["gitdir"], strings.Replace(theirs["gitdir"], "/plain/", "/door/", 1); got != want {
		t.Errorf("gitdir: ours %q, theirs %q", got, want)
	}
}

func TestAddRefusesWhatIsThere(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	head := r.Git("rev-parse", "HEAD")
	for name, put := range map[string]func(path string) error{
		"file":            func(p string) error { return os.WriteFile(p, []byte("mine"), 0o644) },
		"empty directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"directory":       func(p string) error { return os.MkdirAll(filepath.Join(p, "mine"), 0o755) },
		"dangling link":   func(p string) error { return os.Symlink("nowhere", p) },
		"link":            func(p string) error { return os.Symlink(r.Dir, p) },
	} {
		path := r.Beside(name)
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		before := tree(t, filepath.Dir(path))
		if _, err := repo.Add(t.Context(), worktree.AddSpec{Admin: "croft-1", Path: path, Head: head}); !errors.Is(err, worktree.ErrExists) {
			t.Errorf("%s: %v, want ErrExists", name, err)
		}
		if diff := cmp.Diff(before, tree(t, filepath.Dir(path))); diff != "" {
			t.Errorf("%s: something changed (-before +after):\n%s", name, diff)
		}
		if err := repo.Linked("croft-1", path).Discard(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(before, tree(t, filepath.Dir(path))); diff != "" {
			t.Errorf("%s: Discard changed something (-before +after):\n%s", name, diff)
		}
	}
}

// addSteps are the states in which a crash can leave Add, each on top of the
// one before.
func addSteps(t *testing.T, repo *Repository, s worktree.AddSpec) []struct {
	name string
	do   func() error
} {
	t.Helper()
	w, staging, tmp := repo.Linked(s.Admin, s.Path), stagingDir(repo, s.Admin), worktree.TempPath(s)
	write := func(file, text string) func() error {
		return func() error { return os.WriteFile(file, []byte(text), 0o644) }
	}
	return []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"staging directory", func() error { return os.MkdirAll(staging, 0o755) }},
		{"a file in it", write(filepath.Join(staging, "HEAD"), s.Head)},
		{"admin directory", func() error { return repo.AddAdmin(&w.Worktree.Worktree, s) }},
		{"temporary directory", func() error { return os.Mkdir(tmp, 0o755) }},
		{"record of it", func() error {
			made, err := fsx.IdentityOf(tmp)
			return errors.Join(err, repo.Made().Put(s.Admin, fsx.Made{Path: s.Path, Identity: made}))
		}},
		{"empty file in it", write(filepath.Join(tmp, ".git"), "")},
		{"half a file in it", write(filepath.Join(tmp, ".git"), w.PointerText()[:20])},
		{"whole file in it", write(filepath.Join(tmp, ".git"), w.PointerText())},
		{"checkout", func() error { return os.Rename(tmp, s.Path) }},
		{"a half of the files", write(filepath.Join(s.Path, "README.md"), "#")},
		{"lock of the index", write(filepath.Join(w.Admin, "index.lock"), "")},
		{"all files", func() error {
			return errors.Join(os.Remove(filepath.Join(w.Admin, "index.lock")), w.Checkout(t.Context(), 1))
		}},
	}
}

// userTree lists what a rolled back Add must leave unchanged: everything except Croft's
// directories, which may stay, empty.
func userTree(t *testing.T, r *gittest.Repo) map[string]string {
	t.Helper()
	m := tree(t, filepath.Dir(r.Dir))
	for _, ours := range []string{"app/.git/croft", "app/.git/croft/staging", "app/.git/croft/writers", "app/.git/worktrees"} {
		delete(m, filepath.FromSlash(ours))
	}
	return m
}

func TestDiscardAfterEveryStep(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	gittest.WriteFile(t, r.Beside("neighbour/file"), "mine")
	r.Git("worktree", "add", "--quiet", "-b", "other", r.Beside("other"))
	before := userTree(t, r)
	s := worktree.AddSpec{Admin: "croft-1", Path: r.Beside("wt"), Head: r.Git("rev-parse", "HEAD"), Lock: "being made"}
	for n, last := range addSteps(t, repo, s) {
		for _, step := range addSteps(t, repo, s)[:n+1] {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
		}
		if n > 0 && cmp.Equal(before, userTree(t, r)) && last.name != "staging directory" {
			t.Errorf("%s: the step did nothing", last.name)
		}
		if _, err := r.TryGit(r.Dir, "worktree", "list"); err != nil {
			t.Errorf("after %s git cannot list worktrees: %v", last.name, err)
		}
		for range 2 {
			if err := repo.Linked(s.Admin, s.Path).Discard(); err != nil {
				t.Errorf("after %s: %v", last.name, err)
			}
		}
		if diff := cmp.Diff(before, userTree(t, r)); diff != "" {
			t.Errorf("after %s (-before +after):\n%s", last.name, diff)
		}
		if _, err := repo.Add(t.Context(), s); err != nil {
			t.Errorf("after %s it cannot be made again: %v", last.name, err)
		}
		if err := repo.Linked(s.Admin, s.Path).Discard(); err != nil {
			t.Error(err)
		}
	}
}

// TestDiscardKeepsForeignFiles puts a file of the user's into each place where Add would
// write, at each step.
func TestDiscardKeepsForeignFiles(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	s := worktree.AddSpec{Admin: "croft-1", Path: r.Beside("wt"), Head: r.Git("rev-parse", "HEAD"), Lock: "being made"}
	w := repo.Linked(s.Admin, s.Path)
	foreign := map[string]func(dir string){
		"directory":  func(dir string) { gittest.WriteFile(t, filepath.Join(dir, "file"), "mine") },
		"repository": func(dir string) { r.Git("init", "--quiet", dir) },
		"other worktree": func(dir string) {
			gittest.WriteFile(t, filepath.Join(dir, ".git"), "gitdir: /elsewhere/worktrees/croft-1\n")
		},
		"link to our own": func(dir string) {
			gittest.WriteFile(t, r.Beside("far/.git"), w.PointerText())
			gittest.WriteFile(t, r.Beside("far/file"), "mine")
			if err := os.Symlink(r.Beside("far"), dir); err != nil {
				t.Fatal(err)
			}
		},
		"one that calls itself ours": func(dir string) {
			gittest.WriteFile(t, filepath.Join(dir, ".git"), w.PointerText())
			gittest.WriteFile(t, filepath.Join(dir, "file"), "mine")
		},
		"file": func(dir string) { gittest.WriteFile(t, dir, "mine") },
	}
	for _, place := range []string{s.Path, worktree.TempPath(s), r.Beside("croft-1")} {
		for name, put := range foreign {
			for n, step := range addSteps(t, repo, s)[:4] { // up to the admin directory
				for _, step := range addSteps(t, repo, s)[:n+1] {
					if err := step.do(); err != nil {
						t.Fatal(err)
					}
				}
				put(place) // it appears between two steps
				before := tree(t, filepath.Dir(r.Dir))
				if err := w.Discard(); err != nil {
					t.Errorf("%s at %s after %s: %v", name, filepath.Base(place), step.name, err)
				}
				after := tree(t, filepath.Dir(r.Dir))
				for path, text := range before {
					if !strings.HasPrefix(path, filepath.FromSlash("app/.git/")) && after[path] != text {
						t.Errorf("%s at %s after %s: %s is gone or changed", name, filepath.Base(place), step.name, path)
					}
				}
				if exists(w.Admin) {
					t.Errorf("%s at %s after %s: the admin directory is still there", name, filepath.Base(place), step.name)
				}
				if err := errors.Join(os.RemoveAll(place), os.RemoveAll(r.Beside("far"))); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestDiscardKeepsAnotherWorktreeOfThatName(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	other := addWorktree(t, r, repo, "1")
	s := worktree.AddSpec{Admin: "croft-1", Path: r.Beside("wt"), Head: r.Git("rev-parse", "HEAD")}
	if _, err := repo.Add(t.Context(), s); !errors.Is(err, worktree.ErrExists) {
		t.Errorf("Add: %v, want ErrExists", err)
	}
	if err := repo.Linked("croft-1", s.Path).Discard(); err != nil {
		t.Error(err)
	}
	if !other.IsRegistered() || len(statusOf(t, other, UntrackedAll)) > 0 {
		t.Error("the other worktree is damaged")
	}
	if exists(stagingDir(repo, "croft-1")) || exists(worktree.TempPath(s)) {
		t.Error("something of the failed one stayed")
	}
}

// TestDeregisterBesideListing: while a git process runs that may have seen the registration
// and is about to read it, Deregister waits before it moves the directory.
func TestDeregisterBesideListing(t *testing.T) {
	r := gittest.New(t)
	w := addWorktree(t, r, open(t, r), "wt")
	other := exec.CommandContext(t.Context(), "git", "hash-object", "--stdin")
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := w.Deregister(filepath.Join(r.Home, "admin")); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took < listingTime {
		t.Errorf("it went after %v", took)
	}
	if err := errors.Join(stdin.Close(), other.Wait()); err != nil {
		t.Error(err)
	}
}

func TestHalves(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	check := func(step string, want Half) {
		t.Helper()
		if got := w.Halves(); got != want {
			t.Errorf("%s: %+v, want %+v", step, got, want)
		}
		if w.IsRegistered() != want.Admin || w.Owns(w.Path) != want.Checkout {
			t.Errorf("%s: Registered %v, Owns %v", step, w.IsRegistered(), w.Owns(w.Path))
		}
	}
	check("whole", Half{true, true, true})
	away := filepath.Join(r.Home, "admin")
	if err := w.Deregister(away); err != nil {
		t.Fatal(err)
	}
	check("deregistered", Half{true, true, false})
	if list, err := repo.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("git still lists %+v, %v", list, err)
	}
	// A gc that had seen the directory makes a part of it again.
	debris := func() {
		t.Helper()
		gittest.WriteFile(t, filepath.Join(w.Admin, "logs", "HEAD.lock"), "")
		gittest.WriteFile(t, filepath.Join(w.Admin, "HEAD.lock"), "")
	}
	debris()
	if hollow, err := repo.BrokenAdmins(); err != nil || len(hollow) != 0 {
		t.Errorf("HollowAdmins = %v, %v: git does not mind it", hollow, err)
	}
	if err := w.Deregister(away); err != nil {
		t.Errorf("again: %v", err)
	}
	if _, err := os.Lstat(w.Admin); err == nil {
		t.Error("the remains are still there")
	}
	debris()
	repo.DeleteEmptyAdmins("another", 0)
	if _, err := os.Lstat(w.Admin); err != nil {
		t.Error(err)
	}
	repo.DeleteEmptyAdmins("", time.Hour)
	if _, err := os.Lstat(w.Admin); err != nil {
		t.Error(err)
	}
	repo.DeleteEmptyAdmins("", 0)
	if _, err := os.Lstat(w.Admin); err == nil {
		t.Error("the remains are still there")
	}
	debris()
	stowed := filepath.Join(r.Home, "stowed")
	if err := os.Rename(w.Path, stowed); err != nil {
		t.Fatal(err)
	}
	if err := w.Reregister(away, stowed, "a reason"); err != nil {
		t.Fatal(err)
	}
	check("registered again", Half{true, true, true})
	if got := tree(t, w.Admin); got["index"] == "" {
		t.Errorf("the admin directory is not whole: %v", got)
	}
	if err := w.Deregister(away); err != nil {
		t.Fatal(err)
	}
	moved := repo.worktreeOf(worktree.Worktree{Path: w.Path, Admin: away})
	if got := tree(t, away); got["gitdir"] == "" || got["index"] == "" || got["HEAD.lock"] != "" || !moved.Names(w.Path) {
		t.Errorf("the admin directory is not whole: %v", got)
	}
	gittest.WriteFile(t, filepath.Join(w.Path, ".git"), "gitdir: /elsewhere\n")
	check("somebody else's", Half{Path: true})
	if err := os.RemoveAll(w.Path); err != nil {
		t.Fatal(err)
	}
	check("nothing", Half{})
}

func TestRegister(t *testing.T) {
	r := gittest.New(t)
	head := r.Git("rev-parse", "HEAD")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), "changed\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "new"), "")
	want := statusOf(t, w, UntrackedAll)
	for _, tt := range []struct{ name, branch, head string }{{"on its branch", "wt", "wt"}, {"its branch is gone", "gone", ""}} {
		if err := os.RemoveAll(w.Admin); err != nil {
			t.Fatal(err)
		}
		if err := w.Register(t.Context(), worktree.AddSpec{Admin: "croft-wt", Path: w.Path, Branch: tt.branch, Head: head}); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(want, statusOf(t, w, UntrackedAll)); diff != "" {
			t.Errorf("%s: status (-before +after):\n%s", tt.name, diff)
		}
		if branch, oid, err := repo.RefSnapshot().Head(w.Admin); branch != tt.head || oid != head || err != nil {
			t.Errorf("%s: HEAD is %q, %s, %v", tt.name, branch, oid, err)
		}
		if _, locked, err := w.LockReason(); locked || err != nil {
			t.Errorf("%s: locked %v, %v", tt.name, locked, err)
		}
	}
	if err := w.Register(t.Context(), worktree.AddSpec{Admin: "croft-wt", Path: w.Path, Head: head}); !errors.Is(err, worktree.ErrExists) {
		t.Errorf("what is registered: %v, want ErrExists", err)
	}
	foreign := r.Beside("foreign")
	gittest.WriteFile(t, filepath.Join(foreign, ".git"), "gitdir: /elsewhere\n")
	if err := repo.Linked("croft-2", foreign).Register(t.Context(), worktree.AddSpec{Admin: "croft-2", Path: foreign, Head: head}); err == nil {
		t.Error("somebody else's checkout was registered")
	}
}

func TestRegisteredByPrefix(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	if list, err := repo.Registered("croft-"); err != nil || len(list) > 0 {
		t.Errorf("none: %v, %v", list, err)
	}
	addWorktree(t, r, repo, "a")
	addWorktree(t, r, repo, "b")
	r.Git("worktree", "add", "--quiet", "-b", "mine", r.Beside("mine"))
	list, err := repo.Registered("croft-")
	var paths []string
	for _, w := range list {
		paths = append(paths, w.Path)
	}
	if want := []string{r.Beside("a"), r.Beside("b")}; err != nil || !slices.Equal(paths, want) {
		t.Errorf("%q, %v, want %q", paths, err, want)
	}
}

func TestSparseCheckoutIsCopied(t *testing.T) {
	r := gittest.New(t)
	r.Write("docs/a", "")
	r.Write("tests/b", "")
	r.Commit("more")
	r.Git("sparse-checkout", "set", "--cone", "src")
	r.Git("config", "--worktree", "core.worktree", r.Dir) // names the main checkout's directory
	repo := open(t, r)
	w := addWorktree(t, r, repo, "door")
	r.Git("worktree", "add", "--quiet", "-b", "plain", r.Beside("plain"))
	if diff := cmp.Diff(files(t, r.Beside("plain")), files(t, w.Path)); diff != "" {
		t.Errorf("checkout (-plain +door):\n%s", diff)
	}
	if exists(filepath.Join(w.Path, "docs")) || !exists(filepath.Join(w.Path, "src")) {
		t.Error("the checkout is not sparse as the main one is")
	}
	if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
		t.Errorf("status: %q", got)
	}
	if out, err := r.TryGit(w.Path, "config", "--worktree", "core.worktree"); err == nil {
		t.Errorf("core.worktree = %s was copied", out)
	}
	if top := r.GitIn(w.Path, "rev-parse", "--show-toplevel"); top != w.Path {
		t.Errorf("plain git takes %s for the top", top)
	}
	if r.Git("config", "--worktree", "core.worktree") != r.Dir {
		t.Error("the main checkout's own setting was changed")
	}
}

// stagingDir returns the directory in which Add prepares an admin directory.
func stagingDir(r *Repository, admin string) string {
	return filepath.Join(r.CommonDir, "croft", "staging", admin)
}
