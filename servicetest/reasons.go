package servicetest

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// reasonScenarios are about why something is as it is: by whom and for what.
type reasonScenarios struct{}

// Hold: a merge says who holds it and why, until it is released.
func (reasonScenarios) Hold(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "a.txt", "a\n")
	m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	out, err := f.ChangeQueue(ada(t.Context()), croft.QueueRequest{Action: croft.QueueHold, Reason: "after the demo"})
	must(t, err)
	wantHold := func(h *croft.MergeHold, reason string) {
		t.Helper()
		if h == nil || h.Actor != "ada" || h.Reason != reason || h.At.IsZero() {
			t.Errorf("held: %+v, want it by ada, %q", h, reason)
		}
	}
	wantHold(out.Merges[0].Hold, "after the demo")
	if now := f.show("a"); now.Status != croft.ConditionHeld || now.Why != "by ada: after the demo" {
		t.Errorf("the workspace is %s: %q", now.Status, now.Why)
	}
	e := wantCode(t, errOf(f.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})), croft.MergeHeld)
	if !strings.Contains(e.Message, "ada") || e.Details != "after the demo" {
		t.Errorf("waiting: %q, %q", e.Message, e.Details)
	}
	f.writeIn(w, "b.txt", "b\n")
	again, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	wantHold(again.Hold, "after the demo")
	must(t, errOf(f.ChangeQueue(ada(t.Context()), croft.QueueRequest{Action: croft.QueueHold})))
	if now := f.show("a"); now.Why != "by ada" {
		t.Errorf("without a reason: %q", now.Why)
	}
	wantHold(events(t, f, croft.EventsRequest{Kinds: []string{croft.EventMergeHeld}})[0].After.Merge.Hold, "after the demo")
	f.queue(croft.QueueRelease)
	if m, err = f.Merge(t.Context(), croft.GetRequest{Ref: string(m.ID)}); err != nil || m.Hold != nil || m.IsHeld {
		t.Errorf("released: %+v, %v", m, err)
	}
	for _, bad := range []string{"two\nlines", strings.Repeat("x", 201), "\xff"} {
		wantCode(t, errOf(f.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold, Reason: bad})), croft.InvalidName)
		wantCode(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a", Reason: bad})), croft.InvalidName)
	}
	wantCode(t, errOf(f.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueFirst, Reason: "why"})), croft.InvalidRequest)
}

// Snapshots: a snapshot says what it was taken for, by whom, and why if that was said.
func (reasonScenarios) Snapshots(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "a.txt", "a\n")
	asked, err := f.TakeSnapshot(ada(t.Context()), croft.SnapshotRequest{Workspace: "a", Reason: "before: its rebase"})
	must(t, err)
	f.writeIn(w, "a.txt", "b\n")
	must(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: string(asked.ID)})))
	must(t, errOf(f.Resolve(t.Context(), croft.MergeRequest{Workspace: "a"})))
	list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{})
	must(t, err)
	found := map[croft.SnapshotCause]croft.Snapshot{}
	for _, s := range list.Items {
		found[s.Cause] = s
		if s.Actor == "" || s.WorkspaceName != "a" {
			t.Errorf("%+v", s)
		}
	}
	if s := found[croft.SnapshotRequested]; s.ID != asked.ID || s.Reason != "before: its rebase" || s.Actor != "ada" || asked.Cause != s.Cause || asked.Reason != s.Reason || asked.Actor != s.Actor {
		t.Errorf("asked for: %+v, answered %+v", s, asked)
	}
	for _, cause := range []croft.SnapshotCause{croft.SnapshotBeforeRestore, croft.SnapshotBeforeResolve} {
		if s, ok := found[cause]; !ok || s.Reason != "" {
			t.Errorf("%s: %+v of %+v", cause, s, list.Items)
		}
	}
}

// Trash: what was removed says as what.
func (reasonScenarios) Trash(t *testing.T, f *fixture) {
	f.landed("merged")
	for _, name := range []string{"removed", "discarded"} {
		f.writeIn(f.create(croft.CreateRequest{Name: name}), name, "x\n")
	}
	must(t, errOf(f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []string{"discarded"}})))
	f.remove(croft.RemoveRequest{Workspaces: []string{"removed"}, Mode: croft.RemoveForce})
	list, err := f.Trash(t.Context(), croft.TrashRequest{})
	must(t, err)
	for _, item := range list.Items {
		if item.As != croft.Condition(item.Name) || len(list.Items) != 3 {
			t.Errorf("%s was removed as %s", item.Name, item.As)
		}
	}
}
