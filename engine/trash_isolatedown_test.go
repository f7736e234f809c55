package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// ownWork has the agent of an isolated workspace make branches, tags and stashes of its
// own. It returns the commits, and leaves a side branch checked out.
func ownWork(t *testing.T, r *gittest.Repo, w croft.Workspace) (commits []string) {
	t.Helper()
	git := func(args ...string) string { return r.GitIn(w.Path, args...) }
	commit := func(name string) {
		gittest.WriteFile(t, filepath.Join(w.Path, name+".txt"), name+"\n")
		git("add", "--all")
		git("commit", "--quiet", "-m", name)
		commits = append(commits, git("rev-parse", "HEAD"))
	}
	git("checkout", "--quiet", "--detach")
	commit("tagged")
	git("tag", "--annotate", "-m", "a tag", "v1")
	git("checkout", "--quiet", "-b", "other", w.Branch)
	commit("other")
	git("pack-refs", "--all")
	git("checkout", "--quiet", "-b", "side", w.Branch)
	commit("side")
	git("branch", "--quiet", "empty")
	for _, name := range []string{"first", "second"} {
		gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), name+"\n")
		git("stash", "--quiet")
		commits = append(commits, git("rev-parse", "refs/stash"))
	}
	git("update-ref", "refs/notes/blob", git("rev-parse", "stash@{1}:work.txt"))
	// A missing object does not keep the others from being pulled.
	gittest.WriteFile(t, filepath.Join(w.Path, ".git", "ORIG_HEAD"), strings.Repeat("1", 40)+"\n")
	return commits
}

// ownState returns what git prints about an agent's own refs.
func ownState(r *gittest.Repo, w croft.Workspace) string {
	return r.GitIn(w.Path, "for-each-ref") + "\n" + r.GitIn(w.Path, "stash", "list", "--format=%gd %H %gs") + "\n" +
		r.GitIn(w.Path, "symbolic-ref", "HEAD") + "\n" + r.GitIn(w.Path, "status", "--porcelain") + "\n" + r.GitIn(w.Path, "log", "--format=%H", "--all")
}

// TestIsolatedOwnRefsComeBack: refs that an agent made in its own git directory, besides
// its branch, are restored after gc has deleted the directory, also after git gc in
// between, and also the second time.
func TestIsolatedOwnRefsComeBack(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"clean", "dirty"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			ownWork(t, r, w)
			if kind == "dirty" {
				gittest.WriteFile(t, filepath.Join(w.Path, "wip.txt"), "wip\n")
			}
			want := ownState(r, w)
			for range 2 {
				if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
					t.Fatalf("Remove: %+v, %v", res, err)
				}
				e = engineIn(t, r, 8*24*time.Hour, "trash.notice", "0s")
				gc(t, e)
				if items, err := e.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(items.Items) != 1 || items.Items[0].Left == croft.LeftDirectory {
					t.Fatalf("in the trash %+v, %v", items, err)
				}
				r.Git("gc", "--quiet", "--prune=now")
				e = engineIn(t, r, 0)
				if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
					t.Fatal(err)
				}
				if got := ownState(r, w); got != want {
					t.Errorf("restored is\n%s\nwant\n%s", got, want)
				}
				r.GitIn(w.Path, "fsck", "--strict")
				r.Git("gc", "--quiet", "--prune=now")
				r.GitIn(w.Path, "gc", "--quiet")
				r.GitIn(w.Path, "fsck", "--strict")
			}
		})
	}
}

// TestIsolatedOwnRefsWithoutDirectory: they are also restored when a user deleted the
// directory and the workspace was removed after that, as far as Croft had pulled them.
func TestIsolatedOwnRefsWithoutDirectory(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	ownWork(t, r, w)
	want := ownState(r, w)
	if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(w.Path); err != nil {
		t.Fatal(err)
	}
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove: %+v, %v", res, err)
	}
	r.Git("gc", "--quiet", "--prune=now")
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := ownState(r, w); got != want {
		t.Errorf("restored is\n%s\nwant\n%s", got, want)
	}
	r.GitIn(w.Path, "fsck", "--strict")
}

// TestIsolatedOwnCommitsAreKeptForGood: commits that no branch of the project has stay in
// the archive when the workspace can no longer be restored. They are deleted from it once a
// branch has all of them and the project has the tag.
func TestIsolatedOwnCommitsAreKeptForGood(t *testing.T) {
	t.Parallel()
	r, e, w := isolated(t)
	commits := ownWork(t, r, w)
	tag := filepath.Join(t.TempDir(), "tag")
	gittest.WriteFile(t, tag, r.GitIn(w.Path, "cat-file", "tag", "v1")+"\n")
	if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
		t.Fatalf("Remove: %+v, %v", res, err)
	}
	for _, days := range []int{8, 60, 61, 400} {
		gc(t, engineIn(t, r, time.Duration(days)*24*time.Hour, "trash.notice", "0s"))
		r.Git("gc", "--quiet", "--prune=now")
		for _, oid := range commits {
			r.Git("cat-file", "-e", oid)
		}
	}
	if items, err := e.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(items.Items) != 0 {
		t.Fatalf("in the trash %+v, %v", items, err)
	}
	for i, oid := range commits {
		r.Git("branch", "--quiet", "kept-"+string(rune('a'+i)), oid)
	}
	gc(t, engineIn(t, r, 401*24*time.Hour))
	if own := ownArchive(r); len(own) != 1 {
		t.Errorf("left are %q, although the project does not have the tag", own)
	}
	r.Git("update-ref", "refs/tags/v1", r.Git("hash-object", "-t", "tag", "-w", tag))
	gc(t, engineIn(t, r, 402*24*time.Hour))
	if own := ownArchive(r); len(own) != 0 {
		t.Errorf("left are %q, although branches have all commits", own)
	}
}

// ownArchive lists the refs that keep the agents' own refs of removed isolated workspaces.
func ownArchive(r *gittest.Repo) []string {
	return slices.DeleteFunc(strings.Fields(r.Git("for-each-ref", "--format=%(refname)", "refs/croft/archive/")), func(ref string) bool {
		return !strings.HasSuffix(ref, "/own")
	})
}
