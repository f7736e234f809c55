package servicetest

import (
	"errors"
	"testing"

	"github.com/croft-sh/croft"
)

type revisionScenarios struct{}

// Counts: every change of a noun's record is a revision of its own, and what is read twice
// has the same.
func (revisionScenarios) Counts(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	if w.Revision == 0 || f.show("a").Revision != w.Revision {
		t.Errorf("made at revision %d, read at %d", w.Revision, f.show("a").Revision)
	}
	locked, err := f.Lock(t.Context(), croft.LockRequest{Workspace: "a"})
	must(t, err)
	if locked.Revision <= w.Revision {
		t.Errorf("locked at revision %d, after %d", locked.Revision, w.Revision)
	}
	f.writeIn(w, "a.txt", "a\n")
	m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	held, err := f.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold, Merges: []string{string(m.ID)}})
	must(t, err)
	if m.Revision == 0 || held.Merges[0].Revision <= m.Revision {
		t.Errorf("submitted at revision %d, held at %d", m.Revision, held.Merges[0].Revision)
	}
	ses, err := f.StartSession(t.Context(), croft.SessionRequest{})
	must(t, err)
	_, err = f.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"x"}})
	must(t, err)
	now, err := f.Session(t.Context(), croft.GetRequest{Ref: croft.Ref(ses.ID)})
	must(t, err)
	if ses.Revision == 0 || now.Revision <= ses.Revision {
		t.Errorf("started at revision %d, with a round at %d", ses.Revision, now.Revision)
	}
}

// Stale: no change of a workspace is made that was changed since it was seen, and every one
// is made that was not.
func (revisionScenarios) Stale(t *testing.T, f *fixture) {
	changes := map[string]func(revision int) error{
		"lock": func(n int) error {
			_, err := f.Lock(t.Context(), croft.LockRequest{Workspace: "a", IfRevision: n})
			return err
		},
		"unlock": func(n int) error {
			_, err := f.Unlock(t.Context(), croft.LockRequest{Workspace: "a", IfRevision: n})
			return err
		},
		"remove": func(n int) error {
			_, err := f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce, IfRevision: n})
			return err
		},
		"discard": func(n int) error {
			_, err := f.Discard(t.Context(), croft.DiscardRequest{Workspaces: []string{"a"}, IfRevision: n})
			return err
		},
		"finish": func(n int) error {
			_, err := f.Finish(t.Context(), croft.FinishRequest{Workspace: "a", IfRevision: n})
			return err
		},
		"merge": func(n int) error {
			_, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a", IfRevision: n})
			return err
		},
		"resolve": func(n int) error {
			_, err := f.Resolve(t.Context(), croft.MergeRequest{Workspace: "a", IfRevision: n})
			return err
		},
		"save": func(n int) error {
			_, err := f.Save(t.Context(), croft.SaveRequest{Workspace: "a", IfRevision: n})
			return err
		},
		"snapshot": func(n int) error {
			_, err := f.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a", IfRevision: n})
			return err
		},
	}
	for name, change := range changes {
		w := f.create(croft.CreateRequest{Name: "a"})
		f.writeIn(w, "a.txt", "a\n")
		before := f.show("a")
		was := f.Trace()
		if err := change(before.Revision + 1); !errors.Is(err, croft.RevisionChanged) {
			t.Errorf("%s at another revision: %v", name, err)
		} else {
			checkError(t, croft.AsError("", err))
		}
		if now := f.show("a"); now.Revision != before.Revision || now.MergeStatus != before.MergeStatus || f.Trace() != was {
			t.Errorf("%s was refused, and changed something: revision %d, %q", name, now.Revision, now.MergeStatus)
		}
		if err := change(before.Revision); err != nil {
			t.Errorf("%s at the revision that was seen: %v", name, err)
		}
		_, err := f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce})
		must(t, err)
	}
}

// Race: of several callers that have seen the same revision, one goes on.
func (revisionScenarios) Race(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	const callers = 8
	results := make(chan error, callers)
	for range callers {
		go func() {
			_, err := f.UpdateWorkspace(t.Context(), croft.UpdateRequest{Workspace: "a", Meta: map[string]string{"x": "1"}, IfRevision: w.Revision})
			results <- err
		}()
	}
	passed := 0
	for range callers {
		switch err := <-results; {
		case err == nil:
			passed++
		case !errors.Is(err, croft.RevisionChanged):
			t.Error(err)
		}
	}
	if passed != 1 {
		t.Errorf("%d callers went on", passed)
	}
}

