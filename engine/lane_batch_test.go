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

// submitFile submits the work of a new workspace, one file.
func submitFile(t *testing.T, e *engine.Engine, name, target, file, text string) croft.ID {
	t.Helper()
	w := create(t, e, croft.CreateRequest{Name: name})
	gittest.WriteFile(t, filepath.Join(w.Path, file), text)
	m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// approveChecks approves the checks of a target.
func approveChecks(t *testing.T, e *engine.Engine) {
	t.Helper()
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Approve(t.Context(), croft.ApproveRequest{Hash: plan.Hash}); err != nil {
		t.Fatal(err)
	}
}

// TestRulesEndABatch: a merge that brings checks, or takes them away, lands by itself. What
// waits behind it is merged as the new rules say, and so does not land unchecked.
func TestRulesEndABatch(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	ids := []croft.ID{
		submitFile(t, e, "before", "", "before", "x"),
		submitFile(t, e, "rules", "", "croft.toml", "[merge]\nchecks = ['false']\n"),
		submitFile(t, e, "behind", "", "behind", "x"),
	}
	if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
		t.Fatal(err)
	}
	for i, want := range []croft.Code{"", "", croft.ChecksUntrusted} {
		m, err := e.Merge(t.Context(), croft.GetRequest{Ref: croft.Ref(ids[i])})
		if err != nil || m.Reason != want || m.State != croft.MergeDone {
			t.Errorf("%s ended with %q, want %q: %+v, %v", m.WorkspaceName, m.Reason, want, m, err)
		}
	}
	if _, err := os.Stat(filepath.Join(r.Dir, "behind")); err == nil {
		t.Error("work landed unchecked that waited behind the checks")
	}
}

// TestSlotsOfAllLanes: two lanes are driven at once, by two engines. With one slot their
// checks run one after the other.
func TestSlotsOfAllLanes(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	out := t.TempDir()
	r.Write("croft.toml", fmt.Sprintf("[merge]\nchecks = ['mkdir %[1]s/running || touch %[1]s/two; sleep 0.3; rmdir %[1]s/running']\n", out))
	r.Commit("checks")
	r.Git("branch", "other")
	engines := []*engine.Engine{engineIn(t, r, 0), engineIn(t, r, 0)}
	approveChecks(t, engines[0])
	ids := []croft.ID{submitFile(t, engines[0], "a", "main", "a", "x"), submitFile(t, engines[0], "b", "other", "b", "x")}
	ended := make(chan *croft.Merge, 2)
	for i, e := range engines {
		go func() {
			m, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: ids[i]})
			if err != nil {
				t.Error(err)
			}
			ended <- m
		}()
	}
	for range engines {
		if m := <-ended; m == nil || m.Status != croft.MergeMerged {
			t.Errorf("%+v", m)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "two")); err == nil {
		t.Error("two checks ran at once, and there is one slot")
	}
}
