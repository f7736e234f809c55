//go:build failpoints

package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// hasty sets all retention times of a repository to zero.
var hasty = []string{"CROFT_TRASH_RETENTION=0s", "CROFT_TRASH_NOTICE=0s", "CROFT_TRASH_REGENERABLE_AFTER=0s"}

// removeA removes the workspace a by force.
func removeA(t *testing.T, r *gittest.Repo) {
	t.Helper()
	brief(t, r, func(e *engine.Engine) {
		res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
		if err != nil || len(res.Removed) != 1 {
			t.Fatalf("Remove = %+v, %v", res, err)
		}
	})
}

// reductions returns a removed workspace with commits, uncommitted work and regenerable
// files, whose time in the trash is over, and a task that runs gc.
func reductions(t *testing.T) (*gittest.Repo, task) {
	r := worked(t, "a")
	r.Env = append(r.Env, hasty...)
	removeA(t, r)
	return r, task{GC: true}
}

// purges is reductions for a workspace whose work is all in its target, and that has no ignored file which snapshots save.
func purges(t *testing.T) (*gittest.Repo, task) {
	r := worked(t, "")
	if err := os.Remove(filepath.Join(pathOfA(r), ".env")); err != nil {
		t.Fatal(err)
	}
	r.GitIn(pathOfA(r), "add", "--all")
	r.GitIn(pathOfA(r), "commit", "--quiet", "-m", "all of it")
	r.Git("merge", "--quiet", "--no-ff", "-m", "merge", "croft/a")
	r.Env = append(r.Env, hasty...)
	removeA(t, r)
	return r, task{GC: true}
}

// savedPurges is reductions for a workspace of which only a snapshot is left, with a
// retention of zero.
func savedPurges(t *testing.T) (*gittest.Repo, task) {
	r, _ := reductions(t)
	r.Env = append(r.Env, "CROFT_TRASH_SAVED_FOR=0s")
	brief(t, r, func(e *engine.Engine) { gc(t, e) })
	return r, task{GC: true}
}

// savedRestorations returns a workspace of which a snapshot is left, and a task that
// restores it.
func savedRestorations(t *testing.T) (*gittest.Repo, task) {
	r, _ := reductions(t)
	brief(t, r, func(e *engine.Engine) { gc(t, e) })
	remember(t, r, "first", withoutIgnored(recall(t, r, "first")))
	return r, task{Restore: &croft.RestoreRequest{Ref: "a"}}
}

// withoutIgnored returns the part of a state that a snapshot keeps.
func withoutIgnored(s state) state {
	s.Files = maps.Clone(s.Files)
	maps.DeleteFunc(s.Files, func(name, _ string) bool {
		return strings.HasSuffix(name, ".log") || name == "build" || strings.HasPrefix(name, "build/")
	})
	return s
}

// wantReduced checks that a snapshot of the workspace is left, and nothing else.
func wantReduced(t *testing.T, r *gittest.Repo, e croft.Service) {
	t.Helper()
	wantTrashed(t, r, e)
	items, err := e.Trash(t.Context(), croft.TrashRequest{})
	if err != nil || len(items.Items) != 1 || items.Items[0].Left != croft.LeftSnapshot {
		t.Errorf("trash %+v, %v, want a snapshot", items, err)
	}
	wantNoTrash(t, r)
}

func trashIn(r *gittest.Repo) string {
	return filepath.Join(filepath.Dir(r.Dir), "app.croft", ".trash")
}

func wantNoTrash(t *testing.T, r *gittest.Repo) {
	t.Helper()
	entries, _ := os.ReadDir(trashIn(r))
	for _, entry := range entries {
		t.Errorf("on disk in the trash: %s", entry.Name())
	}
}

// TestKilledReduction kills a process that deletes a directory from the trash, at every
// point. The next gc finishes the deletion, and the work can be restored.
func TestKilledReduction(t *testing.T) {
	eachPoint(t, reductions, func(t *testing.T, r *gittest.Repo, job task, n int) {
		want := withoutIgnored(recall(t, r, "first"))
		e := kill(t, r, job, n)
		wantReduced(t, r, e)
		again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
		wantState(t, r, e, want)
	})
}

