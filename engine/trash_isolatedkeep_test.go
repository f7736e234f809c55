package engine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// commitIn commits a file of its own in a checkout, and returns the commit.
func commitIn(t *testing.T, r *gittest.Repo, dir, name string) string {
	t.Helper()
	gittest.WriteFile(t, filepath.Join(dir, name+".txt"), name+"\n")
	r.GitIn(dir, "add", name+".txt")
	r.GitIn(dir, "commit", "--quiet", "-m", name)
	return r.GitIn(dir, "rev-parse", "HEAD")
}

// trashedAt returns the path of a removed workspace in the trash.
func trashedAt(r *gittest.Repo, w croft.Workspace) string {
	return filepath.Join(r.Dir+".croft", ".trash", string(w.ID))
}

// TestIsolatedStaysUntilItIsKept: gc keeps a removed isolated workspace from whose git
// directory not everything can be pulled. Its reason names what is missing and a way out;
// everything else was pulled.
func TestIsolatedStaysUntilItIsKept(t *testing.T) {
	t.Parallel()
	spoil := map[string]func(t *testing.T, r *gittest.Repo, w croft.Workspace){
		"shallow": func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			up := gittest.New(t)
			for _, name := range []string{"one", "two"} {
				up.Git("commit", "--quiet", "--allow-empty", "-m", name)
			}
			r.GitIn(w.Path, "fetch", "--quiet", "--depth=1", "file://"+filepath.ToSlash(up.Dir), "HEAD:up")
		},
		"damaged": func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			r.GitIn(w.Path, "checkout", "--quiet", "-b", "bad")
			commitIn(t, r, w.Path, "bad")
			empty(t, w, r.GitIn(w.Path, "rev-parse", "HEAD:bad.txt"))
			r.GitIn(w.Path, "checkout", "--quiet", w.Branch)
		},
		"damaged tip": func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			r.GitIn(w.Path, "checkout", "--quiet", "-b", "bad")
			bad := commitIn(t, r, w.Path, "bad")
			r.GitIn(w.Path, "checkout", "--quiet", w.Branch)
			empty(t, w, bad)
		},
		"empty HEAD": func(t *testing.T, _ *gittest.Repo, w croft.Workspace) {
			gittest.WriteFile(t, filepath.Join(w.Path, ".git", "HEAD"), "")
		},
		"worktree HEAD": func(t *testing.T, r *gittest.Repo, w croft.Workspace) {
			inner := filepath.Join(t.TempDir(), "inner")
			r.GitIn(w.Path, "worktree", "add", "--quiet", "--detach", inner)
			commitIn(t, r, inner, "inner")
			gittest.WriteFile(t, filepath.Join(w.Path, ".git", "worktrees", "inner", "HEAD"), "garbage\n")
		},
	}
	for name, f := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("the way out is a command of a Unix shell")
			}
			r, e, w := isolated(t)
			r.GitIn(w.Path, "checkout", "--quiet", "-b", "side")
			side := commitIn(t, r, w.Path, "side")
			r.GitIn(w.Path, "checkout", "--quiet", w.Branch)
			f(t, r, w)
			if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
				t.Fatalf("Remove: %+v, %v", res, err)
			}
			var hint string
			for _, days := range []int{8, 60} {
				res, err := engineIn(t, r, time.Duration(days)*24*time.Hour, "trash.notice", "0s").GC(t.Context(), croft.GCRequest{})
				if err != nil || len(res.Kept) != 1 || res.Kept[0].Name != "a" || res.Kept[0].Reason.Details == "" || len(res.Purged)+len(res.Reduced) != 0 {
					t.Fatalf("after %d days: %+v, %v", days, res, err)
				}
				hint = res.Kept[0].Reason.Hint
			}
			if _, err := os.Lstat(filepath.Join(trashedAt(r, w), "tree", ".git", "objects")); err != nil {
				t.Error(err)
			}
			if name != "empty HEAD" {
				r.Git("gc", "--quiet", "--prune=now")
				r.Git("cat-file", "-e", side+"^{tree}")
			}
			_, command, _ := strings.Cut(hint, "for good: ")
			if out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", command, err, out)
			}
			if res, err := engineIn(t, r, 61*24*time.Hour, "trash.notice", "0s").GC(t.Context(), croft.GCRequest{}); err != nil || len(res.Kept) != 0 {
				t.Errorf("after %s: %+v, %v", command, res, err)
			}
		})
	}
}

// empty truncates an object file of an agent's git directory.
func empty(t *testing.T, w croft.Workspace, oid string) {
	t.Helper()
	file := filepath.Join(w.Path, ".git", "objects", oid[:2], oid[2:])
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, file, "")
}

// TestIsolatedLateCommitsAreKept: commits and stashes that were made in the trash, and in
// worktrees that the agent added to its git directory, are kept when gc deletes the
// directory.
func TestIsolatedLateCommitsAreKept(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"finished", "not finished"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			inner := filepath.Join(t.TempDir(), "inner")
			r.GitIn(w.Path, "worktree", "add", "--quiet", "--detach", inner)
			late := []string{commitIn(t, r, inner, "inner")}
			if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
				t.Fatalf("Remove: %+v, %v", res, err)
			}
			if target == "finished" {
				r.Git("merge", "--quiet", r.Git("for-each-ref", "--format=%(objectname)", "refs/croft/archive/*/head"))
			}
			tree := filepath.Join(trashedAt(r, w), "tree")
			late = append(late, commitIn(t, r, tree, "branch"))
			r.GitIn(tree, "checkout", "--quiet", "-b", "late", "HEAD~1")
			late = append(late, commitIn(t, r, tree, "late"))
			gittest.WriteFile(t, filepath.Join(tree, "work.txt"), "stashed\n")
			r.GitIn(tree, "stash", "--quiet")
			late = append(late, r.GitIn(tree, "rev-parse", "refs/stash"))
			r.GitIn(tree, "checkout", "--quiet", "--detach")
			late = append(late, commitIn(t, r, tree, "detached"))
			for _, days := range []int{8, 9, 10, 60, 61} {
				gc(t, engineIn(t, r, time.Duration(days)*24*time.Hour, "trash.notice", "0s"))
				r.Git("gc", "--quiet", "--prune=now")
				for _, oid := range late {
					r.Git("rev-list", "--objects", "--quiet", oid)
				}
			}
			if _, err := os.Lstat(trashedAt(r, w)); err == nil {
				t.Error("the directory is still there")
			}
		})
	}
}

