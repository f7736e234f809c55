//go:build unix

package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// unpulledFindings returns the doctor's findings about refs and objects that it could not
// pull from an isolated workspace.
func unpulledFindings(t *testing.T, e *engine.Engine, fix croft.FixMode) []croft.Finding {
	t.Helper()
	list, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: fix})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Findings {
		if f.Code != "NOT_BROUGHT" || f.Subject != "a" {
			t.Errorf("finding %+v", f)
		}
	}
	return list.Findings
}

// TestDoctorReportsWhatCannotBePulled: the doctor names each branch, stash or worktree of
// an isolated workspace that cannot be pulled, before the first pull and after it, and
// writes nothing while it looks. Once the damaged object is whole again, the doctor pulls
// it.
func TestDoctorReportsWhatCannotBePulled(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"branch", "damaged tip", "stash", "worktree"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			name, bad := makeUnpullable(t, r, w, kind)
			file := filepath.Join(w.Path, ".git", "objects", bad[:2], bad[2:])
			whole := read(t, file)
			empty(t, w, bad)
			before, own := everythingIn(t, filepath.Join(r.Dir, ".git")), everythingIn(t, filepath.Join(w.Path, ".git"))
			for _, state := range []string{"not harvested", "harvested"} {
				list := unpulledFindings(t, e, croft.FixNothing)
				if len(list) != 1 || !list[0].CanFix || list[0].Fixed || !strings.Contains(list[0].Message, name) || !strings.Contains(list[0].Message, "fsck") {
					t.Fatalf("%s: the doctor finds %+v, want %s", state, list, name)
				}
				if state == "not harvested" {
					if d := cmp.Diff(before, everythingIn(t, filepath.Join(r.Dir, ".git"))); d != "" {
						t.Errorf("the doctor wrote to the repository (-before +after):\n%s", d)
					}
					if d := cmp.Diff(own, everythingIn(t, filepath.Join(w.Path, ".git"))); d != "" {
						t.Errorf("the doctor wrote to the workspace (-before +after):\n%s", d)
					}
				}
				if st, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil || st.Ahead != 1 { // Status pulls
					t.Fatalf("Status = %+v, %v", st, err)
				}
			}
			if list := unpulledFindings(t, e, croft.FixAll); len(list) != 1 || list[0].Fixed || !strings.Contains(list[0].Message, "still") {
				t.Errorf("mended while it is damaged: %+v", list)
			}
			if res, err := e.Clean(t.Context(), croft.CleanRequest{}); err != nil || len(res.Removed) != 0 {
				t.Errorf("Clean = %+v, %v", res, err)
			}
			gittest.WriteFile(t, file, whole)
			if list := unpulledFindings(t, e, croft.FixAll); len(list) != 1 || !list[0].Fixed {
				t.Errorf("mended: %+v", list)
			}
			r.Git("gc", "--quiet", "--prune=now")
			r.Git("cat-file", "-e", bad)
			if list := unpulledFindings(t, e, croft.FixNothing); len(list) != 0 {
				t.Errorf("afterwards: %+v", list)
			}
		})
	}
}

// makeUnpullable makes a commit in an isolated workspace's git directory that a branch, a
// stash entry or the HEAD of a worktree names, according to kind. It returns that name, and
// an object that the test can damage.
func makeUnpullable(t *testing.T, r *gittest.Repo, w croft.Workspace, kind string) (name, oid string) {
	t.Helper()
	git := func(args ...string) string { return r.GitIn(w.Path, args...) }
	switch kind {
	case "stash":
		for _, text := range []string{"first\n", "second\n"} {
			gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), text)
			git("stash", "--quiet")
		}
		return "stash@{1}", git("rev-parse", "stash@{1}:work.txt")
	case "worktree":
		inner := filepath.Join(t.TempDir(), "inner")
		git("worktree", "add", "--quiet", "--detach", inner)
		commitIn(t, r, inner, "bad")
		return "worktrees/inner/HEAD", r.GitIn(inner, "rev-parse", "HEAD:bad.txt")
	}
	inner := filepath.Join(t.TempDir(), "inner")
	git("worktree", "add", "--quiet", "-b", "bad", inner)
	oid = commitIn(t, r, inner, "bad")
	if kind == "branch" {
		oid = git("rev-parse", "bad:bad.txt")
	}
	git("worktree", "remove", inner)
	return "refs/heads/bad", oid
}

// TestDoctorReportsGitDirectoryThatCannotBePulled: the doctor also names a git directory
// from which nothing can be pulled.
func TestDoctorReportsGitDirectoryThatCannotBePulled(t *testing.T) {
	t.Parallel()
	for kind, spoil := range map[string]func(t *testing.T, r *gittest.Repo, w croft.Workspace) string{
		"checked out": func(t *testing.T, r *gittest.Repo, w croft.Workspace) string {
			empty(t, w, r.GitIn(w.Path, "rev-parse", "HEAD:work.txt"))
			return "not whole"
		},
		"HEAD": func(t *testing.T, _ *gittest.Repo, w croft.Workspace) string {
			gittest.WriteFile(t, filepath.Join(w.Path, ".git", "HEAD"), "")
			return "HEAD"
		},
		"refs": func(t *testing.T, r *gittest.Repo, w croft.Workspace) string {
			var packed strings.Builder
			head := r.Git("rev-parse", "HEAD")
			for i := range 50_001 {
				packed.WriteString(head + " refs/tags/t" + time.Unix(int64(i), 0).UTC().Format("150405") + "\n")
			}
			gittest.WriteFile(t, filepath.Join(w.Path, ".git", "packed-refs"), packed.String())
			return "refs"
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			want := spoil(t, r, w)
			list := unpulledFindings(t, e, croft.FixNothing)
			if len(list) != 1 || list[0].CanFix || !strings.Contains(list[0].Message, want) {
				t.Errorf("the doctor finds %+v, want %q", list, want)
			}
		})
	}
}

// TestWorktreesOfTheAgentsGitDirectoryArePulled: commits that are checked out in worktrees
// which an agent added to its own git directory are kept like its branches, also after the
// worktree's directory is gone.
func TestWorktreesOfTheAgentsGitDirectoryArePulled(t *testing.T) {
	t.Parallel()
	for _, act := range []string{"status", "snapshot", "remove"} {
		t.Run(act, func(t *testing.T) {
			t.Parallel()
			r, e, w := isolated(t)
			inner := filepath.Join(t.TempDir(), "inner")
			r.GitIn(w.Path, "worktree", "add", "--quiet", "--detach", inner)
			if _, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID}); err != nil {
				t.Fatal(err)
			}
			oid := commitIn(t, r, inner, "inner")
			gittest.WriteFile(t, filepath.Join(w.Path, ".git", "worktrees", "spoilt", "HEAD"), "nothing\n") // a broken registration does not keep the others from being pulled
			var err error
			switch act {
			case "status":
				_, err = e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID})
			case "snapshot":
				_, err = e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
			}
			if err != nil {
				t.Fatal(err)
			}
			if res, err := e.Clean(t.Context(), croft.CleanRequest{}); err != nil || len(res.Removed) != 0 {
				t.Errorf("Clean = %+v, %v", res, err)
			}
			if act == "remove" {
				if res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil || len(res.Removed) != 1 {
					t.Fatalf("Remove: %+v, %v", res, err)
				}
				if err := os.RemoveAll(trashedAt(r, w)); err != nil {
					t.Fatal(err)
				}
			}
			r.Git("gc", "--quiet", "--prune=now")
			r.Git("rev-list", "--objects", "--quiet", oid)
		})
	}
}
