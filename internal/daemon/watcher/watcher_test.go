package watcher_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/daemon/watcher"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestTells: what an agent commits and writes is told, once, as the agent's, and is no new
// revision.
func TestTells(t *testing.T) {
	repo := gittest.New(t)
	e, err := engine.Open(t.Context(), repo.Dir, &engine.Options{Environ: repo.Env})
	if err != nil {
		t.Fatal(err)
	}
	hub := stream.NewHub(e)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan struct{})
	t.Cleanup(func() {
		stop()
		<-ended
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	ws, err := hub.Create(ctx, croft.CreateRequest{Name: "a", Agent: "claude"})
	if err != nil {
		t.Fatal(err)
	}
	told, wanted := make(chan croft.Event, 100), make(chan croft.ID)
	go func() {
		for ev, err := range hub.Events(ctx, croft.EventsRequest{From: croft.FromNow, Follow: croft.FollowNew, Kinds: []string{croft.EventWorkspaceChanged}}) {
			if err == nil {
				told <- ev
			}
		}
	}()
	go func() {
		defer close(ended)
		watcher.Run(ctx, watcher.Options{Service: hub, Tell: e.Observe, Wanted: wanted, Least: 50 * time.Millisecond, Most: 200 * time.Millisecond, Share: 1, IdleShare: 1})
	}()
	next := func(what string) *croft.Workspace {
		t.Helper()
		select {
		case ev := <-told:
			if ev.ActorWorkspace != ws.ID || ev.Actor != "claude in a" {
				t.Errorf("%s: by %q in %q", what, ev.Actor, ev.ActorWorkspace)
			}
			return ev.After.Workspace
		case <-ctx.Done():
			t.Fatalf("%s was not told", what)
			return nil
		}
	}
	time.Sleep(300 * time.Millisecond) // it has looked at a clean workspace
	if err := os.WriteFile(filepath.Join(ws.Path, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := next("a file"); w.Work == nil || w.Work.Uncommitted != 1 || w.Head != ws.Head {
		t.Errorf("%+v %+v", w, w.Work)
	}
	// While somebody looks, a write that leaves all counts as they were is told, too, and a time
	// that is not over tells nothing.
	wanted <- ""
	next("that somebody looks")
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(ws.Path, "a.txt"), future, future); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond)
	if len(told) > 0 {
		t.Errorf("told of a time that is not over: %+v", (<-told).After.Workspace)
	}
	if err := os.WriteFile(filepath.Join(ws.Path, "a.txt"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w := next("other text"); w.Work == nil || w.Work.Uncommitted != 1 {
		t.Errorf("%+v %+v", w, w.Work)
	}
	repo.GitIn(ws.Path, "add", ".")
	repo.GitIn(ws.Path, "commit", "--quiet", "-m", "a")
	head := repo.GitIn(ws.Path, "rev-parse", "HEAD")
	w := next("a commit")
	for w.Head != head || w.Work.Uncommitted != 0 {
		w = next("a commit") // git writes index and head one after the other
	}
	if w.Revision != ws.Revision {
		t.Errorf("revision %d, was %d", w.Revision, ws.Revision)
	}
	select {
	case ev := <-told:
		t.Errorf("told twice: %+v", ev.After.Workspace)
	case <-time.After(500 * time.Millisecond):
	}
	if _, err := hub.Lock(ctx, croft.LockRequest{Workspace: "a", IfRevision: ws.Revision}); err != nil {
		t.Errorf("a caller that has seen the record: %v", err)
	}
	for ev, err := range hub.Events(ctx, croft.EventsRequest{Kinds: []string{croft.EventWorkspaceLocked}}) {
		if err != nil || ev.After.Workspace.Head != head {
			t.Errorf("a later event has the head %s, %v", ev.After.Workspace.Head, err)
		}
	}
}

// still is a Service in which nothing changes, and that counts the looks.
type still struct {
	croft.UnimplementedService
	looks atomic.Int32
	takes time.Duration
}

func (s *still) Repos(context.Context, croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return &croft.List[croft.Repo]{Items: []croft.Repo{{ID: "r"}}}, nil
}

func (s *still) Workspaces(context.Context, croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	s.looks.Add(1)
	time.Sleep(s.takes)
	return &croft.List[croft.Workspace]{}, nil
}

func (s *still) Events(ctx context.Context, _ croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(func(croft.Event, error) bool) { <-ctx.Done() }
}

// TestRationed: where nothing changes, looks become rare, and an expensive one waits as long
// as its share says.
func TestRationed(t *testing.T) {
	for _, row := range []struct {
		takes time.Duration
		o     watcher.Options
		most  int32
	}{
		{0, watcher.Options{Least: 20 * time.Millisecond, Most: time.Hour, Share: 1, IdleShare: 1}, 7}, // 40, 80, 160, 320, 640 ms
		{20 * time.Millisecond, watcher.Options{Least: time.Millisecond, Most: time.Millisecond, Share: 0.5, IdleShare: 0.05}, 4},
	} {
		svc := &still{takes: row.takes}
		row.o.Service, row.o.Tell = svc, func(context.Context, []croft.Workspace) error { return nil }
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		watcher.Run(ctx, row.o)
		stop()
		if n := svc.looks.Load(); n < 2 || n > row.most {
			t.Errorf("%v: %d looks in a second", row.takes, n)
		}
	}
}

// TestWanted: a project that somebody looks at is looked at often, as long as that is so, and
// an expensive one as rarely as its share says.
func TestWanted(t *testing.T) {
	for _, row := range []struct {
		name         string
		wanted       croft.ID
		takes        time.Duration
		fewest, most int32
	}{
		{"nothing", "other", 0, 1, 2},
		{"the project", "r", 0, 8, 22},
		{"all", "", 0, 8, 22},
		{"an expensive one", "r", 30 * time.Millisecond, 2, 4},
	} {
		svc, wanted := &still{takes: row.takes}, make(chan croft.ID)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		go func() {
			for ctx.Err() == nil {
				select {
				case wanted <- row.wanted:
					time.Sleep(5 * time.Millisecond)
				case <-ctx.Done():
				}
			}
		}()
		watcher.Run(ctx, watcher.Options{
			Service: svc, Tell: func(context.Context, []croft.Workspace) error { return nil },
			Least: time.Hour, Most: time.Hour, Wanted: wanted, WantedLeast: 50 * time.Millisecond, WantedShare: 0.1,
		})
		stop()
		if n := svc.looks.Load(); n < row.fewest || n > row.most {
			t.Errorf("%s: %d looks in a second", row.name, n)
		}
	}
}