// TestKilledReductionThenRestored: the workspace is restored without a gc in between. It
// comes back from the directory or from the snapshot, as a whole.
func TestKilledReductionThenRestored(t *testing.T) {
	eachPoint(t, reductions, func(t *testing.T, r *gittest.Repo, job task, n int) {
		want := recall(t, r, "first")
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		findings, err := e.Doctor(t.Context(), croft.DoctorRequest{})
		if err != nil || slices.ContainsFunc(findings.Findings, func(f croft.Finding) bool { return strings.HasPrefix(f.Code, "TRASH_") }) {
			t.Errorf("what is being deleted was not moved: %+v, %v", findings, err)
		}
		again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
		path := pathOfA(r)
		switch {
		case !exists(filepath.Join(path, "debug.log")):
			want = withoutIgnored(want)
		case !exists(filepath.Join(path, "build")):
			delete(want.Files, "build")
			delete(want.Files, "build/out.o")
		}
		wantWhole(t, r, e, want)
		gc(t, e)
		wantState(t, r, e, want)
		wantNoTrash(t, r)
	})
}

// TestFailedReduction has every step fail instead.
func TestFailedReduction(t *testing.T) {
	eachPoint(t, reductions, func(t *testing.T, r *gittest.Repo, job task, n int) {
		want := withoutIgnored(recall(t, r, "first"))
		e := fail(t, r, job, n)
		wantTrashed(t, r, e)
		gc(t, e)
		wantReduced(t, r, e)
		again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
		wantState(t, r, e, want)
	})
}

// TestKilledReductionThenDatabaseLost: the database is lost, too, so that the next process
// knows only the repository and the trash.
func TestKilledReductionThenDatabaseLost(t *testing.T) {
	eachPoint(t, reductions, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		loseDatabase(t, r)
		e := engineIn(t, r, 0)
		gc(t, e)
		wantReduced(t, r, e)
		again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
		want := withoutIgnored(recall(t, r, "first"))
		if !exists(filepath.Join(pathOfA(r), ".env")) { // this file is not stored in the repository
			delete(want.Files, ".env")
		}
		wantState(t, r, e, want)
	})
}

// TestInterruptedPurge kills or fails a process that purges a finished workspace, or a
// snapshot.
func TestInterruptedPurge(t *testing.T) {
	for name, interrupt := range map[string]func(*testing.T, *gittest.Repo, task, int) *engine.Engine{"Killed": kill, "Failed": fail} {
		for kind, setting := range (settings{"Finished": purges, "Saved": savedPurges}) {
			t.Run(name+kind, func(t *testing.T) {
				t.Parallel()
				eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
					tip := strings.TrimSpace(r.Git("for-each-ref", "--format=%(objectname)", "refs/croft/archive/*/head"))
					e := interrupt(t, r, job, n)
					gc(t, e)
					if items, err := e.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(items.Items) != 0 {
						t.Errorf("trash %+v, %v", items, err)
					}
					if refs := r.Git("for-each-ref", "refs/croft/archive/*/work"); refs != "" {
						t.Errorf("the snapshot is left: %s", refs)
					}
					if secrets, _ := filepath.Glob(filepath.Join(stateDir(r), "secrets", "*", "*")); len(secrets) != 0 {
						t.Errorf("secrets are left: %v", secrets)
					}
					wantNoTrash(t, r)
					wantTidy(t, r, e)
					if got := r.Git("cat-file", "-t", tip); got != "commit" {
						t.Error("the archived commit is gone")
					}
				})
			})
		}
	}
}

