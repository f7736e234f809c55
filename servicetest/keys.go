package servicetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

type keyScenarios struct{}

func (keyScenarios) SameRequest(t *testing.T, f *fixture) {
	req := croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{}, {Name: "b"}}}
	one, err := f.CreateAll(t.Context(), req)
	must(t, err)
	for _, svc := range []croft.Service{f.Service, f.at(f.Dir)} {
		two, err := svc.CreateAll(t.Context(), req)
		if err != nil || len(two.Workspaces) != 2 || two.Workspaces[0].ID != one.Workspaces[0].ID || two.Workspaces[1].ID != one.Workspaces[1].ID || two.Workspaces[0].Path != one.Workspaces[0].Path {
			t.Errorf("again: %+v, %v, want %+v", two, err, one)
		}
	}
	if n, err := f.CountActive(t.Context(), croft.CountRequest{}); err != nil || n.Active != 2 {
		t.Errorf("CountActive = %d, %v, want 2", n.Active, err)
	}
}

func (keyScenarios) OtherRequest(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Key: "k", Name: "a"})
	if e := wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Key: "k", Name: "b"})), croft.KeyConflict); e.Hint == "" {
		t.Error("no hint")
	}
	_, err := f.CreateAll(t.Context(), croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "a"}, {Name: "b"}}})
	wantCode(t, err, croft.KeyConflict)
	f.wantNames("a")
}

func (keyScenarios) AfterRemoval(t *testing.T, f *fixture) {
	req := croft.CreateRequest{Key: "k", Name: "a"}
	w := f.create(req)
	f.removed("a")
	if again := f.create(req); again.ID != w.ID || again.State != croft.Trashed {
		t.Errorf("again: %+v, want %s in the trash", again, w.ID)
	}
	f.wantNames()
}

// AfterFailure: a creation that was rolled back leaves its key free.
func (keyScenarios) AfterFailure(t *testing.T, f *fixture) {
	f.Git("branch", "croft/a")
	req := croft.CreateRequest{Key: "k", Name: "a"}
	wantCode(t, errOf(f.Create(t.Context(), req)), croft.BranchExists)
	f.Git("branch", "-D", "croft/a")
	f.create(req)
	// It can be used for another request, too.
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Key: "k2", Name: "a"})), croft.WorktreeExists)
	f.create(croft.CreateRequest{Key: "k2", Name: "b"})
}

func (keyScenarios) AtOnce(t *testing.T, f *fixture) {
	const n = 6
	ids, errs := make([]croft.ID, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		svc := f.at(f.Dir)
		wg.Go(func() {
			w, err := svc.Create(t.Context(), croft.CreateRequest{Key: "k", Name: "a"})
			if errs[i] = err; err == nil {
				ids[i] = w.ID
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatalf("the same request at once: %v", err)
	}
	if ids[0] == "" || len(slices.Compact(ids)) != 1 {
		t.Errorf("IDs %v, want one", ids)
	}
}

// AtTheLimit: a repeated request for an existing workspace gets it, although the limit is
// reached.
func (keyScenarios) AtTheLimit(t *testing.T, f *fixture) {
	f.Service = f.with("limits.max_workers", "1")
	req := croft.CreateRequest{Key: "k", Name: "a"}
	w := f.create(req)
	if again := f.create(req); again.ID != w.ID {
		t.Errorf("again: %+v", again)
	}
}

func (keyScenarios) CreateIsCreateAll(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Key: "k", Name: "a"})
	list, err := f.CreateAll(t.Context(), croft.CreateAllRequest{Key: "k", Workspaces: []croft.CreateRequest{{Name: "a"}}})
	if err != nil || len(list.Workspaces) != 1 || list.Workspaces[0].ID != w.ID {
		t.Errorf("CreateAll with the key of Create = %+v, %v", list, err)
	}
}

// WhereverAskedFrom: the path by which the repository is named is no part of the request.
func (keyScenarios) WhereverAskedFrom(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Key: "k", Name: "a"})
	for _, repo := range []string{f.Dir, "src", w.Path} {
		again, err := f.Create(t.Context(), croft.CreateRequest{Key: "k", Name: "a", Repo: repo})
		if err != nil || again.ID != w.ID {
			t.Errorf("asked as %s: %+v, %v", repo, again, err)
		}
	}
}

