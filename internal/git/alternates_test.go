package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestAlternatesThatGitReadsOtherwise: an alternates file in which git and Croft could find
// different directories is refused, and so is an endless chain of them.
func TestAlternatesThatGitReadsOtherwise(t *testing.T) {
	for name, text := range map[string]string{
		"two in a line":   `"/nothing"X/evil` + "\n",
		"quote is open":   `"/nothing` + "\n" + `/evil"` + "\n",
		"zero byte":       "/evil\x00/nothing\n",
		"unknown escape":  `"/\q"` + "\n",
		"a quote in quot": `"/a"b"` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			repo := open(t, gittest.New(t))
			gittest.WriteFile(t, filepath.Join(repo.CommonDir, "objects", "info", "alternates"), text)
			if _, err := repo.OpenObjects(); !errors.Is(err, fsx.ErrNotPlain) {
				t.Errorf("%v, want ErrNotPlain", err)
			}
		})
	}
	repo := open(t, gittest.New(t))
	objects := filepath.Join(repo.CommonDir, "objects")
	gittest.WriteFile(t, filepath.Join(objects, "info", "alternates"), strings.Repeat(".\n", 40)+`"`+objects+"\"\n# comment\n")
	begun := time.Now()
	if dirs, err := gitdir.AlternatesOf(objects); err != nil || len(dirs) != 1 || time.Since(begun) > time.Second {
		t.Errorf("%q, %v after %v", dirs, err, time.Since(begun))
	}
	dir := objects
	for range 8 { // git follows six levels
		next := filepath.Join(t.TempDir(), "objects")
		gittest.WriteFile(t, filepath.Join(dir, "info", "alternates"), next+"\n")
		if err := os.MkdirAll(filepath.Join(next, "info"), 0o755); err != nil {
			t.Fatal(err)
		}
		dir = next
	}
	if dirs, err := gitdir.AlternatesOf(objects); err != nil || len(dirs) != 7 {
		t.Errorf("%d directories, %v", len(dirs), err)
	}
}

// TestLocksOfForgedHead: a forged HEAD does not add the name of another file to the lock
// files that a lease records.
func TestLocksOfForgedHead(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	want := len(repo.LocksIn(w.Admin)) - 1
	for _, head := range []string{"ref: refs/heads/x\n\"/home/me/notes\"\nz\n", "ref: ../../notes\n", "ref: refs/heads/../../config\n"} {
		gittest.WriteFile(t, filepath.Join(w.Admin, "HEAD"), head)
		if locks := repo.LocksIn(w.Admin); len(locks) != want {
			t.Errorf("HEAD %q: %q", head, locks)
		}
	}
}

// TestSweepRefLocksFollowsNoLink: a sweep does not follow a link to find the reflog of a
// branch that was not made.
func TestSweepRefLocksFollowsNoLink(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	since := time.Now().Add(-time.Minute)
	mine := t.TempDir()
	for _, dir := range []string{mine, filepath.Join(repo.CommonDir, "logs", "refs", "heads")} {
		gittest.WriteFile(t, filepath.Join(dir, "notes"), "mine\n")
	}
	if err := os.Symlink(mine, filepath.Join(repo.CommonDir, "logs", "refs", "heads", "croft")); err != nil {
		t.Fatal(err)
	}
	repo.SweepRefLocks(since, "refs/heads/croft/notes", "refs/heads/notes", "refs/heads/../../../../notes")
	if !exists(filepath.Join(mine, "notes")) {
		t.Error("a file outside of the repository is gone")
	}
	if exists(filepath.Join(repo.CommonDir, "logs", "refs", "heads", "notes")) {
		t.Error("what was left of a branch is still there")
	}
}

// TestModuleOfFollowsNoLink: commits of a submodule go into the project's own git directory
// only, and not into one that a link or a file of an agent's leads to.
func TestModuleOfFollowsNoLink(t *testing.T) {
	r := gittest.New(t)
	other := gittest.New(t)
	repo := open(t, r)
	module := filepath.Join(repo.CommonDir, "modules", "sub")
	r.Git("init", "--quiet", "--bare", module)
	if dir, ok := repo.moduleOf("sub", "sub"); !ok || dir != module {
		t.Fatalf("moduleOf = %s, %v", dir, ok)
	}
	gittest.WriteFile(t, filepath.Join(module, "commondir"), filepath.Join(other.Dir, ".git")+"\n")
	if dir, ok := repo.moduleOf("sub", "sub"); ok {
		t.Errorf("with a commondir: %s", dir)
	}
	if err := os.Remove(filepath.Join(module, "commondir")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(module, "objects")), os.Symlink(filepath.Join(other.Dir, ".git", "objects"), filepath.Join(module, "objects"))); err != nil {
		t.Fatal(err)
	}
	if dir, ok := repo.moduleOf("sub", "sub"); ok {
		t.Errorf("with objects that are a link: %s", dir)
	}
	if err := os.Symlink(other.Dir, filepath.Join(r.Dir, "ext")); err != nil {
		t.Fatal(err)
	}
	if dir, ok := repo.moduleOf("ext", ""); ok {
		t.Errorf("a link in the checkout: %s", dir)
	}
}