// forgettings returns a removed workspace of which nothing is left and whose record has
// expired, and a task that runs gc.
func forgettings(t *testing.T) (*gittest.Repo, task) {
	r, job := purges(t)
	r.Env = append(r.Env, "CROFT_TRASH_SAVED_FOR=0s")
	for range 2 { // the second gc deletes the refs that kept its commits
		brief(t, r, func(e *engine.Engine) { gc(t, e) })
	}
	r.Env = append(r.Env, "CROFT_HISTORY_RETENTION=0s")
	return r, job
}

// TestInterruptedForgetting kills or fails a process that deletes expired records. The next
// gc deletes them, and no other command fails.
func TestInterruptedForgetting(t *testing.T) {
	for name, interrupt := range map[string]func(*testing.T, *gittest.Repo, task, int) *engine.Engine{"Killed": kill, "Failed": fail} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachPoint(t, forgettings, func(t *testing.T, r *gittest.Repo, job task, n int) {
				e := interrupt(t, r, job, n)
				if findings, err := e.Doctor(t.Context(), croft.DoctorRequest{}); err != nil || len(findings.Findings) != 0 {
					t.Errorf("the doctor: %+v, %v", findings, err)
				}
				gc(t, e)
				if ids := known(t, r); len(ids) != 0 {
					t.Errorf("known are %v", ids)
				}
				wantTidy(t, r, e)
			})
		})
	}
}

// TestFailedRestorationAfterKilledReduction: the directory was deleted, which was not
// recorded, and the restoration from the snapshot fails, too. A partial restoration is not
// used as the directory.
func TestFailedRestorationAfterKilledReduction(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, job := reductions(t)
		killed(t, helper(t, r, job, "CROFT_FAILPOINT=kill=trash.renamed"))
		return r, task{Restore: &croft.RestoreRequest{Ref: "a"}}
	}
	eachPoint(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		want := withoutIgnored(recall(t, r, "first"))
		e := fail(t, r, job, n)
		gc(t, e)
		wantReduced(t, r, e)
		again(t, e, job)
		wantState(t, r, e, want)
	})
}

// TestGCAsksAgain: a file that nothing needed when gc listed it, and that a record needs
// when gc has the project's lock, stays.
func TestGCAsksAgain(t *testing.T) {
	t.Parallel()
	r := worked(t, "")
	r.Env = append(r.Env, hasty...)
	var id croft.ID
	brief(t, r, func(e *engine.Engine) { id = show(t, e, "a").ID })
	gittest.WriteFile(t, filepath.Join(stateDir(r), "trash", string(id)+".json"), "{}") // of a removal that has ended
	resume := pausedAt(t, r, task{GC: true}, "gc.marked")
	removeA(t, r)
	brief(t, r, func(e *engine.Engine) { gc(t, e) })
	if got := r.Git("for-each-ref", "--format=%(refname)", "refs/croft/archive/*/work"); got == "" {
		t.Fatal("its work was not saved")
	}
	resume()
	wantWork(t, r)
}

// TestGCBesideSnapshot: gc keeps the private files of a snapshot that was pinned just
// before gc got their lock.
func TestGCBesideSnapshot(t *testing.T) {
	t.Parallel()
	r := worked(t, "")
	save := pausedAt(t, r, task{Snapshot: &croft.SnapshotRequest{Workspace: "a"}}, "snapshot.saved")
	collect := pausedAt(t, r, task{GC: true}, "gc.secrets")
	save()
	collect()
	if dirs, err := filepath.Glob(filepath.Join(stateDir(r), "secrets", "*", "*")); err != nil || len(dirs) != 1 {
		t.Errorf("private files: %v, %v, want the snapshot's", dirs, err)
	}
}

// pausedAt starts a task and returns when it has reached a failpoint; resume lets it end.
func pausedAt(t *testing.T, r *gittest.Repo, job task, point string) (resume func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pause")
	cmd := helper(t, r, job, "CROFT_FAILPOINT=pause="+file+"#"+point)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if exists(file + ".paused") {
			return func() {
				t.Helper()
				if err := errors.Join(os.WriteFile(file+".go", nil, 0o644), cmd.Wait()); err != nil {
					t.Fatal(err)
				}
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("it does not come to %s", point)
	return nil
}