func (keyScenarios) PerRepository(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Key: "k", Name: "a"})
	other := f.another()
	again, err := f.at(other.Dir).Create(t.Context(), croft.CreateRequest{Key: "k", Name: "b"})
	if err != nil || again.ID == w.ID {
		t.Errorf("the key in another repository: %+v, %v", again, err)
	}
}

func (keyScenarios) Invalid(t *testing.T, f *fixture) {
	for _, key := range []string{"a\nb", "\x00", "\xff", string(make([]byte, 300))} {
		wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Key: key, Name: "a"})), croft.InvalidName)
	}
}

// Undo: repeated with its key, it undoes the same act and no second one.
func (keyScenarios) Undo(t *testing.T, f *fixture) {
	a := f.create(croft.CreateRequest{Name: "a"})
	f.create(croft.CreateRequest{Name: "b"})
	first, err := f.Undo(t.Context(), croft.UndoRequest{Key: "k"})
	must(t, err)
	again, err := f.Undo(t.Context(), croft.UndoRequest{Key: "k"})
	if err != nil || again.ID != first.ID || again.Undoes != first.Undoes {
		t.Errorf("repeated: %+v, %v; want %+v", again, err, first)
	}
	if got := f.show("a"); got.ID != a.ID || got.State == croft.Trashed {
		t.Errorf("a is %+v", got)
	}
	must(t, errOf(f.Undo(t.Context(), croft.UndoRequest{Operation: first.ID})))
	again, err = f.Undo(t.Context(), croft.UndoRequest{Key: "k"})
	if err != nil || again.ID != first.ID || f.show("b").State == croft.Trashed {
		t.Errorf("repeated after it was undone itself: %+v, %v; b is %s", again, err, f.show("b").State)
	}
	wantCode(t, errOf(f.Undo(t.Context(), croft.UndoRequest{Key: "k", Mode: croft.RemoveForce})), croft.KeyConflict)
	wantCode(t, errOf(f.Undo(t.Context(), croft.UndoRequest{Key: "a\nb"})), croft.InvalidName)
}

// Remove: repeated with its key, it does not remove a workspace that got the name since.
func (keyScenarios) Remove(t *testing.T, f *fixture) {
	a := f.create(croft.CreateRequest{Name: "a"})
	req := croft.RemoveRequest{Key: "k", Workspaces: []string{"a"}}
	first, err := f.Remove(t.Context(), req)
	must(t, err)
	for range 2 { // also once another one has the name
		again, err := f.Remove(t.Context(), req)
		if err != nil || len(again.Unknown)+len(again.Kept) > 0 || !reflect.DeepEqual(again.Removed, first.Removed) || again.Removed[0].ID != a.ID {
			t.Errorf("repeated: %+v, %v; want %+v", again, err, first)
		}
		if w, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"}); err != nil {
			f.create(croft.CreateRequest{Name: "a"})
		} else if w.State == croft.Trashed {
			t.Error("the new workspace was removed")
		}
	}
	f.show("a")
	wantCode(t, errOf(f.Remove(t.Context(), croft.RemoveRequest{Key: "k", Workspaces: []string{"b"}})), croft.KeyConflict)
}

