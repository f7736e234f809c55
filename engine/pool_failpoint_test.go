//go:build failpoints

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestKilledTakingOfMoved kills a process at each kind of point of taking, when every spare is of another commit: taken and moved,
// copied and moved, and compared. What is handed out afterwards has the content of its commit, whatever the times of files say.
func TestKilledTakingOfMoved(t *testing.T) {
	r, job := stocked(t)
	log := filepath.Join(r.Home, "points")
	if out, err := run(t, helper(t, r, job, "CROFT_FAILPOINT=log="+log)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	seen := map[string]int{}
	for name := range strings.FieldsSeq(read(t, log)) {
		if strings.HasPrefix(name, "pool.") || strings.HasPrefix(name, "git.add.ready.") {
			seen[name]++
		}
	}
	want := map[string]int{
		"pool.claimed": 2, "pool.begun": 1, "pool.made": 1, "pool.recorded": 1, "pool.copied": 1, "pool.moved": 3, "pool.taken": 3,
		"git.add.ready.recorded": 3, "git.add.ready.tree": 3,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Fatalf("points (-want +passed):\n%s", diff)
	}
	for name, n := range want {
		if os.Getenv("CROFT_LONG") == "" {
			n = 1
		}
		for k := range n {
			point := fmt.Sprintf("%s#%d", name, k+1)
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				r, job := stocked(t)
				killed(t, helper(t, r, job, "CROFT_FAILPOINT=kill="+point))
				e := engineIn(t, r, 0)
				gc(t, e)
				if !wereHandedOut(t, e, job) {
					wantCreated(t, r, e, job)
				}
				wantSoundPool(t, r, e)
				list, err := e.Workspaces(t.Context(), croft.WorkspacesRequest{})
				check(t, err)
				for _, w := range list.Items {
					wantContent(t, r, w)
				}
			})
		}
	}
}

// wantContent hashes the files of a workspace, but for those of its role.
func wantContent(t *testing.T, r *gittest.Repo, w croft.Workspace) {
	t.Helper()
	fresh := *r
	fresh.Env = append(slices.Clone(r.Env), "GIT_INDEX_FILE="+filepath.Join(t.TempDir(), "index"))
	fresh.GitIn(w.Path, "read-tree", w.Base)
	_, _ = fresh.TryGit(w.Path, "update-index", "-q", "--refresh")
	if got := fresh.GitIn(w.Path, "diff-files", "--name-only"); w.Role == "" && got != "" || strings.TrimSpace(strings.Replace(got, "CLAUDE.md", "", 1)) != "" {
		t.Errorf("%s differs from its commit in %q", w.Name, got)
	}
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
