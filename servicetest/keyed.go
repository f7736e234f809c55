package servicetest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// once makes a call with a key three times, the third time by another Service, and fails the
// test if one of the later answers is not the first.
func once[R, T any](t *testing.T, f *fixture, call func(croft.Service) func(context.Context, R) (*T, error), req R) *T {
	t.Helper()
	first, err := call(f.Service)(t.Context(), req)
	must(t, err)
	again(t, f, call, req, first)
	return first
}

// again repeats a call with a key, and fails the test unless the answer is the first one.
func again[R, T any](t *testing.T, f *fixture, call func(croft.Service) func(context.Context, R) (*T, error), req R, first *T) {
	t.Helper()
	for _, svc := range []croft.Service{f.Service, f.at(f.Dir)} {
		got, err := call(svc)(t.Context(), req)
		if diff := cmp.Diff(first, got); diff != "" || err != nil {
			t.Errorf("repeated: %v (-first +again):\n%s", err, diff)
		}
	}
}

// atOnce makes the same call several times at the same time, and returns the answers.
func atOnce[R, T any](t *testing.T, f *fixture, call func(croft.Service) func(context.Context, R) (*T, error), req R) []*T {
	t.Helper()
	out, errs := make([]*T, 4), make([]error, 4)
	var wg sync.WaitGroup
	for i := range out {
		svc := f.at(f.Dir)
		wg.Go(func() { out[i], errs[i] = call(svc)(t.Context(), req) })
	}
	wg.Wait()
	for _, err := range errs {
		must(t, err)
	}
	return out
}

func takeSnapshot(svc croft.Service) func(context.Context, croft.SnapshotRequest) (*croft.Snapshot, error) {
	return svc.TakeSnapshot
}

// TakeSnapshot: repeated with its key, it returns the first snapshot, also once the
// workspace has other files, and once it is removed and another one has its name.
func (keyScenarios) TakeSnapshot(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "one\n")
	req := croft.SnapshotRequest{Key: "k", Workspace: "a"}
	first := once(t, f, takeSnapshot, req)
	f.commitIn(w.Path, "a.txt", "two\n")
	again(t, f, takeSnapshot, req, first)
	f.remove(croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
	f.create(croft.CreateRequest{Name: "a"})
	again(t, f, takeSnapshot, req, first)
	if list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{}); err != nil || len(list.Items) != 1 || list.Items[0].ID != first.ID {
		t.Errorf("snapshots %+v, %v", list, err)
	}
	wantCode(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Key: "k", Workspace: "b"})), croft.KeyConflict)
	wantCode(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Key: "a\nb", Workspace: "a"})), croft.InvalidName)
}

// TakeSnapshotWhereItLies: a request that names no workspace means the one that the
// directory lies in; with the same key, another one is another request.
func (keyScenarios) TakeSnapshotWhereItLies(t *testing.T, f *fixture) {
	a, b := f.create(croft.CreateRequest{Name: "a"}), f.create(croft.CreateRequest{Name: "b"})
	first := once(t, f, takeSnapshot, croft.SnapshotRequest{Key: "k", Repo: a.Path})
	if first.Workspace != a.ID {
		t.Errorf("snapshot %+v of %s", first, a.ID)
	}
	wantCode(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Key: "k", Repo: b.Path})), croft.KeyConflict)
}

// TakeSnapshotAtOnce: several calls with one key take one snapshot.
func (keyScenarios) TakeSnapshotAtOnce(t *testing.T, f *fixture) {
	f.createWith("a", "a.txt", "one\n")
	for _, s := range atOnce(t, f, takeSnapshot, croft.SnapshotRequest{Key: "k", Workspace: "a"}) {
		if list, err := f.Snapshots(t.Context(), croft.SnapshotsRequest{}); err != nil || len(list.Items) != 1 || list.Items[0].ID != s.ID {
			t.Errorf("snapshots %+v, %v, want %s", list, err, s.ID)
		}
	}
	list := events(t, f, croft.EventsRequest{Kinds: []string{croft.EventWorkspaceSaved}})
	if len(list) != 1 {
		t.Errorf("events: %v", kinds(list))
	}
}

