package servicetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

// gone returns a workspace that was removed, and fails the test if it is not in the trash.
func (f *fixture) gone(ref string) croft.Workspace {
	f.t.Helper()
	w, err := f.Workspace(f.t.Context(), croft.WorkspaceRequest{Ref: ref, Scope: croft.ScopeAll})
	must(f.t, err)
	if w.State != croft.Trashed || w.RemovedAt.IsZero() || !w.KeptUntil.After(w.RemovedAt) {
		f.t.Errorf("%+v", w)
	}
	return *w
}

// GoneStatus: the status of a workspace's work can be read after the workspace was removed.
func (finishScenarios) GoneStatus(t *testing.T, f *fixture) {
	for name, end := range map[string]func(w croft.Workspace) (status croft.MergeStatus, commit string){
		"finished": func(w croft.Workspace) (croft.MergeStatus, string) {
			m, err := f.Finish(t.Context(), croft.FinishRequest{Workspace: w.Name, Policy: croft.MergeAlways})
			if err == nil {
				m, err = f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
			}
			must(t, err)
			return croft.MergeMerged, m.Commit
		},
		"reverted": func(w croft.Workspace) (croft.MergeStatus, string) {
			m := f.merge(croft.MergeRequest{Workspace: w.Name})
			must(t, errOf(croft.Revert(t.Context(), f, croft.RevertRequest{Merge: m.ID})))
			return croft.MergeReverted, m.Commit
		},
		"discarded": func(w croft.Workspace) (croft.MergeStatus, string) {
			must(t, errOf(f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []string{w.Name}})))
			return croft.MergeDiscarded, ""
		},
		"removed": func(w croft.Workspace) (croft.MergeStatus, string) {
			must(t, errOf(f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{w.Name}, Mode: croft.RemoveForce})))
			return "", ""
		},
	} {
		w := f.createWith(name, name+".txt", "x\n")
		status, commit := end(w)
		for _, ref := range []string{name, string(w.ID)} {
			if got := f.gone(ref); got.ID != w.ID || got.MergeStatus != status || got.MergeCommit != commit || status == croft.MergeMerged && commit == "" {
				t.Errorf("%s: %s %q, want %s %q", name, got.MergeStatus, got.MergeCommit, status, commit)
			}
		}
		// No other call treats it as a live workspace.
		wantCode(t, errOf(f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: name})), croft.WorktreeNotFound)
		if status == "" {
			continue
		}
		list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{MergeStatuses: []croft.MergeStatus{status}})
		if err != nil || !slices.ContainsFunc(list.Items, func(o croft.Workspace) bool { return o.ID == w.ID && o.MergeCommit == commit }) {
			t.Errorf("%s is not among the %s: %+v, %v", name, status, list, err)
		}
	}
	wantCode(t, errOf(f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "nobody", Scope: croft.ScopeAll})), croft.WorktreeNotFound)
}

// DiscardKey: a repeated discard does not discard a merge that became pending since.
func (finishScenarios) DiscardKey(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	finish := func(name string) {
		must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: name})))
	}
	finish("a")
	req := croft.DiscardRequest{Key: "k", All: croft.ScopeAll}
	first, err := f.Discard(t.Context(), req)
	if err != nil || len(first.Merges) != 1 || first.Merges[0].Workspace != list[0].ID {
		t.Fatalf("%+v, %v", first, err)
	}
	finish("b")
	again, err := f.at(f.Dir).Discard(t.Context(), req)
	must(t, err)
	if diff := cmp.Diff(first.Merges, again.Merges); diff != "" {
		t.Error(diff)
	}
	f.wantNames("b")
	_, err = f.Discard(t.Context(), croft.DiscardRequest{Key: "k", Workspaces: []string{"b"}})
	wantCode(t, err, croft.KeyConflict)
	named := croft.DiscardRequest{Key: "n", Workspaces: []string{"b"}}
	for range 2 {
		if out, err := f.Discard(t.Context(), named); err != nil || len(out.Merges) != 1 || out.Merges[0].Status != croft.MergeDiscarded {
			t.Errorf("%+v, %v", out, err)
		}
	}
}
