//go:build failpoints

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// rewinds returns a workspace that changed after a snapshot, and a task that rewinds it.
func rewinds(t *testing.T) (*gittest.Repo, task) { return rewindsIn(t, croft.ModeAuto) }

// rewindsIn is rewinds for a mode.
func rewindsIn(t *testing.T, mode croft.Mode) (*gittest.Repo, task) {
	r := workedIn(t, "a", mode)
	var id croft.ID
	brief(t, r, func(e *engine.Engine) {
		s, err := e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
		if err != nil {
			t.Fatal(err)
		}
		id = s.ID
	})
	path := pathOfA(r)
	for _, name := range []string{"turn", "untracked.txt", "sub"} {
		if err := os.RemoveAll(filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	writeIn(t, r, map[string]string{"turn/into.txt": "a directory\n", "second.txt": "second\n"})
	r.GitIn(path, "add", "--all")
	r.GitIn(path, "commit", "--quiet", "-m", "more work")
	writeIn(t, r, map[string]string{"staged again.txt": "staged\n"})
	r.GitIn(path, "add", "--all")
	writeIn(t, r, map[string]string{"second.txt": "changed\n", "later.txt": "untracked\n", ".env": "TOKEN=two\n", "later.log": "ignored\n"})
	pullA(t, r)
	later := stateOf(t, r)
	remember(t, r, "second", later)
	first := recall(t, r, "first")
	first.Files["later.log"] = later.Files["later.log"] // ignored files stay
	remember(t, r, "first", first)
	return r, task{Restore: &croft.RestoreRequest{Ref: string(id)}}
}

// undoneRewinds returns a workspace that was rewound, and a task that undoes the rewind.
func undoneRewinds(t *testing.T) (*gittest.Repo, task) {
	r, job := rewinds(t)
	brief(t, r, func(e *engine.Engine) { again(t, e, job) })
	first, second := recall(t, r, "first"), recall(t, r, "second")
	remember(t, r, "first", second)
	remember(t, r, "second", first)
	return r, task{Undo: &croft.UndoRequest{}}
}

// TestKilledRewind kills a process that rewinds a workspace, at every point. After the next
// call the workspace is entirely at the snapshot, or entirely as before.
func TestKilledRewind(t *testing.T) {
	for name, setting := range (settings{"Restore": rewinds, "Undo": undoneRewinds}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
				e := kill(t, r, job, n)
				want, before := recall(t, r, "first"), recall(t, r, "second")
				if r.GitIn(pathOfA(r), "rev-parse", "HEAD") == before.Head {
					wantState(t, r, e, before)
					again(t, e, job)
				}
				wantState(t, r, e, want)
			})
		})
	}
}

// TestKilledRewindThenDatabaseLost: a rewind was killed, and the database is lost, so that
// the next process knows only the repository. The workspace is still there, and so is its
// state, except for files that are not stored in the repository. A file that git ignored
// may have been untracked halfway, when .gitignore was gone: then it is in the snapshot
// that was taken before the rewind.
func TestKilledRewindThenDatabaseLost(t *testing.T) {
	eachPoint(t, rewinds, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		from := savedBefore(t, r)
		loseDatabase(t, r)
		e := engineIn(t, r, 0)
		if _, err := e.Doctor(t.Context(), croft.DoctorRequest{Fix: croft.FixAll}); err != nil {
			t.Fatal(err)
		}
		list, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
		if err != nil || len(list.Items) == 0 {
			t.Fatalf("Snapshots = %+v, %v", list, err)
		}
		for _, s := range list.Items {
			if string(s.ID) != job.Restore.Ref && (from == "" || s.ID == from) {
				again(t, e, task{Restore: &croft.RestoreRequest{Ref: string(s.ID)}})
			}
		}
		gc(t, e) // which deletes the files of a snapshot that was not finished
		want, got := recall(t, r, "second"), stateOf(t, r)
		want.Files[".env"] = got.Files[".env"]
		for _, name := range []string{"debug.log", "later.log", "build/out.o"} {
			if _, there := got.Files[name]; !there {
				wantSaved(t, r, e, name)
				delete(want.Files, name)
				delete(want.Files, "build")
			}
		}
		wantState(t, r, e, want)
	})
}

