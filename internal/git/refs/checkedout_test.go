package refs

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestCheckedOutOtherwise: a branch that is not in HEAD by its name is found: in a rebase by patches, in a bisect that went to another
// branch, by a symbolic ref, and in an isolated checkout. In a worktree of Croft's, too, a rebase counts.
func TestCheckedOutOtherwise(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	r.Write("f", "1\n")
	r.Commit("first")
	check := func(step, branch string, want ...string) {
		t.Helper()
		if got := repo.CheckedOut(branch, ""); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", step, got, want)
		}
	}
	for _, name := range []string{"wt", "croft-wt"} {
		path, admin := addWorktree(r, name)
		gittest.WriteFile(t, filepath.Join(path, "f"), "of "+name+"\n")
		r.GitIn(path, "commit", "--quiet", "--all", "-m", "work")
		r.Write("f", "of main, beside "+name+"\n")
		r.Commit("main")
		for _, how := range []string{"--apply", "--merge"} {
			if _, err := r.TryGit(path, "rebase", how, "main"); err == nil {
				t.Fatal("the rebase did not stop")
			}
			check(name+": rebase "+how, name, admin)
			r.GitIn(path, "rebase", "--abort")
		}
	}

	path, admin := filepath.Join(filepath.Dir(r.Dir), "wt"), filepath.Join(repo.CommonDir, "worktrees", "wt")
	r.GitIn(path, "bisect", "start")
	r.GitIn(path, "checkout", "--quiet", "-b", "other")
	if _, err := r.TryGit(r.Dir, "branch", "--force", "wt", "main"); err == nil {
		t.Fatal("git lets go of a branch that is being bisected")
	}
	check("bisected, on another branch", "wt", admin)
	r.GitIn(path, "bisect", "reset", "HEAD")
	check("not bisected any more", "wt")

	r.Git("symbolic-ref", "refs/heads/alias", "refs/heads/wt")
	gittest.WriteFile(t, filepath.Join(admin, "HEAD"), "ref: refs/heads/alias\n")
	check("by a symbolic ref", "wt", admin)
	gittest.WriteFile(t, filepath.Join(admin, "HEAD"), "ref: refs/heads/other\n")

	isolated := filepath.Join(repo.IsolatedDir(), "one")
	gittest.WriteFile(t, filepath.Join(isolated, "HEAD"), "ref: refs/heads/wt\n")
	check("isolated", "wt", isolated)

	check("the main checkout", "main", repo.CommonDir)
	repo.Bare = true
	check("HEAD of a bare repository", "main")
}
