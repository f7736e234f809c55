//go:build failpoints

package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// calling returns a task that calls a method.
func calling(t *testing.T, method string, req any) task {
	t.Helper()
	b, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	return task{Call: method, Request: b}
}

// eachKill kills a process at every failpoint of a call with a key, and before and after
// every transaction. Then it makes the call twice, and fails unless both return the same.
// want checks what was done.
func eachKill(t *testing.T, setting func(t *testing.T) (*gittest.Repo, task), want func(t *testing.T, r *gittest.Repo, e *engine.Engine, answer string)) {
	t.Helper()
	for _, kind := range []string{"", "-commits"} {
		r, job := setting(t)
		log := filepath.Join(r.Home, "points")
		if out, err := run(t, helper(t, r, job, "CROFT_FAILPOINT=log"+kind+"="+log)); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		points := strings.Fields(read(t, log))
		if len(points) == 0 {
			t.Fatal("no failpoint was passed")
		}
		step := 1
		if os.Getenv("CROFT_LONG") == "" {
			step = 1 + len(points)/12
		}
		for n := 1; n <= len(points); n += step {
			t.Run(fmt.Sprintf("%d%s", n, kind), func(t *testing.T) {
				t.Parallel()
				r, job := setting(t)
				killed(t, helper(t, r, job, fmt.Sprintf("CROFT_FAILPOINT=kill%s=#%d", kind, n)))
				e := engineIn(t, r, 0)
				first, err := job.call(t.Context(), e)
				if err != nil {
					t.Fatalf("after %s: %v", points[n-1], err)
				}
				if again, err := job.call(t.Context(), e); err != nil || again != first {
					t.Errorf("after %s: %v\n%s\n%s", points[n-1], err, first, again)
				}
				want(t, r, e, first)
			})
		}
	}
}

// wantEvents fails unless there are n events of a kind.
func wantEvents(t *testing.T, e *engine.Engine, kind string, n int) {
	t.Helper()
	got := 0
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{Kinds: []string{kind}}) {
		if err != nil {
			t.Fatal(err)
		}
		if got++; got > n {
			t.Errorf("one more event: %+v", ev)
		}
	}
	if got < n {
		t.Errorf("%d events of %s, want %d", got, kind, n)
	}
}

// wantNoted fails unless the history has n acts of a kind.
func wantNoted(t *testing.T, e *engine.Engine, kind string, n int) {
	t.Helper()
	list, err := e.History(t.Context(), croft.HistoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, op := range list.Items {
		if op.Kind == kind {
			got++
		}
	}
	if got != n {
		t.Errorf("the history has %d acts %q, want %d: %+v", got, kind, n, list.Items)
	}
}

// oneDirty returns a repository with a workspace that has uncommitted work.
func oneDirty(t *testing.T) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	brief(t, r, func(e *engine.Engine) {
		w := create(t, e, croft.CreateRequest{Name: "a"})
		gittest.WriteFile(t, filepath.Join(w.Path, "wip.txt"), "wip\n")
	})
	return r
}

// TestKilledSnapshotWithKey: one snapshot is taken, one event and one act tell of it.
func TestKilledSnapshotWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		return oneDirty(t), calling(t, "TakeSnapshot", croft.SnapshotRequest{Key: "k", Workspace: "a"})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, answer string) {
		list, err := e.Snapshots(t.Context(), croft.SnapshotsRequest{})
		if err != nil || len(list.Items) != 1 || !strings.Contains(answer, string(list.Items[0].ID)) {
			t.Errorf("snapshots %+v, %v; the answer was %s", list, err, answer)
		}
		wantEvents(t, e, croft.EventWorkspaceSaved, 1)
		wantNoted(t, e, "snapshot", 1)
	})
}

