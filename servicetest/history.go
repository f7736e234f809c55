package servicetest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type historyScenarios struct{}

func (f *fixture) undo(req croft.UndoRequest) croft.Operation {
	f.t.Helper()
	op, err := f.Undo(f.t.Context(), req)
	must(f.t, err)
	if op.Kind != "undo" || op.State != "done" || op.Undoes == "" {
		f.t.Errorf("the undo tells of itself %+v", op)
	}
	return *op
}

// last returns the last act, which must have this kind and state.
func (f *fixture) last(kind, state string) croft.Operation {
	f.t.Helper()
	list, err := f.History(f.t.Context(), croft.HistoryRequest{})
	if err != nil || len(list.Items) == 0 {
		f.t.Fatalf("History = %+v, %v", list, err)
	}
	if list.Items[0].Kind != kind || list.Items[0].State != state {
		f.t.Fatalf("the last act is %+v, want %s, %s", list.Items[0], kind, state)
	}
	return list.Items[0]
}

// acted finds an act in the history.
func (f *fixture) acted(id croft.ID) croft.Operation {
	f.t.Helper()
	list, err := f.History(f.t.Context(), croft.HistoryRequest{})
	must(f.t, err)
	for _, op := range list.Items {
		if op.ID == id {
			return op
		}
	}
	f.t.Fatalf("%s is not in the history %+v", id, list)
	return croft.Operation{}
}

func (historyScenarios) UndoCreate(t *testing.T, f *fixture) {
	f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	made := f.last("create", "done")
	if !made.IsUndoable || made.WorkspaceName != "a b" || len(made.Workspaces) != 2 || made.Workspace != "" {
		t.Errorf("the creation is %+v", made)
	}
	if op := f.undo(croft.UndoRequest{}); op.Undoes != made.ID {
		t.Errorf("undone: %+v, want %s", op, made.ID)
	}
	f.wantNames()
	if items, err := f.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(items.Items) != 2 {
		t.Errorf("trash %+v, %v", items, err)
	}
	if op := f.acted(made.ID); op.State != "undone" || op.IsUndoable {
		t.Errorf("the creation is now %+v", op)
	}
}

func (historyScenarios) UndoCreateDirty(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	before := f.content(w.Path)
	wantCode(t, errOf(f.Undo(t.Context(), croft.UndoRequest{})), croft.WorkspaceDirty)
	f.same(w.Path, before)
	f.last("create", "done")
	f.undo(croft.UndoRequest{Mode: croft.RemoveForce})
	f.restore("a")
	f.same(w.Path, before)
}

func (historyScenarios) UndoRemove(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	before := f.content(w.Path)
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	gone := f.last("remove", "done")
	f.undo(croft.UndoRequest{})
	f.same(w.Path, before)
	if got := f.show("a"); got.ID != w.ID || got.State != croft.Ready {
		t.Errorf("came back as %+v", got)
	}
	if op := f.acted(gone.ID); op.State != "undone" {
		t.Errorf("the removal is now %+v", op)
	}
}

func (historyScenarios) UndoRestore(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	f.restore("a")
	f.last("restore", "done")
	f.undo(croft.UndoRequest{})
	if f.Exists(w.Path) || len(f.names()) != 0 {
		t.Error("it is still there")
	}
	if items, err := f.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(items.Items) != 1 || items.Items[0].ID != w.ID {
		t.Errorf("trash %+v, %v", items, err)
	}
}

func (historyScenarios) UndoRewind(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	first := f.content(w.Path)
	s := f.snapshot("a")
	f.GitIn(w.Path, "add", "--all")
	f.GitIn(w.Path, "commit", "--quiet", "--message", "on")
	f.writeIn(w, "since.txt", "untracked\n")
	f.writeIn(w, ".env", "TOKEN=second\n")
	second := f.content(w.Path)
	f.restore(string(s.ID))
	f.same(w.Path, first)
	f.last("rewind", "done")
	op := f.undo(croft.UndoRequest{})
	f.same(w.Path, second)
	f.undo(croft.UndoRequest{Operation: op.ID})
	f.same(w.Path, first)
}

func (historyScenarios) UndoUndo(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	made := f.last("create", "done")
	op := f.undo(croft.UndoRequest{})
	if f.undo(croft.UndoRequest{Operation: op.ID}).Undoes != op.ID || !f.Exists(w.Path) {
		t.Error("the undo was not taken back")
	}
	if now := f.acted(made.ID); now.State != "done" || !now.IsUndoable {
		t.Errorf("the creation is %+v, want it in force again", now)
	}
	if now := f.acted(op.ID); now.State != "undone" || now.IsUndoable {
		t.Errorf("the undo is %+v", now)
	}
	if f.undo(croft.UndoRequest{}).Undoes != made.ID || f.Exists(w.Path) {
		t.Error("the creation was not taken back again")
	}
}

func (historyScenarios) OneAfterAnother(t *testing.T, f *fixture) {
	for _, name := range []string{"a", "b", "c"} {
		f.create(croft.CreateRequest{Name: name})
	}
	for _, want := range []string{"a b", "a", ""} {
		f.undo(croft.UndoRequest{})
		if got := strings.Join(f.names(), " "); got != want {
			t.Errorf("left are %q, want %q", got, want)
		}
	}
	wantCode(t, errOf(f.Undo(t.Context(), croft.UndoRequest{})), croft.InvalidRequest)
}

