//go:build failpoints

package engine_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// exclusiveLease returns a workspace, and a task that takes an exclusive lease on it.
func exclusiveLease(t *testing.T) (*gittest.Repo, task) {
	r := gittest.New(t)
	brief(t, r, func(e *engine.Engine) { create(t, e, croft.CreateRequest{Name: "a"}) })
	return r, task{Lease: &croft.LeaseRequest{Key: "k", Workspace: "a", Mode: croft.LeaseExclusive}}
}

// TestKilledTakingOfLease kills a process that takes an exclusive lease. The same request by
// the next process has the same lease, in the name of that process; the epoch has grown once.
func TestKilledTakingOfLease(t *testing.T) {
	everyPoint(t, 1, exclusiveLease, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		var ids []croft.ID
		for range 2 {
			l, err := e.TakeLease(t.Context(), *job.Lease)
			if err != nil || l.Epoch != 1 {
				t.Fatalf("the second attempt: %+v, %v", l, err)
			}
			ids = append(ids, l.ID)
		}
		if got := show(t, e, "a").Lease; ids[0] != ids[1] || got == nil || got.ID != ids[0] {
			t.Errorf("leases %v, the workspace has %+v", ids, got)
		}
		other := croft.LeaseRequest{Workspace: "a", Owner: croft.Owner{Host: "elsewhere", PID: 7}}
		_, err := e.TakeLease(t.Context(), other)
		wantCode(t, err, croft.WorkspaceBusy)
	})
}

// TestKilledFinishUnderLease kills a process that finishes work under an exclusive lease. The
// same request again finishes it, or is answered with what the first has done.
func TestKilledFinishUnderLease(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, job := exclusiveLease(t)
		job.Lease.Owner, job.Lease.TTL = croft.Owner{Host: "elsewhere", PID: 7}, croft.Duration(time.Hour)
		finish := &croft.FinishRequest{Key: "f", Policy: croft.MergeNever}
		brief(t, r, func(e *engine.Engine) {
			gittest.WriteFile(t, filepath.Join(show(t, e, "a").Path, "f"), "work\n")
			var err error
			if finish.Lease, err = e.TakeLease(t.Context(), *job.Lease); err != nil {
				t.Fatal(err)
			}
		})
		return r, task{Finish: finish}
	}
	fewPoints(t, setting, func(t *testing.T, r *gittest.Repo, job task, n int) {
		e := kill(t, r, job, n)
		for range 2 {
			if _, err := e.Finish(t.Context(), *job.Finish); err != nil {
				t.Fatalf("the second attempt: %v", err)
			}
		}
		w := show(t, e, "a")
		if list, err := e.Merges(t.Context(), croft.MergesRequest{Scope: croft.ScopeAll}); err != nil || len(list.Items) != 1 || w.Lease != nil || w.MergeStatus != croft.MergePending {
			t.Errorf("merges %+v, %v, workspace %+v", list, err, w)
		}
		if got := r.GitIn(w.Path, "rev-list", "--count", w.Base+"..HEAD"); got != "1" {
			t.Errorf("%s commits", got)
		}
	})
}