// FreeAfterFailure: a call that fails before it does anything leaves its key free.
func (keyScenarios) FreeAfterFailure(t *testing.T, f *fixture) {
	wantCode(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Key: "k", Workspace: "a"})), croft.WorktreeNotFound)
	b := f.create(croft.CreateRequest{Name: "b"})
	if s := once(t, f, takeSnapshot, croft.SnapshotRequest{Key: "k", Workspace: "b"}); s.Workspace != b.ID {
		t.Errorf("snapshot %+v", s)
	}
}

func createReview(svc croft.Service) func(context.Context, croft.ReviewRequest) (*croft.Review, error) {
	return svc.CreateReview
}

// CreateReview: repeated with its key, it returns the first review, with its lines.
func (keyScenarios) CreateReview(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "one\n")
	req := croft.ReviewRequest{Key: "k", Workspace: "a"}
	first := once(t, f, createReview, req)
	if len(first.Files) != 1 || len(first.Files[0].Hunks) != 1 || first.Files[0].Hunks[0].Text == "" {
		t.Fatalf("review %+v", first)
	}
	f.commitIn(w.Path, "b.txt", "two\n")
	again(t, f, createReview, req, first)
	if list := events(t, f, croft.EventsRequest{Kinds: []string{croft.EventReviewCreated}}); len(list) != 1 {
		t.Errorf("events: %v", kinds(list))
	}
	wantCode(t, errOf(f.CreateReview(t.Context(), croft.ReviewRequest{Key: "k", Workspace: "a", Target: "other"})), croft.KeyConflict)
}

func undo(svc croft.Service) func(context.Context, croft.UndoRequest) (*croft.Operation, error) {
	return svc.Undo
}

// UndoAtOnce: several calls with one key undo one act, and all answer with the same undo.
func (keyScenarios) UndoAtOnce(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	f.create(croft.CreateRequest{Name: "b"})
	answers := atOnce(t, f, undo, croft.UndoRequest{Key: "k"})
	for _, op := range answers {
		if op.ID != answers[0].ID {
			t.Errorf("undone by %s and %s", answers[0].ID, op.ID)
		}
	}
	f.wantNames("a")
	list, err := f.History(t.Context(), croft.HistoryRequest{})
	if err != nil || len(list.Items) != 3 {
		t.Errorf("history %+v, %v", list, err)
	}
}

// Another verb has keys of its own.
func (keyScenarios) PerVerb(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Key: "k", Name: "a"})
	must(t, errOf(f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Key: "k", Workspace: "a"})))
	must(t, errOf(f.CreateReview(t.Context(), croft.ReviewRequest{Key: "k", Workspace: "a"})))
}

func changeQueue(svc croft.Service) func(context.Context, croft.QueueRequest) (*croft.QueueResult, error) {
	return svc.ChangeQueue
}

// ChangeQueue: repeated with its key, it changes neither what was submitted since, nor what
// was changed by others since.
func (keyScenarios) ChangeQueue(t *testing.T, f *fixture) {
	f.createWith("a", "a.txt", "a\n")
	must(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})))
	hold := croft.QueueRequest{Key: "k", Action: croft.QueueHold}
	first := once(t, f, changeQueue, hold)
	if len(first.Merges) != 1 || !first.Merges[0].IsHeld {
		t.Fatalf("held %+v", first)
	}
	f.createWith("b", "b.txt", "b\n")
	must(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "b"})))
	f.queue(croft.QueueRelease, "a")
	again(t, f, changeQueue, hold, first)
	list, err := f.Merges(t.Context(), croft.MergesRequest{})
	must(t, err)
	for _, m := range list.Items {
		if m.IsHeld {
			t.Errorf("the repeated call held %+v", m)
		}
	}
	dry := croft.QueueRequest{Key: "k", Action: croft.QueueCancel, DryRun: croft.DryRunOn}
	if plan, err := f.ChangeQueue(t.Context(), dry); err != nil || len(plan.Merges) != 2 {
		t.Errorf("a dry run ignores the key: %+v, %v", plan, err)
	}
	wantCode(t, errOf(f.ChangeQueue(t.Context(), croft.QueueRequest{Key: "k", Action: croft.QueueCancel})), croft.KeyConflict)
	f.wantQueue("a", "b")
}

