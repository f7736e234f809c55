//go:build failpoints

package engine_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// landings returns three workspaces, of which the last conflicts with the first, a checkout
// of the target with the user's uncommitted work, and a task that merges all three.
func landings(t *testing.T) (*gittest.Repo, task) {
	t.Helper()
	r := company(t)
	r.Write("staged.txt", "the user's\n")
	r.Git("add", "staged.txt")
	var job task
	brief(t, r, func(e *engine.Engine) {
		for _, name := range []string{"a", "b", "c"} {
			w := create(t, e, croft.CreateRequest{Name: name})
			gittest.WriteFile(t, filepath.Join(w.Path, name+".txt"), name+"\n")
			gittest.WriteFile(t, filepath.Join(w.Path, "dir", name, "deep.txt"), name+"\n")
			if name != "b" {
				gittest.WriteFile(t, filepath.Join(w.Path, "README.md"), name+" was here\n")
			}
			job.Merge = append(job.Merge, croft.MergeRequest{Workspace: name})
		}
	})
	return r, job
}

// wantNoReverse fails if the checkout of the target shows commits of the target as undone.
// It is called right after a crash, before any recovery.
func wantNoReverse(t *testing.T, r *gittest.Repo) {
	t.Helper()
	for line := range strings.Lines(r.Git("--no-optional-locks", "status", "--porcelain", "--untracked-files=all")) {
		if strings.HasPrefix(line, "D") || strings.HasPrefix(line, " D") {
			t.Errorf("the user's checkout shows %s", line)
		}
	}
	if got := r.Git("show", "main:README.md"); got == "a was here" && read(t, filepath.Join(r.Dir, "README.md")) != "a was here\n" {
		t.Error("the target has the change, and its checkout shows the undoing of it")
	}
}

// wantLanded runs the queue to its end and checks that each workspace is merged exactly
// once, or reported.
func wantLanded(t *testing.T, r *gittest.Repo, e *engine.Engine, job task) {
	t.Helper()
	for _, req := range job.Merge {
		if w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: req.Workspace}); err == nil && w.MergeStatus == "" {
			if _, err := e.SubmitMerge(t.Context(), req); err != nil { // its merge had not been submitted yet
				t.Fatal(err)
			}
		}
	}
	if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
		t.Fatal(err)
	}
	all, err := e.Merges(t.Context(), croft.MergesRequest{Scope: croft.ScopeAll})
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]string{}
	for _, m := range all.Items {
		if m.State != croft.MergeDone {
			t.Errorf("%s has not ended: %+v", m.Workspace, m)
		}
		status[m.WorkspaceName] += fmt.Sprint(m.Status, " ", m.Reason, ";")
	}
	for name, want := range map[string]string{"a": "merged ;", "b": "merged ;", "c": "pending CONFLICT;"} {
		if status[name] != want {
			t.Errorf("%s ended as %q, want %q", name, status[name], want)
		}
	}
	if got := r.Git("log", "--first-parent", "--format=%s", "--merges", "main"); got != "Merge branch 'croft/b'\nMerge branch 'croft/a'" {
		t.Errorf("main has\n%s", got)
	}
	if got := r.Git("status", "--porcelain"); got != "A  staged.txt\n?? wip.txt" {
		t.Errorf("main's status %q", got)
	}
	if got := read(t, filepath.Join(r.Dir, "dir", "b", "deep.txt")); got != "b\n" {
		t.Errorf("a file that landed is %q", got)
	}
	r.Git("fsck", "--strict", "--no-dangling")
	wantNoLocks(t, r)
}

// TestKilledMerge kills a process that merges, at every point. After the next process each
// workspace is merged exactly once, or has a reason why not.
func TestKilledMerge(t *testing.T) {
	eachPoint(t, landings, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		wantNoReverse(t, r)
		e := engineIn(t, r, 0)
		gc(t, e)
		wantLanded(t, r, e, job)
	})
}

// TestKilledMergeAgain kills a process that merges, at every point, and asks again for the merge. The answer
// names the commit, and one undo takes back what was merged and removed.
func TestKilledMergeAgain(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, job := landings(t)
		return r, task{Merge: job.Merge[:1]}
	}
	eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		m, err := e.SubmitMerge(t.Context(), job.Merge[0])
		if err == nil {
			m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		}
		if !errors.Is(err, croft.WorktreeNotFound) && (err != nil || m.Status != croft.MergeMerged || m.Commit != r.Git("rev-parse", "main")) {
			t.Errorf("%+v, %v", m, err)
		}
		if _, err := e.Undo(t.Context(), croft.UndoRequest{}); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"}); err != nil || r.Git("ls-tree", "--name-only", "main", "a.txt") != "" {
			t.Errorf("%v, and main has\n%s", err, r.Git("ls-tree", "--name-only", "main"))
		}
	})
}

// TestFailedMerge has every step fail instead.
func TestFailedMerge(t *testing.T) {
	eachPoint(t, landings, func(t *testing.T, r *gittest.Repo, job task, n int) {
		out, err := run(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=fail=#%d", n)))
		if err != nil && strings.Contains(out, untyped) {
			t.Errorf("a failure without a code: %s", out)
		}
		wantNoReverse(t, r)
		e := engineIn(t, r, 0)
		gc(t, e)
		wantLanded(t, r, e, job)
	})
}

// TestKilledRevert kills a process that reverts a merge.
func TestKilledRevert(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, job := landings(t)
		brief(t, r, func(e *engine.Engine) {
			if err := (task{Merge: job.Merge[:2]}).bringBack(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		})
		return r, task{Revert: &croft.RevertRequest{Ref: "a"}}
	}
	eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
			t.Fatal(err)
		}
		if exists(filepath.Join(r.Dir, "a.txt")) { // the revert had not been queued yet
			if err := job.bringBack(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if exists(filepath.Join(r.Dir, "a.txt")) || !exists(filepath.Join(r.Dir, "b.txt")) {
			t.Error("not what a revert leaves")
		}
		if got := strings.Count(r.Git("log", "--format=%s", "main"), "Revert"); got != 1 {
			t.Errorf("%d reverts", got)
		}
		if got := r.Git("status", "--porcelain"); got != "A  staged.txt\n?? wip.txt" {
			t.Errorf("main's status %q", got)
		}
		wantNoLocks(t, r)
	})
}

// TestKilledDiscard kills a process that discards.
func TestKilledDiscard(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, _ := landings(t)
		return r, task{Discard: &croft.DiscardRequest{Key: "k", Workspaces: []string{"a"}}}
	}
	eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		gc(t, e)
		if w, err := e.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"}); err == nil {
			if w.State != croft.Ready {
				t.Errorf("half a discard: %+v", w)
			}
			if err := job.bringBack(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(pathOfA(r), "a.txt")); got != "a\n" {
			t.Errorf("restored %q", got)
		}
	})
}

// TestMergeWithoutMemory: there is no room in memory for the first merge. It is computed on
// disk, with the same result.
func TestMergeWithoutMemory(t *testing.T) {
	r, job := landings(t)
	if out, err := run(t, helper(t, r, job, "CROFT_FAILPOINT=nospace=attempts.memory")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantLanded(t, r, engineIn(t, r, 0), job)
}
