package servicetest

import (
	"testing"

	"github.com/croft-sh/croft"
)

// getScenarios are about the calls that find one object by its ID.
type getScenarios struct{}

const noSuchID = croft.Ref("0000000000000000")

// Found: each object that a call returned is found by its ID, and equals its entry in the
// list.
func (getScenarios) Found(t *testing.T, f *fixture) {
	ctx := t.Context()
	f.createWith("a", "work.txt", "work\n")
	snap, err := f.TakeSnapshot(ctx, croft.SnapshotRequest{Workspace: "a"})
	must(t, err)
	if got, err := f.Snapshot(ctx, croft.GetRequest{Ref: croft.Ref(snap.ID)}); err != nil || got.Commit != snap.Commit || got.Workspace != snap.Workspace || got.Files != snap.Files {
		t.Errorf("Snapshot = %+v, %v, want %+v", got, err, snap)
	}
	review, err := f.CreateReview(ctx, croft.ReviewRequest{Workspace: "a"})
	must(t, err)
	got, err := f.Review(ctx, croft.GetRequest{Ref: croft.Ref(review.ID)})
	if err != nil || got.Head != review.Head || len(got.Files) != len(review.Files) || got.Files[0].Path != review.Files[0].Path {
		t.Errorf("Review = %+v, %v, want %+v", got, err, review)
	}
	m := f.merge(croft.MergeRequest{Workspace: "a"})
	if got, err := f.Merge(ctx, croft.GetRequest{Ref: croft.Ref(m.ID)}); err != nil || got.ID != m.ID || got.Commit != m.Commit || got.Status != croft.MergeMerged {
		t.Errorf("Merge = %+v, %v, want %+v", got, err, m)
	}
	history, err := f.History(ctx, croft.HistoryRequest{})
	must(t, err)
	for _, op := range history.Items {
		if got, err := f.Operation(ctx, croft.GetRequest{Ref: croft.Ref(op.ID)}); err != nil || got.Kind != op.Kind || got.State != op.State || got.IsUndoable != op.IsUndoable {
			t.Errorf("Operation = %+v, %v, want %+v", got, err, op)
		}
	}
	ses, err := f.StartSession(ctx, croft.SessionRequest{})
	must(t, err)
	round, err := f.StartRound(ctx, croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"x", "y"}})
	must(t, err)
	if got, err := f.Round(ctx, croft.GetRequest{Ref: croft.Ref(round.ID)}); err != nil || got.Number != 1 || len(got.Workspaces) != 2 || got.State != croft.RoundOpen {
		t.Errorf("Round = %+v, %v, want %+v", got, err, round)
	}
}

// NotFound: each of these calls has its own code for an ID that does not exist.
func (getScenarios) NotFound(t *testing.T, f *fixture) {
	req := croft.GetRequest{Ref: noSuchID}
	wantCode(t, errOf(f.Snapshot(t.Context(), req)), croft.SnapshotNotFound)
	wantCode(t, errOf(f.Snapshot(t.Context(), croft.GetRequest{Ref: "../x"})), croft.SnapshotNotFound)
	wantCode(t, errOf(f.Review(t.Context(), req)), croft.ReviewNotFound)
	wantCode(t, errOf(f.Merge(t.Context(), req)), croft.MergeNotFound)
	wantCode(t, errOf(f.Operation(t.Context(), req)), croft.OperationNotFound)
	wantCode(t, errOf(f.Round(t.Context(), req)), croft.RoundNotFound)
	wantCode(t, errOf(f.Session(t.Context(), req)), croft.SessionNotFound)
}

// RevertKey: a revert that is requested again with its key is the same revert, also when it
// has ended.
func (getScenarios) RevertKey(t *testing.T, f *fixture) {
	f.createWith("a", "work.txt", "work\n")
	landed := f.merge(croft.MergeRequest{Workspace: "a"})
	req := croft.RevertRequest{Key: "k", Merge: landed.ID}
	first, err := croft.Revert(t.Context(), f, req)
	if err != nil || first.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", first, err)
	}
	tip := f.Git("rev-parse", "main")
	again, err := f.SubmitRevert(t.Context(), req)
	if err != nil || again.ID != first.ID || again.State != croft.MergeDone || f.Git("rev-parse", "main") != tip {
		t.Errorf("asked again: %+v, %v, want %+v", again, err, first)
	}
	wantCode(t, errOf(f.SubmitRevert(t.Context(), croft.RevertRequest{Key: "k", Ref: "a"})), croft.KeyConflict)
}