// RemoveOfRestored: what was restored after the removal stays when the request is repeated,
// and so does what the request did not find the first time.
func (keyScenarios) RemoveOfRestored(t *testing.T, f *fixture) {
	a := f.create(croft.CreateRequest{Name: "a"})
	req := croft.RemoveRequest{Key: "k", Workspaces: []string{"a", "later"}}
	for range 2 {
		res, err := f.Remove(t.Context(), req)
		if err != nil || len(res.Removed) != 1 || res.Removed[0].ID != a.ID || !slices.Equal(res.Unknown, []string{"later"}) {
			t.Errorf("removed: %+v, %v", res, err)
		}
		if _, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "later"}); err != nil {
			f.create(croft.CreateRequest{Name: "later"})
			must(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: "a"})))
		}
	}
	if f.show("a").State == croft.Trashed || f.show("later").State == croft.Trashed {
		t.Error("a workspace was removed that was restored or made since")
	}
}

// RemoveAtOnce: of two calls with one key at the same time both answer that it is removed.
func (keyScenarios) RemoveAtOnce(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			res, err := f.Remove(t.Context(), croft.RemoveRequest{Key: "k", Workspaces: []string{"a"}})
			if err != nil || len(res.Removed) != 1 || len(res.Unknown) != 0 {
				t.Errorf("removed: %+v, %v", res, err)
			}
		})
	}
	wg.Wait()
}

// Restore: repeated with its key, it returns the workspace that it restored.
func (keyScenarios) Restore(t *testing.T, f *fixture) {
	a := f.create(croft.CreateRequest{Name: "a"})
	f.removed("a")
	for range 2 {
		w, err := f.Restore(t.Context(), croft.RestoreRequest{Key: "k", Ref: "a"})
		if err != nil || w.ID != a.ID || w.State == croft.Trashed {
			t.Errorf("restored: %+v, %v", w, err)
		}
	}
	wantCode(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Key: "k", Ref: "b"})), croft.KeyConflict)
}

type eventScenarios struct{}

func events(t *testing.T, f *fixture, req croft.EventsRequest) []croft.Event {
	t.Helper()
	var list []croft.Event
	for e, err := range f.Events(t.Context(), req) {
		must(t, err)
		list = append(list, e)
	}
	return list
}

func kinds(list []croft.Event) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Kind)
	}
	return out
}

func (eventScenarios) Order(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	lock(t, f, "a", "mine")
	must(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "a"})))
	l := f.hold(w.ID)
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: l.ID})))
	f.removed("a")
	list := events(t, f, croft.EventsRequest{})
	want := []string{
		croft.EventWorkspaceCreating, croft.EventWorkspaceCreated, croft.EventWorkspaceLocked, croft.EventWorkspaceUnlocked,
		croft.EventLeaseTaken, croft.EventLeaseReleased, croft.EventWorkspaceRemoved,
	}
	if !slices.Equal(kinds(list), want) {
		t.Errorf("events %v, want %v", kinds(list), want)
	}
	seen := map[croft.Cursor]bool{"": true}
	for _, e := range list {
		if seen[e.Cursor] || e.Workspace != w.ID || e.WorkspaceName != "a" || e.Repo == "" || e.Actor == "" || e.Time.IsZero() {
			t.Errorf("%+v", e)
		}
		seen[e.Cursor] = true
	}
}

