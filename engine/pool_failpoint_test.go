//go:build failpoints

package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// stocked is a setting with a full pool: three workspaces are made of it.
func stocked(t *testing.T) (*gittest.Repo, task) {
	r := company(t)
	fillPool(t, engineIn(t, r, 0), 3)
	r.Write("later.txt", "the pool does not have it yet\n")
	r.Git("add", "later.txt")
	r.Git("commit", "--quiet", "-m", "later")
	return r, task{Create: threeRoles("default")}
}

// wantSoundPool wants a pool from which whole checkouts are made, and nothing else in its directory.
func wantSoundPool(t *testing.T, r *gittest.Repo, e croft.Service) {
	t.Helper()
	p := fillPool(t, e, 3)
	eachSpare(t, p, func(string) error { return nil })
	w := created(t, e, "sound", croft.MadeFromPool)
	if got := r.GitIn(w.Path, "status", "--porcelain"); got != "" {
		t.Errorf("status: %q", got)
	}
}

// TestKilledTaking kills a process that makes workspaces from the pool, at every point between two effects.
func TestKilledTaking(t *testing.T) {
	eachPoint(t, stocked, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		e := engineIn(t, r, 0)
		gc(t, e)
		if !wereHandedOut(t, e, job) {
			wantCreated(t, r, e, job)
		}
		wantSoundPool(t, r, e)
	})
}

// TestFailedTaking has every step fail instead.
func TestFailedTaking(t *testing.T) {
	eachPoint(t, stocked, func(t *testing.T, r *gittest.Repo, job task, n int) {
		if out, err := run(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=fail=#%d", n))); err == nil {
			t.Logf("the creation went on without the pool: %s", out)
		}
		e := engineIn(t, r, 0)
		wantCreated(t, r, e, job)
		wantSoundPool(t, r, e)
	})
}

// TestKilledFilling kills a process that fills the pool.
func TestKilledFilling(t *testing.T) {
	eachPoint(t, func(t *testing.T) (*gittest.Repo, task) {
		r, job := stocked(t)
		created(t, engineIn(t, r, 0), "taken", croft.MadeFromPool)
		job.Create, job.Call, job.Request = nil, "ChangePool", json.RawMessage("{}")
		return r, job
	}, func(t *testing.T, r *gittest.Repo, job task, n int) {
		killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill=#%d", n)))
		wantSoundPool(t, r, engineIn(t, r, 0))
	})
}