// savedBefore returns the snapshot that an interrupted rewind took before it began. Its
// recovery saves the state that it finds as another one.
func savedBefore(t *testing.T, r *gittest.Repo) croft.ID {
	t.Helper()
	j := database(t, r)
	defer j.Close()
	ops, err := j.Running(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var how struct{ From croft.Snapshot }
	for _, op := range ops {
		if op.Kind == "rewind" {
			if err := json.Unmarshal(op.Input, &how); err != nil {
				t.Fatal(err)
			}
		}
	}
	return how.From.ID
}

// wantSaved checks that some snapshot has a file.
func wantSaved(t *testing.T, r *gittest.Repo, e croft.Service, name string) {
	t.Helper()
	list, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Items {
		if strings.Contains(r.Git("ls-tree", "-r", "--name-only", s.Commit), "files/="+strings.ReplaceAll(name, "/", "%2F")+"\n") {
			return
		}
	}
	t.Errorf("%s is neither in the workspace nor in a snapshot", name)
}

// TestFailedRewind has every step fail instead: the workspace is as before.
func TestFailedRewind(t *testing.T) {
	for name, setting := range (settings{"Restore": rewinds, "Undo": undoneRewinds}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
				e := fail(t, r, job, n)
				wantState(t, r, e, recall(t, r, "second"))
				gc(t, e)
				wantState(t, r, e, recall(t, r, "second"))
				again(t, e, job)
				wantState(t, r, e, recall(t, r, "first"))
			})
		})
	}
}

// trashedRewinds returns a workspace that changed after a snapshot and was removed, and a
// task that restores it at the snapshot.
func trashedRewinds(t *testing.T) (*gittest.Repo, task) {
	r, job := rewinds(t)
	brief(t, r, func(e *engine.Engine) {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
		if err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
	})
	return r, job
}

// wantTrashedAgain undoes the last act and expects the workspace in the trash, in the state
// that it had there.
func wantTrashedAgain(t *testing.T, r *gittest.Repo, e croft.Service) {
	t.Helper()
	if _, err := e.Undo(t.Context(), croft.UndoRequest{Mode: croft.RemoveForce}); err != nil {
		t.Fatalf("Undo: %v", err)
	}
	wantTrashed(t, r, e)
	again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
	wantState(t, r, e, recall(t, r, "second"))
}

// TestKilledTrashedRewind kills a process that restores a removed workspace at a snapshot.
// After the next call the workspace is entirely in the trash, or entirely at the snapshot.
func TestKilledTrashedRewind(t *testing.T) {
	eachPoint(t, trashedRewinds, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		if len(names(t, e)) == 0 {
			wantTrashed(t, r, e)
			again(t, e, job)
		}
		wantState(t, r, e, recall(t, r, "first"))
		wantTrashedAgain(t, r, e)
	})
}

// TestFailedTrashedRewind has every step fail instead: the workspace is in the trash as
// before, and the only act that can be undone is its removal.
func TestFailedTrashedRewind(t *testing.T) {
	eachPoint(t, trashedRewinds, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := fail(t, r, job, n)
		wantTrashed(t, r, e)
		gc(t, e)
		wantTrashed(t, r, e)
		plan, err := e.PlanUndo(t.Context(), croft.UndoRequest{})
		if err != nil || plan.Operation.Kind != "remove" {
			t.Errorf("PlanUndo = %+v, %v, want the removal", plan, err)
		}
		again(t, e, job)
		wantState(t, r, e, recall(t, r, "first"))
	})
}

// TestRefusedTrashedRewind: the rewind is refused after the workspace was moved out of the
// trash. The workspace is moved back, also if the process died in between and another one
// recovers it.
func TestRefusedTrashedRewind(t *testing.T) {
	t.Parallel()
	r, job := trashedRewinds(t)
	e := engineIn(t, r, 0)
	out, err := run(t, helper(t, r, job, "CROFT_FAILPOINT=fail=snapshot.pinned"))
	if err == nil {
		t.Fatalf("it was to fail: %s", out)
	}
	wantTrashed(t, r, e)
	killed(t, helper(t, r, job, "CROFT_FAILPOINT=kill=rewind.restored"))
	out, err = run(t, helper(t, r, task{GC: true}, "CROFT_FAILPOINT=fail=rewind.amended"))
	if err != nil {
		t.Fatalf("recovery: %v: %s", err, out)
	}
	wantTrashed(t, r, e)
	again(t, e, job)
	wantState(t, r, e, recall(t, r, "first"))
}