// Nouns: an event has its subjects as they are after the change.
func (eventScenarios) Nouns(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a", Agent: "smith"})
	lock(t, f, "a", "mine")
	lease := f.hold(w.ID)
	must(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "a"})))
	must(t, errOf(f.Release(t.Context(), croft.ReleaseRequest{Lease: lease.ID})))
	snap, err := f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"})
	must(t, err)
	review, err := f.CreateReview(t.Context(), croft.ReviewRequest{Workspace: "a"})
	must(t, err)
	f.removed("a")
	history, err := f.History(t.Context(), croft.HistoryRequest{})
	must(t, err)
	last := map[string]croft.Event{}
	for _, e := range events(t, f, croft.EventsRequest{}) {
		last[e.Kind] = e
		if got := e.After.Workspace; got.ID != w.ID || got.Name != "a" || got.Agent != "smith" || got.Branch != w.Branch || got.Path != w.Path {
			t.Errorf("%s has %+v", e.Kind, got)
		}
	}
	of := func(kind string) *croft.Workspace { return last[kind].After.Workspace }
	if got := of(croft.EventWorkspaceCreating).State; got != croft.Creating {
		t.Errorf("creating: %s", got)
	}
	if got := of(croft.EventWorkspaceCreated); got.State != croft.Ready || got.Head != w.Head || got.IsLocked {
		t.Errorf("created: %+v", got)
	}
	if got := of(croft.EventWorkspaceLocked); !got.IsLocked || got.LockReason != "mine" || got.Lease != nil {
		t.Errorf("locked: %+v", got)
	}
	if e := last[croft.EventLeaseTaken]; e.Lease != lease.ID || e.After.Workspace.Lease.ID != lease.ID || !e.After.Workspace.IsLocked {
		t.Errorf("leased: %+v", e)
	}
	if got := of(croft.EventWorkspaceUnlocked); got.IsLocked || got.LockReason != "" || got.Lease == nil {
		t.Errorf("unlocked: %+v", got)
	}
	if e := last[croft.EventLeaseReleased]; e.Lease != lease.ID || e.After.Workspace.Lease != nil {
		t.Errorf("released: %+v", e)
	}
	if e := last[croft.EventWorkspaceSaved]; e.Snapshot != snap.ID || e.After.Snapshot.Commit != snap.Commit {
		t.Errorf("saved: %+v", e)
	}
	if e := last[croft.EventReviewCreated]; e.Review != review.ID || e.After.Review.Head != review.Head || e.Target != review.Target {
		t.Errorf("reviewed: %+v", e)
	}
	if e := last[croft.EventWorkspaceRemoved]; e.Operation != history.Items[0].ID || e.After.Workspace.State != croft.Trashed || e.After.Workspace.KeptUntil.IsZero() {
		t.Errorf("removed: %+v; the last act is %s", e, history.Items[0].ID)
	}
}

// ListCursor: a caller that goes on from the cursor of a list misses no event.
func (eventScenarios) ListCursor(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{})
	must(t, err)
	if rest := events(t, f, croft.EventsRequest{After: list.Cursor}); len(rest) != 0 {
		t.Errorf("after the list: %v", kinds(rest))
	}
	b := f.create(croft.CreateRequest{Name: "b"})
	if rest := events(t, f, croft.EventsRequest{After: list.Cursor}); len(rest) != 2 || rest[0].Workspace != b.ID || rest[1].Workspace != b.ID {
		t.Errorf("after the list and a creation: %+v", rest)
	}
}

func (eventScenarios) FromNow(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	if list := events(t, f, croft.EventsRequest{From: croft.FromNow}); len(list) != 0 {
		t.Errorf("from now: %v", kinds(list))
	}
	cursor := events(t, f, croft.EventsRequest{})[0].Cursor
	for _, req := range []croft.EventsRequest{{From: croft.FromNow, After: cursor}, {After: "nonsense"}, {After: "x.-1"}, {From: "later"}, {Kinds: []string{"merge.mergd"}}, {Repo: "path:here"}, {Workspace: "a"}} {
		for _, err := range f.Events(t.Context(), req) {
			wantCode(t, err, croft.InvalidRequest)
		}
	}
}

// CursorOfAnotherState is refused: what happened since cannot be told.
func (eventScenarios) CursorOfAnotherState(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	other := newFixture(t, f.harness)
	other.create(croft.CreateRequest{Name: "b"})
	foreign := events(t, other, croft.EventsRequest{})[0].Cursor
	asked := 0
	for _, err := range f.Events(t.Context(), croft.EventsRequest{After: foreign}) {
		wantCode(t, err, croft.CursorExpired)
		asked++
	}
	if asked != 1 {
		t.Errorf("the stream after a cursor of another state has %d items", asked)
	}
}