// TestIsolatedLateCommitWithoutFiles: a commit that was made in the trash and changes no
// file is kept, too.
func TestIsolatedLateCommitWithoutFiles(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove: %+v, %v", res, err)
	}
	r.Git("merge", "--quiet", r.Git("for-each-ref", "--format=%(objectname)", "refs/croft/archive/*/head"))
	tree := filepath.Join(trashedAt(r, w), "tree")
	r.GitIn(tree, "checkout", "--quiet", "-b", "late")
	r.GitIn(tree, "commit", "--quiet", "--allow-empty", "--message", "late")
	late := r.GitIn(tree, "rev-parse", "HEAD")
	for _, days := range []int{8, 9, 10, 60, 61} {
		gc(t, engineIn(t, r, time.Duration(days)*24*time.Hour, "trash.notice", "0s"))
		r.Git("gc", "--quiet", "--prune=now")
		r.Git("rev-list", "--objects", "--quiet", late)
	}
	if _, err := os.Lstat(trashedAt(r, w)); err == nil {
		t.Error("the directory is still there")
	}
}

// TestIsolatedLateWorkIsNotFinished: a removed workspace whose work is in the project
// counts as finished, and gc deletes all of it at once. If there is a commit that was made
// in the trash, it does not count as finished: it can be restored by its ID, with the late
// branch.
func TestIsolatedLateWorkIsNotFinished(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	commitIn(t, r, w.Path, "first")
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove: %+v, %v", res, err)
	}
	r.Git("merge", "--quiet", r.Git("for-each-ref", "--format=%(objectname)", "refs/croft/archive/*/head"))
	tree := filepath.Join(trashedAt(r, w), "tree")
	r.GitIn(tree, "checkout", "--quiet", "-b", "late")
	late := commitIn(t, r, tree, "late")
	r.GitIn(tree, "checkout", "--quiet", w.Branch)
	for _, days := range []int{8, 9, 10} {
		gc(t, engineIn(t, r, time.Duration(days)*24*time.Hour, "trash.notice", "0s"))
	}
	if _, err := os.Lstat(trashedAt(r, w)); err == nil {
		t.Error("the directory is still there")
	}
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: string(w.ID)}); err != nil {
		t.Fatal(err)
	}
	if got := r.GitIn(w.Path, "rev-parse", "late"); got != late {
		t.Errorf("the late branch is at %s, want %s", got, late)
	}
}

// TestIsolatedKeepsBranchDeletedInTrash: a branch that was kept at the removal stays kept
// although it was deleted in the trash, when later commits from there are added.
func TestIsolatedKeepsBranchDeletedInTrash(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	r.GitIn(w.Path, "checkout", "--quiet", "-b", "side")
	side := commitIn(t, r, w.Path, "side")
	r.GitIn(w.Path, "checkout", "--quiet", w.Branch)
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove: %+v, %v", res, err)
	}
	tree := filepath.Join(trashedAt(r, w), "tree")
	r.GitIn(tree, "branch", "--quiet", "-D", "side")
	late := commitIn(t, r, tree, "late")
	for _, days := range []int{8, 9, 60} {
		gc(t, engineIn(t, r, time.Duration(days)*24*time.Hour, "trash.notice", "0s"))
		for name, oid := range map[string]string{"side": side, "late": late} {
			if own := r.Git("for-each-ref", "--contains", oid, "refs/croft/archive/"+string(w.ID)+"/own"); own == "" {
				t.Errorf("after %d days %s is not kept", days, name)
			}
		}
	}
	if _, err := os.Lstat(trashedAt(r, w)); err == nil {
		t.Error("the directory is still there")
	}
}

// TestIsolatedTagIsWork: a tag that only the isolated workspace has is work, too: it can be
// restored, and stays in the archive.
func TestIsolatedTagIsWork(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeIsolated})
	r.GitIn(w.Path, "tag", "--annotate", "-m", "text only here", "v1")
	tag := r.GitIn(w.Path, "rev-parse", "v1")
	remove := func() {
		if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}}); err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove: %+v, %v", res, err)
		}
		gc(t, engineIn(t, r, 8*24*time.Hour, "trash.notice", "0s"))
		r.Git("gc", "--quiet", "--prune=now")
	}
	remove()
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := r.GitIn(w.Path, "rev-parse", "v1"); got != tag {
		t.Errorf("the tag is %s, want %s", got, tag)
	}
	remove()
	for _, days := range []int{60, 61, 400} {
		gc(t, engineIn(t, r, time.Duration(days)*24*time.Hour, "trash.notice", "0s"))
	}
	if own := ownArchive(r); len(own) != 1 {
		t.Errorf("kept are %q", own)
	}
}