// Elsewhere: calls that need more than a workspace refuse another revision, too.
func (revisionScenarios) Elsewhere(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	if _, err := f.ArchiveScratch(t.Context(), croft.ArchiveRequest{Workspace: "a", IfRevision: w.Revision + 1}); !errors.Is(err, croft.RevisionChanged) {
		t.Errorf("archive: %v", err)
	}
	if _, err := f.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a", Role: "x", IfRevision: w.Revision + 1}); !errors.Is(err, croft.RevisionChanged) {
		t.Errorf("role: %v", err)
	}
}

// Several: a revision is that of one thing.
func (revisionScenarios) Several(t *testing.T, f *fixture) {
	f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	for _, names := range [][]string{nil, {"a", "b"}} {
		_, err := f.Remove(t.Context(), croft.RemoveRequest{Workspaces: names, IfRevision: 1})
		if !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("remove %q: %v", names, err)
		}
		_, err = f.Discard(t.Context(), croft.DiscardRequest{Workspaces: names, IfRevision: 1})
		if !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("discard %q: %v", names, err)
		}
		_, err = f.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold, Merges: names, IfRevision: 1})
		if !errors.Is(err, croft.InvalidRequest) {
			t.Errorf("hold %q: %v", names, err)
		}
	}
}

// Queue: a merge that was changed since it was seen is not changed.
func (revisionScenarios) Queue(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "a.txt", "a\n")
	m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})
	must(t, err)
	hold := croft.QueueRequest{Action: croft.QueueHold, Merges: []string{string(m.ID)}, IfRevision: m.Revision}
	held, err := f.ChangeQueue(t.Context(), hold)
	must(t, err)
	hold.Action = croft.QueueCancel
	if _, err := f.ChangeQueue(t.Context(), hold); !errors.Is(err, croft.RevisionChanged) {
		t.Errorf("a merge that was held since is cancelled: %v", err)
	}
	now, err := f.Merge(t.Context(), croft.GetRequest{Ref: croft.Ref(m.ID)})
	must(t, err)
	if now.State != croft.MergeQueued || now.Revision != held.Merges[0].Revision {
		t.Errorf("it is %s at revision %d", now.State, now.Revision)
	}
}

// Session: a session that was changed since it was seen does not end.
func (revisionScenarios) Session(t *testing.T, f *fixture) {
	ses, err := f.StartSession(t.Context(), croft.SessionRequest{})
	must(t, err)
	_, err = f.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"x"}})
	must(t, err)
	if _, err := f.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(ses.ID), IfRevision: ses.Revision}); !errors.Is(err, croft.RevisionChanged) {
		t.Errorf("a session with a round since ends: %v", err)
	}
	now, err := f.Session(t.Context(), croft.GetRequest{Ref: croft.Ref(ses.ID)})
	must(t, err)
	if now.State != croft.SessionOpen {
		t.Errorf("it is %s", now.State)
	}
	_, err = f.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(ses.ID), IfRevision: now.Revision})
	must(t, err)
}

// Repeated: a call with a key that has been answered is answered again, although the
// revision has changed by that call.
func (revisionScenarios) Repeated(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.writeIn(w, "a.txt", "a\n")
	req := croft.MergeRequest{Key: "k", Workspace: "a", IfRevision: f.show("a").Revision}
	first, err := f.SubmitMerge(t.Context(), req)
	must(t, err)
	again, err := f.SubmitMerge(t.Context(), req)
	if err != nil || again.ID != first.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	rm := croft.RemoveRequest{Key: "r", Workspaces: []string{"a"}, Mode: croft.RemoveForce, IfRevision: f.show("a").Revision}
	gone, err := f.Remove(t.Context(), rm)
	must(t, err)
	twice, err := f.Remove(t.Context(), rm)
	if err != nil || len(twice.Removed) != 1 || twice.Removed[0].Trash != gone.Removed[0].Trash {
		t.Errorf("again: %+v, %v", twice, err)
	}
}