// Resume reads the events in steps of every length, and gets each of them.
func (eventScenarios) Resume(t *testing.T, f *fixture) {
	for i := range 4 {
		f.create(croft.CreateRequest{Name: "w" + strconv.Itoa(i)})
	}
	all := events(t, f, croft.EventsRequest{})
	if len(all) != 8 {
		t.Fatalf("%d events, want 8", len(all))
	}
	for i, e := range all {
		rest := events(t, f, croft.EventsRequest{After: e.Cursor})
		if len(rest) != len(all)-i-1 || len(rest) > 0 && rest[0].Cursor != all[i+1].Cursor {
			t.Errorf("after %s: %+v", e.Cursor, rest)
		}
	}
	// A reader may stop in the middle.
	for range f.Events(t.Context(), croft.EventsRequest{}) {
		break
	}
}

func (eventScenarios) Kinds(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	lock(t, f, "a", "mine")
	f.create(croft.CreateRequest{Name: "b"})
	list := events(t, f, croft.EventsRequest{Kinds: []string{croft.EventWorkspaceLocked}})
	if !slices.Equal(kinds(list), []string{croft.EventWorkspaceLocked}) {
		t.Errorf("events %v", kinds(list))
	}
}

// PerWorkspace: a reader may want the events of one workspace only, those to come as well.
func (eventScenarios) PerWorkspace(t *testing.T, f *fixture) {
	a, b := f.create(croft.CreateRequest{Name: "a"}), f.create(croft.CreateRequest{Name: "b"})
	lock(t, f, "a", "mine")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	for e, err := range f.Events(ctx, croft.EventsRequest{Workspace: a.ID, Follow: croft.FollowNew}) {
		must(t, err)
		if e.Workspace != a.ID {
			t.Errorf("an event of another: %+v", e)
		}
		switch got = append(got, e.Kind); e.Kind {
		case croft.EventWorkspaceLocked:
			lock(t, f, "b", "mine")
			must(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "a"})))
			continue
		case croft.EventWorkspaceUnlocked:
			cancel()
		}
	}
	if want := []string{croft.EventWorkspaceCreating, croft.EventWorkspaceCreated, croft.EventWorkspaceLocked, croft.EventWorkspaceUnlocked}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if list := events(t, f, croft.EventsRequest{Workspace: b.ID, Kinds: []string{croft.EventWorkspaceLocked}}); len(list) != 1 || list[0].Workspace != b.ID {
		t.Errorf("events %+v", list)
	}
}

func (eventScenarios) PerRepository(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	other := f.another()
	must(t, errOf(f.at(other.Dir).Create(t.Context(), croft.CreateRequest{Name: "b"})))
	r, err := f.Repo(t.Context(), croft.RepoRequest{})
	must(t, err)
	list := events(t, f, croft.EventsRequest{Repo: r.ID})
	if len(list) != 2 || list[0].Workspace != w.ID || list[1].Workspace != w.ID {
		t.Errorf("events of one repository %+v", list)
	}
	if list := events(t, f, croft.EventsRequest{}); len(list) != 4 {
		t.Errorf("events of all repositories %+v", list)
	}
}

// Follow gets the events of another Service's calls, until its context is canceled.
func (eventScenarios) Follow(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	other := f.at(f.Dir)
	var seen []string
	for e, err := range f.Events(ctx, croft.EventsRequest{Follow: croft.FollowNew}) {
		must(t, err)
		seen = append(seen, e.Kind)
		switch len(seen) {
		case 2:
			must(t, errOf(other.Create(ctx, croft.CreateRequest{Name: "b"})))
		case 4:
			cancel()
		}
	}
	want := []string{croft.EventWorkspaceCreating, croft.EventWorkspaceCreated, croft.EventWorkspaceCreating, croft.EventWorkspaceCreated}
	if !slices.Equal(seen, want) {
		t.Errorf("followed %v, want %v", seen, want)
	}
	for e, err := range f.Events(ctx, croft.EventsRequest{Follow: croft.FollowNew}) {
		t.Errorf("after the context ended: %+v, %v", e, err)
	}
	// A reader can tell a list that was cut short from a complete one.
	for _, err := range f.Events(ctx, croft.EventsRequest{}) {
		wantCode(t, err, croft.Canceled)
	}
}
