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

// hasty lets everything that is removed in a repository go at once.
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

// reductions is a removed workspace with commits, uncommitted work and what can
// be made again, whose time is over.
func reductions(t *testing.T) (*gittest.Repo, task) {
	r := worked(t, "a")
	r.Env = append(r.Env, hasty...)
	removeA(t, r)
	return r, task{GC: true}
}

// purges is one of which everything is in its target.
func purges(t *testing.T) (*gittest.Repo, task) {
	r := worked(t, "")
	r.GitIn(pathOfA(r), "add", "--all")
	r.GitIn(pathOfA(r), "commit", "--quiet", "-m", "all of it")
	r.Git("merge", "--quiet", "--no-ff", "-m", "merge", "croft/a")
	r.Env = append(r.Env, hasty...)
	removeA(t, r)
	return r, task{GC: true}
}

// savedPurges is one of which only a snapshot is left, for no time.
func savedPurges(t *testing.T) (*gittest.Repo, task) {
	r, _ := reductions(t)
	r.Env = append(r.Env, "CROFT_TRASH_SAVED_FOR=0s")
	brief(t, r, func(e *engine.Engine) { gc(t, e) })
	return r, task{GC: true}
}

// savedRestorations is one of which a snapshot is left, and its restoration.
func savedRestorations(t *testing.T) (*gittest.Repo, task) {
	r, _ := reductions(t)
	brief(t, r, func(e *engine.Engine) { gc(t, e) })
	remember(t, r, "first", withoutIgnored(recall(t, r, "first")))
	return r, task{Restore: &croft.RestoreRequest{Ref: "a"}}
}

// withoutIgnored is what of a state a snapshot keeps.
func withoutIgnored(s state) state {
	s.Files = maps.Clone(s.Files)
	maps.DeleteFunc(s.Files, func(name, _ string) bool {
		return strings.HasSuffix(name, ".log") || name == "build" || strings.HasPrefix(name, "build/")
	})
	return s
}

// wantReduced checks that of the workspace a snapshot is left, and nothing else.
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

// TestKilledReduction kills a process that deletes a directory from the trash at
// every point. The next gc finishes it, and the work can be restored.
func TestKilledReduction(t *testing.T) {
	eachPoint(t, reductions, func(t *testing.T, r *gittest.Repo, job task, n int) {
		want := withoutIgnored(recall(t, r, "first"))
		e := kill(t, r, job, n)
		wantReduced(t, r, e)
		again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
		wantState(t, r, e, want)
	})
}

// TestKilledReductionThenRestored: nobody tidies up in between. What comes back
// is the directory or the snapshot, whole either way.
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

// TestKilledReductionThenDatabaseLost: whoever comes after has nothing but the
// repository and the trash.
func TestKilledReductionThenDatabaseLost(t *testing.T) {
	eachPoint(t, reductions, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		loseDatabase(t, r)
		e := engineIn(t, r, 0)
		gc(t, e)
		wantReduced(t, r, e)
		again(t, e, task{Restore: &croft.RestoreRequest{Ref: "a"}})
		want := withoutIgnored(recall(t, r, "first"))
		if !exists(filepath.Join(pathOfA(r), ".env")) { // it is not stored in the repository
			delete(want.Files, ".env")
		}
		wantState(t, r, e, want)
	})
}

// TestInterruptedPurge kills or fails a process that lets go of what is finished,
// or of a snapshot.
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

// forgettings is a removed workspace of which nothing is left, and is not to be
// remembered.
func forgettings(t *testing.T) (*gittest.Repo, task) {
	r, job := purges(t)
	r.Env = append(r.Env, "CROFT_TRASH_SAVED_FOR=0s")
	for range 2 { // the refs that kept its commits go with the second
		brief(t, r, func(e *engine.Engine) { gc(t, e) })
	}
	r.Env = append(r.Env, "CROFT_HISTORY_RETENTION=0s")
	return r, job
}

// TestInterruptedForgetting kills or fails a process that forgets. The next gc
// forgets, and nobody notices anything.
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

// TestFailedRestorationAfterKilledReduction: the directory went, nobody wrote
// that down, and bringing the work back from the snapshot fails, too. Half a
// restoration is not taken for the directory.
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

// TestGCAsksAgain: what nothing needed when gc looked, and something needs when gc has the
// project's lock, stays.
func TestGCAsksAgain(t *testing.T) {
	t.Parallel()
	r := worked(t, "")
	r.Env = append(r.Env, hasty...)
	var id croft.ID
	brief(t, r, func(e *engine.Engine) { id = show(t, e, "a").ID })
	gittest.WriteFile(t, filepath.Join(stateDir(r), "trash", string(id)+".json"), "{}") // of a removal that is over
	resume := pausedAt(t, r, task{GC: true}, "gc.marked")
	removeA(t, r)
	brief(t, r, func(e *engine.Engine) { gc(t, e) })
	if got := r.Git("for-each-ref", "--format=%(refname)", "refs/croft/archive/*/work"); got == "" {
		t.Fatal("its work was not saved")
	}
	resume()
	wantWork(t, r)
}

// TestGCBesideSnapshot: the private files of a snapshot that was pinned just before gc got
// their lock stay.
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

// pausedAt starts a task and returns when it has come to a point; resume lets it end.
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
