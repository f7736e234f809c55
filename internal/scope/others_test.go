package scope

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// altered is a recorder whose answers a test has changed.
type altered struct {
	*recorder
	workspace  func(*croft.Workspace)
	merge      func(*croft.Merge)
	operation  func(*croft.Operation)
	workspaces croft.List[croft.Workspace]
	merges     []croft.Merge
	later      []croft.Operation
	forecast   croft.Forecast
	events     []croft.Event
}

func changed[T any](out *T, err error, change func(*T)) (*T, error) {
	if err == nil && change != nil {
		change(out)
	}
	return out, err
}

func (a *altered) Workspace(c ctx, req croft.WorkspaceRequest) (*croft.Workspace, error) {
	out, err := a.recorder.Workspace(c, req)
	return changed(out, err, a.workspace)
}

func (a *altered) Workspaces(c ctx, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	out, err := a.recorder.Workspaces(c, req)
	return changed(out, err, func(list *croft.List[croft.Workspace]) { *list = a.workspaces })
}

func (a *altered) Merge(c ctx, req croft.GetRequest) (*croft.Merge, error) {
	out, err := a.recorder.Merge(c, req)
	return changed(out, err, a.merge)
}

func (a *altered) Merges(c ctx, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	out, err := a.recorder.Merges(c, req)
	return changed(out, err, func(list *croft.List[croft.Merge]) { list.Items = slices.Clone(a.merges) })
}

func (a *altered) Operation(c ctx, req croft.GetRequest) (*croft.Operation, error) {
	out, err := a.recorder.Operation(c, req)
	return changed(out, err, a.operation)
}

func (a *altered) PlanUndo(c ctx, req croft.UndoRequest) (*croft.UndoPlan, error) {
	out, err := a.recorder.PlanUndo(c, req)
	return changed(out, err, func(plan *croft.UndoPlan) { plan.Later = slices.Clone(a.later) })
}

func (a *altered) Conflicts(c ctx, req croft.ConflictsRequest) (*croft.Forecast, error) {
	out, err := a.recorder.Conflicts(c, req)
	return changed(out, err, func(f *croft.Forecast) { *f = a.forecast })
}

func (a *altered) Events(ctx, croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		for _, e := range a.events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// has reports whether a call has reached the Service.
func (r *recorder) has(method string) bool {
	return slices.ContainsFunc(r.calls, func(c recorded) bool { return c.method == method })
}

// TestHeldByAPerson: an agent releases the merges that it holds itself, and none that a person,
// another agent or an earlier version of Croft holds.
func TestHeldByAPerson(t *testing.T) {
	for by, hold := range map[string]*croft.MergeHold{
		"itself": {ActorWorkspace: "mine0000"}, "a person": {}, "another": {ActorWorkspace: "other000"}, "nobody": nil,
	} {
		for _, named := range [][]croft.Ref{nil, {"mine"}, {"mine-1"}} {
			held := croft.Merge{ID: "mine-1", Workspace: "mine0000", IsHeld: true, Hold: hold}
			r := &altered{recorder: &recorder{}, merges: []croft.Merge{held}, merge: func(m *croft.Merge) { *m = held }}
			_, err := Workspace(r, "mine0000").ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueRelease, Merges: named})
			if isOwn := by == "itself"; errors.Is(err, croft.AccessDenied) == isOwn || r.has("ChangeQueue") != isOwn {
				t.Errorf("held by %s, named %q: %v, %+v", by, named, err, r.calls)
			}
		}
	}
}

// TestActsOfOthers: an agent undoes what it did itself, and finds no act that also concerns
// another workspace.
func TestActsOfOthers(t *testing.T) {
	shared := croft.Operation{ID: "mine-2", Workspace: "mine0000", ActorWorkspace: "mine0000", Workspaces: []croft.ID{"mine0000", "other000"}}
	for name, c := range map[string]struct {
		op   croft.Operation
		want croft.Code
	}{
		"its own":    {croft.Operation{Workspace: "mine0000", ActorWorkspace: "mine0000", Workspaces: []croft.ID{"mine0000"}}, ""},
		"a person's": {croft.Operation{Workspace: "mine0000"}, croft.AccessDenied},
		"another's":  {croft.Operation{Workspace: "mine0000", ActorWorkspace: "other000"}, croft.AccessDenied},
		"shared":     {shared, croft.OperationNotFound},
	} {
		for _, method := range []string{"Undo", "PlanUndo"} {
			r := &altered{recorder: &recorder{}, operation: func(op *croft.Operation) { *op = c.op }, later: []croft.Operation{shared, {Workspace: "other000"}}}
			got, err := invoke(t, Workspace(r, "mine0000"), method, croft.UndoRequest{Operation: "mine-1"})
			if c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) || r.has(method) != (err == nil) {
				t.Errorf("%s of %s: %v, %+v", method, name, err, r.calls)
			}
			if plan, ok := got.(*croft.UndoPlan); ok && plan != nil && len(plan.Later) > 0 {
				t.Errorf("a plan tells of others: %+v", plan.Later)
			}
		}
	}
}

