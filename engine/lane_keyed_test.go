package engine_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestFinishAgain: the same call with the same key has the same answer, also when the
// workspace is removed by then, and when another workspace has its name.
func TestFinishAgain(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "f"), "work\n")
	lease, err := e.TakeLease(t.Context(), croft.LeaseRequest{Workspace: string(w.ID)})
	if err != nil {
		t.Fatal(err)
	}
	byName := croft.FinishRequest{Key: "k", Workspace: "a", Policy: croft.MergeAlways}
	byLease := croft.FinishRequest{Key: "l", Lease: lease}
	first, err := e.Finish(t.Context(), byLease)
	if err != nil {
		t.Fatal(err)
	}
	second, err := e.Finish(t.Context(), byName)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: second.ID}); err != nil {
		t.Fatal(err)
	}
	if got := names(t, e); len(got) != 0 {
		t.Fatalf("the workspace is still there: %v", got)
	}
	again := func() {
		t.Helper()
		if m, err := e.Finish(t.Context(), byName); err != nil || m.ID != second.ID {
			t.Errorf("by name again: %+v, %v, want %s", m, err, second.ID)
		}
		if m, err := e.Finish(t.Context(), byLease); err != nil || m.ID != first.ID {
			t.Errorf("by lease again: %+v, %v, want %s", m, err, first.ID)
		}
	}
	again()
	create(t, e, croft.CreateRequest{Name: "a"})
	again()
	byName.Outcome = croft.Failed
	_, err = e.Finish(t.Context(), byName)
	wantCode(t, err, croft.KeyConflict)
}

// TestFinishKeyOverProcesses: of many processes with one key, one acts, and all get the
// same answer.
func TestFinishKeyOverProcesses(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "f"), "work\n")
	for _, job := range []task{
		{Finish: &croft.FinishRequest{Key: "k", Workspace: "a", Outcome: croft.Failed}},
		{Merge: []croft.MergeRequest{{Key: "k", Workspace: "a", After: croft.AfterKeep}}},
	} {
		out := atOnce(t, 6, func(int) *exec.Cmd { return helper(t, r, job) })
		for _, got := range out {
			if got != out[0] || strings.Contains(got, string(croft.Internal)) || strings.Contains(got, string(croft.GitFailed)) {
				t.Errorf("processes answered %q and %q", got, out[0])
			}
		}
		list, err := e.Merges(t.Context(), croft.MergesRequest{Scope: croft.ScopeAll})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(list.Items); job.Finish != nil && n != 1 || job.Finish == nil && n != 2 {
			t.Errorf("%d merges: %+v", n, list)
		}
	}
}

// TestNameLikeAnID: a workspace cannot be given another workspace's ID as its name, so that
// the ID stays unambiguous.
func TestNameLikeAnID(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	a := create(t, e, croft.CreateRequest{Name: "a"})
	_, err := e.Create(t.Context(), croft.CreateRequest{Name: string(a.ID)})
	wantCode(t, err, croft.InvalidName)
	if got := show(t, e, string(a.ID)); got.Name != "a" {
		t.Errorf("the ID of a is %q's", got.Name)
	}
	gittest.WriteFile(t, filepath.Join(a.Path, "f"), "work\n")
	m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = e.Create(t.Context(), croft.CreateRequest{Name: string(m.ID)})
	wantCode(t, err, croft.InvalidName)
	create(t, e, croft.CreateRequest{Name: "0123456789abcdef"}) // has the form of an ID, and is the ID of no workspace
}