// TestKilledReviewWithKey: one review is kept, and one event tells of it.
func TestKilledReviewWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		return oneDirty(t), calling(t, "CreateReview", croft.ReviewRequest{Key: "k", Workspace: "a"})
	}
	eachKill(t, setting, func(t *testing.T, r *gittest.Repo, e *engine.Engine, answer string) {
		if refs := strings.Fields(r.Git("for-each-ref", "--format=%(refname)", "refs/croft/review")); len(refs) != 1 {
			t.Errorf("reviews %v", refs)
		}
		if !strings.Contains(answer, "+wip") {
			t.Errorf("the answer has not the lines: %s", answer)
		}
		wantEvents(t, e, croft.EventReviewCreated, 1)
	})
}

// TestKilledUndoWithKey kills a process that undoes its last act, and repeats the request:
// the act before it stays, and there is one undo.
func TestKilledUndoWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := gittest.New(t)
		brief(t, r, func(e *engine.Engine) {
			create(t, e, croft.CreateRequest{Name: "a"})
			create(t, e, croft.CreateRequest{Name: "b"})
		})
		return r, calling(t, "Undo", croft.UndoRequest{Key: "k"})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
		if live := names(t, e); len(live) != 1 || live[0] != "a" {
			t.Errorf("live: %v, want a alone", live)
		}
		wantNoted(t, e, "undo", 1)
	})
}

// TestKilledRemovalWithKey kills a process that removes a workspace, and repeats the
// request, also after another workspace got the name: that one stays.
func TestKilledRemovalWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := gittest.New(t)
		brief(t, r, func(e *engine.Engine) { create(t, e, croft.CreateRequest{Name: "a"}) })
		return r, calling(t, "Remove", croft.RemoveRequest{Key: "k", Workspaces: []string{"a"}})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, first string) {
		if live := names(t, e); len(live) != 0 {
			t.Fatalf("live: %v", live)
		}
		create(t, e, croft.CreateRequest{Name: "a"})
		again, err := calling(t, "Remove", croft.RemoveRequest{Key: "k", Workspaces: []string{"a"}}).call(t.Context(), e)
		if live := names(t, e); err != nil || again != first || len(live) != 1 {
			t.Errorf("live: %v, want the new workspace; %v, %s, %s", live, err, first, again)
		}
	})
}

// TestKilledRestoreWithKey kills a process that restores a removed workspace to a snapshot.
// The repeated request answers when the workspace has the files of the snapshot.
func TestKilledRestoreWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := oneDirty(t)
		var snap *croft.Snapshot
		brief(t, r, func(e *engine.Engine) {
			var err error
			if snap, err = e.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: "a"}); err != nil {
				t.Fatal(err)
			}
			gittest.WriteFile(t, filepath.Join(show(t, e, "a").Path, "wip.txt"), "later\n")
			if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"a"}, Mode: croft.RemoveForce}); err != nil {
				t.Fatal(err)
			}
		})
		return r, calling(t, "Restore", croft.RestoreRequest{Key: "k", Ref: string(snap.ID)})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
		if got := read(t, filepath.Join(show(t, e, "a").Path, "wip.txt")); got != "wip\n" {
			t.Errorf("the file has %q", got)
		}
	})
}

// TestKilledQueueWithKey kills a process that cancels all waiting merges. A merge that was
// submitted since stays in the queue when the request is repeated.
func TestKilledQueueWithKey(t *testing.T) {
	submit := func(t *testing.T, e *engine.Engine, name string) {
		t.Helper()
		w := create(t, e, croft.CreateRequest{Name: name})
		gittest.WriteFile(t, filepath.Join(w.Path, name), "work\n")
		if _, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name}); err != nil {
			t.Fatal(err)
		}
	}
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := gittest.New(t)
		brief(t, r, func(e *engine.Engine) { submit(t, e, "a") })
		return r, calling(t, "ChangeQueue", croft.QueueRequest{Key: "k", Action: croft.QueueCancel})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, first string) {
		submit(t, e, "b")
		again, err := calling(t, "ChangeQueue", croft.QueueRequest{Key: "k", Action: croft.QueueCancel}).call(t.Context(), e)
		list, lerr := e.Merges(t.Context(), croft.MergesRequest{})
		if err != nil || again != first || lerr != nil || len(list.Items) != 1 || list.Items[0].WorkspaceName != "b" {
			t.Errorf("%v\n%s\n%s\nwaiting: %+v, %v", err, first, again, list, lerr)
		}
		wantEvents(t, e, croft.EventMergeCanceled, 1)
		wantNoted(t, e, "queue cancel", 1)
	})
}

