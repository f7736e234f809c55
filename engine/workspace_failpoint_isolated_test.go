//go:build failpoints

package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// wantSound fails unless the agent's own git directory and the project agree, and both are
// whole.
func wantSound(t *testing.T, r *gittest.Repo, e *engine.Engine) {
	t.Helper()
	w := show(t, e, "a")
	st, err := e.Status(t.Context(), croft.StatusRequest{Workspace: w.ID})
	if err != nil {
		t.Fatal(err)
	}
	if head := r.GitIn(w.Path, "rev-parse", "HEAD"); head != st.Head || head != r.Git("rev-parse", w.Branch) {
		t.Errorf("the agent is at %s, Croft says %s, the branch is at %s", head, st.Head, r.Git("rev-parse", w.Branch))
	}
	for _, dir := range []string{w.Path, r.Dir} {
		if got := r.GitIn(dir, "fsck", "--no-dangling"); got != "" {
			t.Errorf("fsck in %s: %s", dir, got)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.Path, ".git", "index.lock")); err == nil {
		t.Error("the agent's index is locked")
	}
}

// TestKilledIsolatedCreation: isolated workspaces, too, are created all or not at all.
func TestKilledIsolatedCreation(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, job := creations("default")(t)
		for i := range job.Create.Workspaces {
			job.Create.Workspaces[i].Mode = croft.ModeIsolated
		}
		job.Create.Workspaces = job.Create.Workspaces[:1]
		return r, job
	}
	fewPoints(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		before := traceOf(t, r)
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		gc(t, e)
		if wereHandedOut(t, e, job) {
			wantSound(t, r, e)
			return
		}
		wantTrace(t, r, before)
		if _, err := e.CreateAll(t.Context(), *job.Create); err != nil {
			t.Fatal(err)
		}
		wantSound(t, r, e)
	})
}

// TestKilledIsolatedRewind: killed at any point between pull and push, the workspace is
// entirely at the snapshot, or entirely as before, for the agent's git as well.
func TestKilledIsolatedRewind(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) { return rewindsIn(t, croft.ModeIsolated) }
	fewPoints(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		pullA(t, r)
		want, before := recall(t, r, "first"), recall(t, r, "second")
		if r.GitIn(pathOfA(r), "rev-parse", "HEAD") == before.Head {
			wantState(t, r, e, before)
			again(t, e, job)
		}
		wantState(t, r, e, want)
		wantSound(t, r, e)
	})
}

// TestKilledPull: a merge of work that was partly committed in the agent's own git
// directory is killed at every point. No work is lost, and the next attempt lands it.
func TestKilledPull(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := company(t)
		brief(t, r, func(e *engine.Engine) { create(t, e, croft.CreateRequest{Name: "a", Mode: croft.ModeIsolated}) })
		writeIn(t, r, map[string]string{"done.txt": "done\n"})
		r.GitIn(pathOfA(r), "add", "--all")
		r.GitIn(pathOfA(r), "commit", "--quiet", "-m", "work")
		writeIn(t, r, map[string]string{"half.txt": "not committed\n"})
		return r, task{Merge: []croft.MergeRequest{{Workspace: "a"}}}
	}
	fewPoints(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		if w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"}); err == nil {
			if w.MergeStatus == "" {
				wantSound(t, r, e)
				if _, err := e.SubmitMerge(t.Context(), job.Merge[0]); err != nil { // its merge had not been submitted yet
					t.Fatal(err)
				}
			}
			if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]string{"done.txt": "done", "half.txt": "not committed"} {
			if got := r.Git("show", "main:"+name); got != want {
				t.Errorf("%s landed as %q", name, got)
			}
		}
	})
}

// TestKilledPlainCreation: the first workspace of a plain directory is there, or nothing
// is, and the directory is not changed.
func TestKilledPlainCreation(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := gittest.New(t)
		for _, name := range []string{".git", "src"} {
			if err := os.RemoveAll(filepath.Join(r.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		r.Write("node/dep.txt", "ignored\n")
		r.Write(".gitignore", "node/\n")
		return r, task{Create: &croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "a", Mode: croft.ModeAuto}}}}
	}
	fewPoints(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		list, err := e.CreateAll(t.Context(), *job.Create)
		if err != nil || len(list.Workspaces) != 1 {
			t.Fatalf("the second attempt: %+v, %v", list, err)
		}
		w := list.Workspaces[0]
		if got := r.GitIn(w.Path, "status", "--porcelain"); got != "" || w.Mode != croft.ModeIsolated {
			t.Errorf("%s: status %q", w.Mode, got)
		}
		if read(t, filepath.Join(w.Path, "node", "dep.txt")) != "ignored\n" {
			t.Error("what is ignored was not copied")
		}
		if entries, err := os.ReadDir(r.Dir); err != nil || len(entries) != 3 {
			t.Errorf("the directory holds %v, %v", entries, err)
		}
		r.GitIn(w.Path, "fsck", "--strict")
	})
}
