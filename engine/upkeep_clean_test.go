package engine_test

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestCleanPlansAsItRemoves: a dry run keeps a workspace whose merge waits, as a real run
// does.
func TestCleanPlansAsItRemoves(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
	if _, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []croft.DryRun{croft.DryRunOn, croft.DryRunOff} {
		res, err := e.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll, DryRun: dry, Agreed: &croft.Agreed{Workspaces: []croft.ID{w.ID}}})
		if err != nil || len(res.Removed) != 0 || len(res.Kept) != 1 || res.Kept[0].Reason.Code != croft.WorkspaceBusy {
			t.Errorf("dry run %q: %+v, %v, want it kept because its merge waits", dry, res, err)
		}
	}
}
