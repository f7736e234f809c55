package git

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/git/writers"
)

// A change that keeps the size and time of a file is found only because git distrusts
// entries as young as the index. Every copy of an index must keep its mtime.
func TestChangeInTheSecondOfTheIndex(t *testing.T) {
	r := gittest.New(t)
	r.Git("config", "core.trustctime", "false")
	tree := filepath.Join(t.TempDir(), "tree")
	r.Git("worktree", "add", "--quiet", "-b", "work", tree)
	admin := r.GitIn(tree, "rev-parse", "--absolute-git-dir")
	hide := func(dir, gitDir string) {
		t.Helper()
		at := time.Now().Add(-time.Hour)
		file, index := filepath.Join(dir, "README.md"), filepath.Join(gitDir, "index")
		old := func(path string) {
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		old(file)
		r.GitIn(dir, "update-index", "--refresh")
		old(index)
		gittest.WriteFile(t, file, "again\n")
		old(file)
	}
	repo := open(t, r)
	work := repo.worktreeOf(worktree.Worktree{Path: tree, Admin: admin})

	hide(tree, admin)
	attempts, err := repo.OpenMergeTree(writers.OnDisk)
	if err != nil {
		t.Fatal(err)
	}
	defer attempts.Close()
	head := r.GitIn(tree, "rev-parse", "HEAD")
	if oid, err := work.WorkCommit(t.Context(), attempts, Work{Paths: []string{"README.md"}}); err != nil || oid == head {
		t.Errorf("the forecast misses the change: %v", err)
	}
	commit := object.Commit{Signature: mergetree.SyntheticAuthor, Message: "work"}
	oid, err := work.CommitWork(t.Context(), Work{Branch: r.GitIn(tree, "branch", "--show-current"), Paths: []string{"README.md"}, Commit: commit})
	if err != nil || oid == head {
		t.Fatalf("the commit misses the change: %v", err)
	}
	if got := r.Git("show", oid+":README.md"); got != "again" {
		t.Errorf("committed %q", got)
	}

	hide(r.Dir, repo.CommonDir)
	var dirty *HostDirtyError
	if err := advance(t, repo, head, next(r, map[string]string{"README.md": "later\n"})); !errors.As(err, &dirty) {
		t.Errorf("the user's change is in the way: %v", err)
	}
	if got := readFile(t, filepath.Join(r.Dir, "README.md")); got != "again\n" {
		t.Errorf("the user's file is now %q", got)
	}
}

// TestIndexIsPlacedWhereItWasLocked: while a commit is made, an agent replaces its
// registration by a link to another repository. The other repository's index stays
// unchanged.
func TestIndexIsPlacedWhereItWasLocked(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	other := gittest.New(t)
	index := filepath.Join(other.Dir, ".git", "index")
	before := readFile(t, index)
	c, err := repo.copyIndex(w.location())
	if err != nil {
		t.Fatal(err)
	}
	defer c.discard()
	if err := errors.Join(c.takeLock(t.Context(), worktree.SweptAfter), c.copyIndex(), os.Rename(w.Admin, w.Admin+".aside")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(other.Dir, ".git"), w.Admin); err != nil {
		t.Skip(err)
	}
	if err := c.replaceIndex(); err != nil {
		t.Logf("place: %v", err)
	}
	c.discard()
	if readFile(t, index) != before {
		t.Error("the index of another repository was replaced")
	}
	if exists(filepath.Join(w.Admin+".aside", "index.lock")) {
		t.Error("the lock is left where it was taken")
	}
}
