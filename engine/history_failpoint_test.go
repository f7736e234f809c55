//go:build failpoints

package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// undoneCreations returns a workspace that no agent has used yet, and a task that undoes
// its creation.
func undoneCreations(t *testing.T) (*gittest.Repo, task) {
	r := company(t)
	brief(t, r, func(e *engine.Engine) { create(t, e, croft.CreateRequest{Name: "a", Role: "a"}) })
	remember(t, r, "first", stateOf(t, r))
	return r, task{Undo: &croft.UndoRequest{}}
}

// TestKilledUndoOfCreation kills a process that undoes a creation. The workspace is in the
// trash as a whole, or stays.
func TestKilledUndoOfCreation(t *testing.T) {
	eachPoint(t, undoneCreations, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		if len(names(t, e)) > 0 {
			wantState(t, r, e, recall(t, r, "first"))
			again(t, e, job)
		}
		wantTrashed(t, r, e)
		wantUndone(t, e)
		again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
		wantState(t, r, e, recall(t, r, "first"))
	})
}

// wantUndone checks that the history shows the creation as undone.
func wantUndone(t *testing.T, e croft.Service) {
	t.Helper()
	list, err := e.History(t.Context(), croft.HistoryRequest{})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("History = %+v, %v", list, err)
	}
	if made := list.Items[len(list.Items)-1]; made.Kind != "create" || made.State != "undone" || made.IsUndoable {
		t.Errorf("the history says %+v, want a creation that was taken back", made)
	}
}

// TestKilledUndoOfTwo kills a process that undoes the creation of several workspaces: the
// workspaces that are left can be undone, too.
func TestKilledUndoOfTwo(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := company(t)
		var made *croft.List[croft.Operation]
		brief(t, r, func(e *engine.Engine) {
			if _, err := e.CreateAll(t.Context(), *threeRoles("default")); err != nil {
				t.Fatal(err)
			}
			var err error
			if made, err = e.History(t.Context(), croft.HistoryRequest{}); err != nil || len(made.Items) != 1 {
				t.Fatalf("History = %+v, %v", made, err)
			}
		})
		return r, task{Undo: &croft.UndoRequest{Operation: made.Items[0].ID}}
	}
	eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		if len(names(t, e)) > 0 {
			again(t, e, job)
		}
		items, err := e.Trash(t.Context(), croft.TrashRequest{})
		if err != nil || len(items.Items) != 3 || len(names(t, e)) != 0 {
			t.Errorf("trash %+v, %v, live %v", items, err, names(t, e))
		}
		wantUndone(t, e)
		wantTidy(t, r, e)
	})
}

// TestFailedUndoOfCreation has every step fail instead: the workspace is whole, at its path
// or in the trash.
func TestFailedUndoOfCreation(t *testing.T) {
	eachPoint(t, undoneCreations, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := fail(t, r, job, n)
		gc(t, e)
		if len(names(t, e)) > 0 { // its commits may already be in the archive, which does no harm
			wantWhole(t, r, e, recall(t, r, "first"))
			again(t, e, job)
		}
		wantTrashed(t, r, e)
		again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
		wantState(t, r, e, recall(t, r, "first"))
	})
}

// snapshots returns a workspace, and a task that takes a snapshot of it.
func snapshots(t *testing.T) (*gittest.Repo, task) {
	return worked(t, "a"), task{Snapshot: &croft.SnapshotRequest{Workspace: "a"}}
}

// TestInterruptedSnapshot kills or fails a process that takes a snapshot: the workspace is
// unchanged, and every snapshot that is listed can be restored.
func TestInterruptedSnapshot(t *testing.T) {
	for name, interrupt := range map[string]func(*testing.T, *gittest.Repo, task, int) *engine.Engine{"Killed": kill, "Failed": fail} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachPoint(t, snapshots, func(t *testing.T, r *gittest.Repo, job task, n int) {
				want := recall(t, r, "first")
				e := interrupt(t, r, job, n)
				wantState(t, r, e, want)
				again(t, e, job)
				list, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
				if err != nil || len(list.Items) == 0 {
					t.Fatalf("Snapshots = %+v, %v", list, err)
				}
				if secrets, _ := filepath.Glob(filepath.Join(stateDir(r), "secrets", "*", "*")); len(secrets) != len(list.Items) {
					t.Errorf("%d snapshots, and the secrets of %d", len(list.Items), len(secrets))
				}
				writeIn(t, r, map[string]string{"done.txt": "spoilt\n", ".env": "spoilt\n"})
				for _, s := range list.Items {
					again(t, e, task{Restore: &croft.RestoreRequest{Ref: string(s.ID)}})
					wantState(t, r, e, want)
				}
			})
		})
	}
}

// TestKilledTwice kills the process that recovers the operation of a killed process, too.
func TestKilledTwice(t *testing.T) {
	for name, c := range map[string]struct {
		setting func(t *testing.T) (*gittest.Repo, task)
		first   string
	}{
		"Restoration": {restorations, "kill=git.reregister.admin"},
		"Vanished":    {vanished, "kill=git.add.tree"},
		"Saved":       {savedRestorations, "kill=restore.unstowed"},
		"Rewind":      {rewinds, "kill=rewind.branch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			interrupted := func(t *testing.T) (*gittest.Repo, task) {
				r, job := c.setting(t)
				killed(t, helper(t, r, job, "CROFT_FAILPOINT="+c.first))
				return r, task{GC: true}
			}
			eachPoint(t, interrupted, func(t *testing.T, r *gittest.Repo, job task, n int) {
				e := kill(t, r, job, n)
				wantState(t, r, e, recall(t, r, "first"))
			})
		})
	}
}

// TestRestorationRolledBack: a restoration died halfway, and its path was taken since. The
// workspace stays in the trash as a whole, and the files at the path are not touched.
func TestRestorationRolledBack(t *testing.T) {
	for _, point := range []string{"restore.journalled", "restore.refs", "git.reregister.admin"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			r, job := restorations(t)
			killed(t, helper(t, r, job, "CROFT_FAILPOINT=kill="+point))
			foreign := filepath.Join(pathOfA(r), "foreign.txt")
			gittest.WriteFile(t, foreign, "mine\n")
			e := engineIn(t, r, 0)
			gc(t, e)
			if got := read(t, foreign); got != "mine\n" {
				t.Errorf("the foreign file is %q", got)
			}
			if err := os.RemoveAll(pathOfA(r)); err != nil {
				t.Fatal(err)
			}
			wantTrashed(t, r, e)
			again(t, e, job)
			wantState(t, r, e, recall(t, r, "first"))
		})
	}
}

// TestPlanAfterKilledRemoval: a plan to undo what was done last is about the act whose process was killed, if its recovery
// finishes it, and about the act before it only if its recovery rolls it back.
func TestPlanAfterKilledRemoval(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := company(t)
		brief(t, r, func(e *engine.Engine) {
			create(t, e, croft.CreateRequest{Name: "x"})
			create(t, e, croft.CreateRequest{Name: "later"})
		})
		return r, task{Remove: &croft.RemoveRequest{Workspaces: []string{"x"}}}
	}
	eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		plan, err := e.PlanUndo(t.Context(), croft.UndoRequest{})
		if err != nil {
			t.Fatal(err)
		}
		want := "create"
		if !slices.Contains(names(t, e), "x") {
			want = "remove"
		}
		if plan.Operation.Kind != want {
			t.Errorf("the plan is about %s of %s, with %v live", plan.Operation.Kind, plan.Operation.WorkspaceName, names(t, e))
		}
	})
}