// TestQueueKeyPinsItsMerges kills a process that has found the merges that it is about to
// cancel. The repeated request leaves one alone that was submitted between the two.
func TestQueueKeyPinsItsMerges(t *testing.T) {
	r := gittest.New(t)
	submit := func(e *engine.Engine, name string) {
		w := create(t, e, croft.CreateRequest{Name: name})
		gittest.WriteFile(t, filepath.Join(w.Path, name), "work\n")
		if _, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name}); err != nil {
			t.Fatal(err)
		}
	}
	brief(t, r, func(e *engine.Engine) { submit(e, "a") })
	job := calling(t, "ChangeQueue", croft.QueueRequest{Key: "k", Action: croft.QueueCancel})
	killed(t, helper(t, r, job, "CROFT_FAILPOINT=kill=queue.found"))
	e := engineIn(t, r, 0)
	submit(e, "b")
	if _, err := job.call(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	list, err := e.Merges(t.Context(), croft.MergesRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].WorkspaceName != "b" {
		t.Errorf("waiting: %+v, %v", list, err)
	}
}

// TestKilledLockWithKey: the workspace is locked, and one event and one act tell of it. Once
// it is unlocked, the repeated request does not lock it.
func TestKilledLockWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		return oneDirty(t), calling(t, "Lock", croft.LockRequest{Key: "k", Workspace: "a", Reason: "mine"})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, first string) {
		if w := show(t, e, "a"); !w.IsLocked || w.LockReason != "mine" {
			t.Errorf("the workspace is %+v", w)
		}
		wantEvents(t, e, croft.EventWorkspaceLocked, 1)
		wantNoted(t, e, "lock", 1)
		if _, err := e.Unlock(t.Context(), croft.LockRequest{Workspace: "a"}); err != nil {
			t.Fatal(err)
		}
		again, err := calling(t, "Lock", croft.LockRequest{Key: "k", Workspace: "a", Reason: "mine"}).call(t.Context(), e)
		if err != nil || again != first || show(t, e, "a").IsLocked {
			t.Errorf("%v\n%s\n%s", err, first, again)
		}
	})
}

// oneSession returns a repository with an open session.
func oneSession(t *testing.T) (*gittest.Repo, croft.ID) {
	t.Helper()
	r := gittest.New(t)
	var id croft.ID
	brief(t, r, func(e *engine.Engine) {
		ses, err := e.StartSession(t.Context(), croft.SessionRequest{})
		if err != nil {
			t.Fatal(err)
		}
		id = ses.ID
	})
	return r, id
}

// TestKilledRoundWithKey: one round is started, with one workspace for each agent.
func TestKilledRoundWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, ses := oneSession(t)
		return r, calling(t, "StartRound", croft.RoundRequest{Key: "k", Session: croft.ByID(ses), Agents: []string{"x", "y"}})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
		list, err := e.Sessions(t.Context(), croft.SessionsRequest{})
		if err != nil || len(list.Items) != 1 || len(list.Items[0].Rounds) != 1 {
			t.Fatalf("sessions %+v, %v", list, err)
		}
		if live := names(t, e); len(live) != 2 {
			t.Errorf("live: %v", live)
		}
		wantEvents(t, e, croft.EventRoundStarted, 1)
	})
}

// TestKilledEndOfRoundWithKey: the round ends once, and a later one is left alone.
func TestKilledEndOfRoundWithKey(t *testing.T) {
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r, ses := oneSession(t)
		var round *croft.Round
		brief(t, r, func(e *engine.Engine) {
			var err error
			if round, err = e.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses), Agents: []string{"x", "y"}}); err != nil {
				t.Fatal(err)
			}
			for _, w := range round.Workspaces {
				gittest.WriteFile(t, filepath.Join(w.Path, w.Agent), "work\n")
			}
		})
		return r, calling(t, "EndRound", croft.EndRoundRequest{Key: "k", Round: round.ID})
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
		if live := names(t, e); len(live) != 0 {
			t.Errorf("live: %v", live)
		}
		wantEvents(t, e, croft.EventRoundEnded, 1)
		trash, err := e.Trash(t.Context(), croft.TrashRequest{})
		if err != nil || len(trash.Items) != 2 {
			t.Errorf("the trash has %+v, %v", trash, err)
		}
	})
}

