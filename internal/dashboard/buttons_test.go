package dashboard_test

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestButtonsByMergeStatus: what became of the work decides which of the buttons Merge, Discard and
// Undo merge a workspace has; one that is discarded or reverted has a label.
func TestButtonsByMergeStatus(t *testing.T) {
	s := newSite(t)
	shows := func(ws *croft.Workspace, status croft.MergeStatus, label string, buttons ...string) string {
		t.Helper()
		now, err := s.svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: croft.ByID(ws.ID), Scope: croft.ScopeAll})
		if err != nil || now.MergeStatus != status {
			t.Fatalf("it is %q, %v; want %q", now.MergeStatus, err, status)
		}
		page := s.get(s.at(ws, ""))
		want(t, string(status), page, `class="badge`, label)
		for _, b := range []string{"Merge into main", "Discard…", "Undo merge…"} {
			has, wants := strings.Contains(page, b), strings.Contains(strings.Join(buttons, "\n"), b)
			if has != wants {
				t.Errorf("%s: button %q: %v", status, b, has)
			}
		}
		return page
	}
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	s.finish(ws)
	shows(ws, croft.MergePending, "ready to merge", "Merge into main", "Discard…")

	s.merge(ws)
	s.merge(s.make("later", map[string]string{"b.txt": "b\n"}))
	want(t, "a merged one with another after it", shows(ws, croft.MergeMerged, "merged", "Undo merge…"), "1 merged after this")

	m, err := s.svc.SubmitRevert(t.Context(), croft.RevertRequest{Ref: "fix"})
	if err != nil {
		t.Fatal(err)
	}
	s.wait(m.ID)
	shows(ws, croft.MergeReverted, "reverted")

	spike := s.make("spike", map[string]string{"c.txt": "c\n"})
	if _, err := s.svc.Discard(t.Context(), croft.DiscardRequest{Workspaces: []croft.Ref{croft.ByID(spike.ID)}}); err != nil {
		t.Fatal(err)
	}
	shows(spike, croft.MergeDiscarded, "discarded")
}
