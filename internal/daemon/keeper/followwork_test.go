package keeper

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestFollowsWork: open pull requests are asked for, and runs that have ended are settled if something is left
// to do; nothing else is.
func TestFollowsWork(t *testing.T) {
	f := newFake("a")
	now := time.Now()
	pull := func(id croft.ID, state croft.PullRequestState) croft.Workspace {
		return croft.Workspace{ID: id, RepoID: "a", PullRequest: &croft.PullRequest{State: state}}
	}
	ran := func(id croft.ID, r croft.Run) croft.Workspace {
		return croft.Workspace{ID: id, RepoID: "a", Run: &r}
	}
	f.workspaces = []croft.Workspace{
		pull("open", croft.PullRequestIsOpen), pull("merged", croft.PullRequestMerged),
		{ID: "none", RepoID: "a"},
		ran("unfinished", croft.Run{State: croft.RunEnded, How: croft.RunDone, EndedAt: now}),
		ran("unrecorded", croft.Run{State: croft.RunEnded, How: croft.RunLost}),
		ran("finished", croft.Run{State: croft.RunEnded, How: croft.RunDone, EndedAt: now, FinishedAt: now}),
		ran("kept", croft.Run{State: croft.RunEnded, How: croft.RunDone, EndedAt: now, Finish: croft.FinishNever}),
		ran("lost", croft.Run{State: croft.RunEnded, How: croft.RunLost, EndedAt: now}),
		ran("running", croft.Run{State: croft.RunRunning}),
	}
	settled := make(chan croft.ID, 1000)
	times := Times{Look: time.Hour, Retry: time.Hour, Upkeep: time.Hour, Follow: 10 * time.Millisecond}
	run(t, Options{Service: f, Times: times, Settle: func(_ context.Context, ws croft.Workspace) error {
		select {
		case settled <- ws.ID:
		default:
		}
		return nil
	}})
	seen := map[croft.ID]bool{}
	for deadline := time.After(10 * time.Second); !seen["unfinished"] || !seen["unrecorded"] || f.count(f.refreshed, croft.ByID("open")) < 2; {
		select {
		case id := <-settled:
			seen[id] = true
		case <-deadline:
			t.Fatalf("settled %v, asked %v", seen, f.refreshed)
		}
	}
	if len(seen) != 2 {
		t.Errorf("settled %v", seen)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.refreshed) != 1 {
		t.Errorf("asked for %v", f.refreshed)
	}
}

// TestAsksLessOften: a host that does not answer is asked ever less often.
func TestAsksLessOften(t *testing.T) {
	f := newFake("a")
	f.refuses = errors.New("no network")
	ws := croft.Workspace{ID: "x", RepoID: "a", PullRequest: &croft.PullRequest{State: croft.PullRequestIsOpen}}
	k := New(Options{Service: f, Times: Times{Follow: time.Hour}})
	var closed atomic.Bool
	k.closed = func() { closed.Store(true) }
	asked := map[croft.ID]*retry{}
	var waits []time.Duration
	for range 6 {
		k.askHost(t.Context(), ws, asked)
		k.askHost(t.Context(), ws, asked) // not due
		waits = append(waits, asked["x"].wait)
		asked["x"].at = time.Time{}
	}
	if f.refreshed[croft.ByID("x")] != 6 || waits[0] != 2*time.Hour || waits[1] != 4*time.Hour || waits[5] != maxAsk*time.Hour {
		t.Errorf("asked %d times, with waits of %v", f.refreshed[croft.ByID("x")], waits)
	}
	f.refuses = nil
	if k.askHost(t.Context(), ws, asked); asked["x"] != nil || closed.Load() {
		t.Error("an answer does not begin anew")
	}
}