func lockOne(svc croft.Service) func(context.Context, croft.LockRequest) (*croft.Workspace, error) {
	return svc.Lock
}

func unlockOne(svc croft.Service) func(context.Context, croft.LockRequest) (*croft.Workspace, error) {
	return svc.Unlock
}

// Lock: repeated with its key after another call unlocked, it does not lock again, and the
// other way round.
func (keyScenarios) Lock(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	lock, unlock := croft.LockRequest{Key: "k", Workspace: "a", Reason: "mine"}, croft.LockRequest{Key: "k", Workspace: "a"}
	locked := once(t, f, lockOne, lock)
	if !locked.IsLocked {
		t.Fatalf("locked: %+v", locked)
	}
	unlocked := once(t, f, unlockOne, unlock)
	again(t, f, lockOne, lock, locked)
	if f.show("a").IsLocked {
		t.Error("the repeated call locked it again")
	}
	must(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a"})))
	again(t, f, unlockOne, unlock, unlocked)
	if !f.show("a").IsLocked {
		t.Error("the repeated call unlocked it again")
	}
	wantCode(t, errOf(f.Lock(t.Context(), croft.LockRequest{Key: "k", Workspace: "a", Reason: "other"})), croft.KeyConflict)
	if list := events(t, f, croft.EventsRequest{Kinds: []string{croft.EventWorkspaceLocked, croft.EventWorkspaceUnlocked}}); len(list) != 3 {
		t.Errorf("events: %v", kinds(list))
	}
}

func acceptTarget(svc croft.Service) func(context.Context, croft.AcceptRequest) (*croft.Lane, error) {
	return svc.AcceptTarget
}

// AcceptTarget: repeated with its key, it accepts no later commit.
func (keyScenarios) AcceptTarget(t *testing.T, f *fixture) {
	f.landed("a")
	f.commitIn(f.Dir, "moved.txt", "moved\n")
	req := croft.AcceptRequest{Key: "k", Target: "main"}
	first := once(t, f, acceptTarget, req)
	f.commitIn(f.Dir, "moved.txt", "moved again\n")
	again(t, f, acceptTarget, req, first)
	if l := f.lane(); l.Known != first.Tip || l.Known == l.Tip {
		t.Errorf("the lane is %+v; accepted was %s", l, first.Tip)
	}
}

func resolveOne(svc croft.Service) func(context.Context, croft.MergeRequest) (*croft.Resolution, error) {
	return svc.Resolve
}

// Resolve: repeated with its key, it does not merge a later commit of the target.
func (keyScenarios) Resolve(t *testing.T, f *fixture) {
	w := f.createWith("a", "a.txt", "a\n")
	f.commitIn(f.Dir, "moved.txt", "moved\n")
	req := croft.MergeRequest{Key: "k", Workspace: "a"}
	first := once(t, f, resolveOne, req)
	f.commitIn(f.Dir, "moved.txt", "moved again\n")
	again(t, f, resolveOne, req, first)
	if b, err := f.Host.Read(filepath.Join(w.Path, "moved.txt")); err != nil || b != "moved\n" {
		t.Errorf("the workspace has %q, %v", b, err)
	}
}

func copyRole(svc croft.Service) func(context.Context, croft.RoleRequest) (*croft.Role, error) {
	return svc.CopyRole
}

// CopyRole: repeated with its key, it leaves a role alone that the workspace got since.
func (keyScenarios) CopyRole(t *testing.T, f *fixture) {
	f.Roles("one", "two")
	f.Commit("roles")
	f.create(croft.CreateRequest{Name: "a"})
	req := croft.RoleRequest{Key: "k", Workspace: "a", Role: "one"}
	first := once(t, f, copyRole, req)
	must(t, errOf(f.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a", Role: "two"})))
	again(t, f, copyRole, req, first)
	if w := f.show("a"); w.Role != "two" {
		t.Errorf("the role is %s", w.Role)
	}
	wantCode(t, errOf(f.CopyRole(t.Context(), croft.RoleRequest{Key: "k", Workspace: "a", Role: "two"})), croft.KeyConflict)
}

func startRound(svc croft.Service) func(context.Context, croft.RoundRequest) (*croft.Round, error) {
	return svc.StartRound
}

func endRound(svc croft.Service) func(context.Context, croft.EndRoundRequest) (*croft.Round, error) {
	return svc.EndRound
}

func endSession(svc croft.Service) func(context.Context, croft.EndSessionRequest) (*croft.Session, error) {
	return svc.EndSession
}

func present(svc croft.Service) func(context.Context, croft.PresentRequest) (*croft.Workspace, error) {
	return svc.Present
}

// Rounds: a round that is started twice with one key is one round, also once it has ended;
// a session that has ended is found by its key when no session has its name any more.
func (keyScenarios) Rounds(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{Name: "one"})
	start := croft.RoundRequest{Key: "k", Session: "one", Agents: []string{"x", "y"}}
	first := once(t, f, startRound, start)
	end := croft.EndRoundRequest{Key: "k", Round: first.ID}
	ended := once(t, f, endRound, end)
	again(t, f, startRound, start, first)
	second, err := f.StartRound(t.Context(), croft.RoundRequest{Key: "k2", Session: "one", Agents: []string{"x", "y"}})
	if err != nil || second.Number != 2 {
		t.Fatalf("another key: %+v, %v", second, err)
	}
	must(t, errOf(f.EndRound(t.Context(), croft.EndRoundRequest{Key: "k", Round: second.ID}))) // keys are those of a round
	again(t, f, endRound, end, ended)
	wantCode(t, errOf(f.StartRound(t.Context(), croft.RoundRequest{Key: "k", Session: "one", Agents: []string{"x"}})), croft.KeyConflict)

	show := croft.PresentRequest{Key: "k", Session: "one", Winner: "x"}
	final := once(t, f, present, show)
	f.remove(croft.RemoveRequest{Workspaces: []string{string(final.ID)}, Mode: croft.RemoveForce})
	again(t, f, present, show, final)

	over := once(t, f, endSession, croft.EndSessionRequest{Key: "k", Session: "one"})
	if over.ID != ses.ID || over.State != croft.SessionEnded {
		t.Errorf("ended: %+v", over)
	}
	again(t, f, present, show, final)
	other := f.session(croft.SessionRequest{Name: "one"})
	again(t, f, endSession, croft.EndSessionRequest{Key: "k", Session: "one"}, over)
	if got, err := f.Session(t.Context(), croft.GetRequest{Ref: croft.Ref(other.ID)}); err != nil || got.State != croft.SessionOpen {
		t.Errorf("the new session of the name: %+v, %v", got, err)
	}
	f.wantNames()
}

// DiscardByRef: a repeated discard takes no workspace that got the name since, however the
// request named it.
func (keyScenarios) DiscardByRef(t *testing.T, f *fixture) {
	for i, ref := range []func(croft.Workspace) croft.Ref{
		func(w croft.Workspace) croft.Ref { return croft.ByName(w.Name) },
		func(w croft.Workspace) croft.Ref { return croft.ByID(w.ID) },
		func(w croft.Workspace) croft.Ref { return croft.ByPath(w.Path) },
		func(w croft.Workspace) croft.Ref { return w.Name },
	} {
		w := f.create(croft.CreateRequest{Name: "a"})
		f.writeIn(w, "a.txt", "a\n")
		req := croft.DiscardRequest{Key: fmt.Sprint("k", i), Workspaces: []croft.Ref{ref(w)}}
		first, err := f.Discard(t.Context(), req)
		must(t, err)
		next := f.create(croft.CreateRequest{Name: "a"})
		again, err := f.Discard(t.Context(), req)
		if err != nil || len(again.Merges) != 1 || again.Merges[0].ID != first.Merges[0].ID {
			t.Errorf("%s: %+v, %v", req.Workspaces[0], again, err)
		}
		if now := f.show("a"); now.ID != next.ID {
			t.Errorf("%s: %s is gone", req.Workspaces[0], next.ID)
		}
		f.removed("a")
	}
}