// TestWhoIsWho: an agent of a session learns neither its own name nor its label, by no call that
// shows its workspace, filters by it or answers with it.
func TestWhoIsWho(t *testing.T) {
	known := croft.Workspace{ID: "mine0000", Name: "mine", RepoID: "repo", State: croft.Ready, Agent: "secret", Label: "secret", Meta: map[string]string{"k": "secret"}}
	r := &altered{recorder: &recorder{}, workspace: func(ws *croft.Workspace) { *ws = known }}
	r.workspaces = croft.List[croft.Workspace]{Items: []croft.Workspace{known, {ID: "other000"}}, Unseen: []croft.ID{"other000", "mine0000"}}
	svc := Workspace(r, "mine0000")
	ws, err := svc.Workspace(t.Context(), croft.WorkspaceRequest{})
	list, errList := svc.Workspaces(t.Context(), croft.WorkspacesRequest{})
	if err != nil || errList != nil || strings.Contains(fmt.Sprintf("%+v %+v", *ws, list.Items), "secret") {
		t.Errorf("%+v, %v, %+v, %v", ws, err, list, errList)
	}
	if len(list.Items) != 1 || len(list.Unseen) != 1 || list.Unseen[0] != "mine0000" {
		t.Errorf("%+v", list)
	}
	for _, req := range []croft.WorkspacesRequest{{Agent: "secret"}, {Meta: map[string]string{"k": "secret"}}} {
		if list, err := svc.Workspaces(t.Context(), req); err != nil || len(list.Items) > 0 {
			t.Errorf("%+v: %+v, %v", req, list, err)
		}
	}
	if _, err := svc.ArchiveScratch(t.Context(), croft.ArchiveRequest{}); !errors.Is(err, croft.AccessDenied) || r.has("ArchiveScratch") {
		t.Errorf("archive: %v", err)
	}
}

// TestOtherPlaces: the path of another project is not the agent's, and after a removal neither
// are the name and the path of its workspace, which another one may have by then.
func TestOtherPlaces(t *testing.T) {
	for _, repo := range []string{"/p/other", "path:/p", "/p/repo.croft", "other"} {
		if _, err := Workspace(&recorder{}, "mine0000").History(t.Context(), croft.HistoryRequest{Repo: repo}); !errors.Is(err, croft.NotARepo) {
			t.Errorf("%s: %v", repo, err)
		}
	}
	r := &altered{recorder: &recorder{}, workspace: func(ws *croft.Workspace) { ws.State = croft.Trashed }}
	for _, ref := range []string{"mine", "name:mine", "/p/repo.croft/mine", "path:/p/repo.croft/mine/x"} {
		if _, err := Workspace(r, "mine0000").TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: ref}); !errors.Is(err, croft.WorktreeNotFound) || r.has("TakeSnapshot") {
			t.Errorf("%s after a removal: %v", ref, err)
		}
	}
	if _, err := Workspace(r, "mine0000").Restore(t.Context(), croft.RestoreRequest{Ref: "id:mine0000"}); err != nil {
		t.Errorf("by its ID: %v", err)
	}
}

// TestForecastOfOthers: a forecast tells of the agent's own work and its target.
func TestForecastOfOthers(t *testing.T) {
	mine, others := croft.Collision{AID: "mine0000", IsTarget: true}, []croft.Collision{{AID: "mine0000", BID: "other000"}, {AID: "other000", IsTarget: true}}
	r := &altered{recorder: &recorder{}, forecast: croft.Forecast{Pairs: append(others, mine), Order: []string{"othe", "mine"}}}
	got, err := Workspace(r, "mine0000").Conflicts(t.Context(), croft.ConflictsRequest{})
	if err != nil || len(got.Pairs) != 1 || got.Pairs[0].AID != "mine0000" || !got.Pairs[0].IsTarget || !slices.Equal(got.Order, []string{"mine"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestMergesInListsNameNobody: the conflicts of a merge do not say against whom, in lists either.
func TestMergesInListsNameNobody(t *testing.T) {
	r := &altered{recorder: &recorder{}, merges: []croft.Merge{
		{ID: "othe-1", Workspace: "other000"},
		{ID: "mine-1", Workspace: "mine0000", Conflicts: []croft.ConflictedPath{{Path: "f", Against: "other"}}},
	}}
	list, err := Workspace(r, "mine0000").Merges(t.Context(), croft.MergesRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != "mine-1" || list.Items[0].Conflicts[0].Against != "" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestEventsWithThingsOfOthers: an event of the agent's workspace has nothing of others in it.
func TestEventsWithThingsOfOthers(t *testing.T) {
	r := &altered{recorder: &recorder{}, events: []croft.Event{{Subjects: croft.Subjects{Workspace: "mine0000"}, After: &croft.Nouns{
		Merge: &croft.Merge{Workspace: "other000"}, Check: &croft.Check{}, Review: &croft.Review{Workspace: "other000"}, Snapshot: &croft.Snapshot{Workspace: "other000"},
	}}}}
	for e, err := range Workspace(r, "mine0000").Events(t.Context(), croft.EventsRequest{}) {
		if err != nil || e.After.Merge != nil || e.After.Check != nil || e.After.Review != nil || e.After.Snapshot != nil {
			t.Errorf("%+v, %v", e.After, err)
		}
	}
}

// TestScopesAreFew: of very many workspaces, gone ones among them, not all are remembered.
func TestScopesAreFew(t *testing.T) {
	s := New(&recorder{})
	for n := range 2 * maxKept {
		s.For(croft.AccessWorkspace, croft.ID(fmt.Sprint(n)))
	}
	if len(s.workspaces) > maxKept {
		t.Errorf("%d are kept", len(s.workspaces))
	}
}
