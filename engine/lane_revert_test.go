package engine_test

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestRevertOfWorkAlreadyReverted: a user has reverted the work of a merge with git. Croft
// refuses to revert it, and to plan that: there is nothing to commit.
func TestRevertOfWorkAlreadyReverted(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "work.txt"), "work\n")
	m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	r.Git("rm", "--quiet", "work.txt")
	r.Git("commit", "--quiet", "-m", "by hand")
	before := r.Git("rev-parse", "main")
	_, err = e.PlanRevert(t.Context(), croft.RevertRequest{Merge: m.ID})
	wantCode(t, err, croft.NotMerged)
	_, err = croft.Revert(t.Context(), e, croft.RevertRequest{Merge: m.ID})
	wantCode(t, err, croft.NotMerged)
	if got := r.Git("rev-parse", "main"); got != before {
		t.Errorf("main is at %s, was at %s", got, before)
	}
}