func (historyScenarios) Occupied(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	gone := f.last("remove", "done")
	f.writeIn(w, "foreign.txt", "mine\n")
	before := f.Trace()
	wantCode(t, errOf(f.Undo(t.Context(), croft.UndoRequest{})), croft.WorktreeExists)
	f.unchanged(before)
	if items, err := f.Trash(t.Context(), croft.TrashRequest{}); err != nil || len(items.Items) != 1 {
		t.Errorf("trash %+v, %v", items, err)
	}
	if op := f.acted(gone.ID); op.State != "done" || !op.IsUndoable {
		t.Errorf("the removal is %+v", op)
	}
	f.Delete(w.Path)
	if f.undo(croft.UndoRequest{}).Undoes != gone.ID {
		t.Error("another act was taken back")
	}
}

// PartlyUndone: of two removed workspaces one cannot be restored yet.
func (historyScenarios) PartlyUndone(t *testing.T, f *fixture) {
	list := f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	f.remove(croft.RemoveRequest{Workspaces: []string{"a", "b"}})
	gone := f.last("remove", "done")
	f.writeIn(list[0], "foreign.txt", "mine\n")
	wantCode(t, errOf(f.Undo(t.Context(), croft.UndoRequest{})), croft.WorktreeExists)
	if got := f.names(); len(got) != 1 || got[0] != "b" {
		t.Fatalf("came back: %v, want b", got)
	}
	if op := f.acted(gone.ID); op.State != "done" || !op.IsUndoable {
		t.Errorf("the removal is %+v", op)
	}
	f.Delete(list[0].Path)
	f.undo(croft.UndoRequest{})
	if got := f.names(); len(got) != 2 {
		t.Errorf("came back: %v, want both", got)
	}
	if op := f.acted(gone.ID); op.State != "undone" {
		t.Errorf("the removal is now %+v", op)
	}
}

func (historyScenarios) Plan(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	before := f.Trace()
	plan, err := f.PlanUndo(t.Context(), croft.UndoRequest{})
	if err != nil || plan.Operation.Kind != "remove" || len(plan.Steps) != 1 || !strings.Contains(plan.Steps[0], w.Path) {
		t.Errorf("plan %+v, %v", plan, err)
	}
	f.unchanged(before)
	f.last("remove", "done")
}

func (historyScenarios) Nothing(t *testing.T, f *fixture) {
	for operation, want := range map[croft.ID]croft.Code{"": croft.InvalidRequest, "nosuchoperation0": croft.OperationNotFound} {
		req := croft.UndoRequest{Operation: operation}
		wantCode(t, errOf(f.Undo(t.Context(), req)), want)
		wantCode(t, errOf(f.PlanUndo(t.Context(), req)), want)
	}
	f.create(croft.CreateRequest{Name: "a"})
	made := f.last("create", "done")
	f.removed("a")
	wantCode(t, errOf(f.Undo(t.Context(), croft.UndoRequest{Operation: made.ID})), croft.InvalidRequest)
}

func (historyScenarios) List(t *testing.T, f *fixture) {
	if list, err := f.History(t.Context(), croft.HistoryRequest{}); err != nil || list.Items == nil || len(list.Items) != 0 {
		t.Errorf("history %#v, %v; want an empty list", list, err)
	}
	f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	f.restore("a")
	list, err := f.History(t.Context(), croft.HistoryRequest{Page: croft.Page{Limit: 2}})
	if err != nil || len(list.Items) != 2 || list.Items[0].Kind != "restore" || list.Items[1].Kind != "remove" {
		t.Fatalf("history %+v, %v; want the last two, the last first", list, err)
	}
	if list.Items[0].Actor == "" || list.Items[0].StartedAt.Before(list.Items[1].StartedAt) || list.Items[0].WorkspaceName != "a" || list.Items[0].Workspace == "" {
		t.Errorf("history %+v", list)
	}
}

// LargeAct: an act of many operations is one item of a page, and is not split; the page
// after it has the earlier act.
func (historyScenarios) LargeAct(t *testing.T, f *fixture) {
	var reqs []croft.CreateRequest
	for i := range 22 {
		reqs = append(reqs, croft.CreateRequest{Name: fmt.Sprintf("w%02d", i)})
	}
	f.createAll(reqs...)
	f.remove(croft.RemoveRequest{All: croft.ScopeAll})
	first, err := f.History(t.Context(), croft.HistoryRequest{Page: croft.Page{Limit: 1}})
	if err != nil || len(first.Items) != 1 || strings.Count(first.Items[0].WorkspaceName, "w") != 22 || first.Next == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := f.History(t.Context(), croft.HistoryRequest{Page: croft.Page{Limit: 1, After: first.Next}})
	if err != nil || len(second.Items) != 1 || second.Items[0].Kind != "create" || second.Next != "" {
		t.Errorf("%+v, %v", second, err)
	}
	all, err := f.History(t.Context(), croft.HistoryRequest{Page: croft.Page{Limit: math.MaxInt}})
	if err != nil || len(all.Items) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
}