// TestKilledCleanWithKey: what the first call found is removed once. A workspace that was
// made or restored since stays.
func TestKilledCleanWithKey(t *testing.T) {
	req := croft.CleanRequest{Key: "k", All: croft.ScopeAll}
	setting := func(t *testing.T) (*gittest.Repo, task) {
		r := gittest.New(t)
		brief(t, r, func(e *engine.Engine) {
			create(t, e, croft.CreateRequest{Name: "a"})
			create(t, e, croft.CreateRequest{Name: "b"})
		})
		return r, calling(t, "Clean", req)
	}
	eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, first string) {
		if live := names(t, e); len(live) != 0 {
			t.Fatalf("live: %v", live)
		}
		wantEvents(t, e, croft.EventWorkspaceRemoved, 2)
		create(t, e, croft.CreateRequest{Name: "c"})
		if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "a"}); err != nil {
			t.Fatal(err)
		}
		again, err := calling(t, "Clean", req).call(t.Context(), e)
		if live := names(t, e); err != nil || again != first || len(live) != 2 {
			t.Errorf("live: %v; %v\n%s\n%s", live, err, first, again)
		}
	})
}

// TestCleanKeyPinsItsWorkspaces kills a process that cleans before it has removed anything.
// The repeated request leaves a workspace alone that was made between the two.
func TestCleanKeyPinsItsWorkspaces(t *testing.T) {
	r := gittest.New(t)
	brief(t, r, func(e *engine.Engine) { create(t, e, croft.CreateRequest{Name: "a"}) })
	job := calling(t, "Clean", croft.CleanRequest{Key: "k", All: croft.ScopeAll})
	killed(t, helper(t, r, job, "CROFT_FAILPOINT=kill=key.pinned"))
	e := engineIn(t, r, 0)
	create(t, e, croft.CreateRequest{Name: "b"})
	if _, err := job.call(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if live := names(t, e); len(live) != 1 || live[0] != "b" {
		t.Errorf("live: %v, want b alone", live)
	}
}

// TestKilledWithRevision: a call that is bound to a revision is killed and repeated with its
// key. The first call has claimed the revision for both.
func TestKilledWithRevision(t *testing.T) {
	revision := func(t *testing.T, r *gittest.Repo) (n int) {
		brief(t, r, func(e *engine.Engine) { n = show(t, e, "a").Revision })
		return n
	}
	t.Run("lock", func(t *testing.T) {
		setting := func(t *testing.T) (*gittest.Repo, task) {
			r := oneDirty(t)
			return r, calling(t, "Lock", croft.LockRequest{Key: "k", Workspace: "a", IfRevision: revision(t, r)})
		}
		eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
			if !show(t, e, "a").IsLocked {
				t.Error("it is not locked")
			}
		})
	})
	t.Run("merge", func(t *testing.T) {
		setting := func(t *testing.T) (*gittest.Repo, task) {
			r := oneDirty(t)
			return r, calling(t, "SubmitMerge", croft.MergeRequest{Key: "k", Workspace: "a", IfRevision: revision(t, r)})
		}
		eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
			wantEvents(t, e, croft.EventMergeQueued, 1)
		})
	})
	t.Run("discard", func(t *testing.T) {
		setting := func(t *testing.T) (*gittest.Repo, task) {
			r := oneDirty(t)
			return r, calling(t, "Discard", croft.DiscardRequest{Key: "k", Workspaces: []croft.Ref{"a"}, IfRevision: revision(t, r)})
		}
		eachKill(t, setting, func(t *testing.T, _ *gittest.Repo, e *engine.Engine, _ string) {
			wantEvents(t, e, croft.EventWorkspaceRemoved, 1)
		})
	})
}
