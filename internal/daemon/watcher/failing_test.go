package watcher_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon/watcher"
)

// failing is a Service with one changed workspace on its first page, whose calls fail at first.
type failing struct {
	still
	mu                sync.Mutex
	noRepos, noSecond int // how many calls still fail
	uncommitted       int
}

func (f *failing) Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.noRepos > 0 {
		f.noRepos--
		return nil, errors.New("busy")
	}
	return f.still.Repos(ctx, req)
}

func (f *failing) Workspaces(_ context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if req.After == "second" {
		if f.noSecond > 0 {
			f.noSecond--
			return nil, errors.New("busy")
		}
		return &croft.List[croft.Workspace]{}, nil
	}
	w := croft.Workspace{ID: "w", Work: &croft.Work{Uncommitted: f.uncommitted, Seen: []croft.Aspect{croft.AspectFiles}}}
	return &croft.List[croft.Workspace]{Items: []croft.Workspace{w}, Next: "second"}, nil
}

// TestChangesAreToldAfterFailures: a change is told although listing the projects, reading the
// next page, and telling failed first.
func TestChangesAreToldAfterFailures(t *testing.T) {
	svc := &failing{noRepos: 1, noSecond: 1, uncommitted: 1}
	told, refused := make(chan int, 10), 2
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watcher.Run(ctx, watcher.Options{
			Service: svc, Least: 10 * time.Millisecond, Most: 20 * time.Millisecond, Share: 1, IdleShare: 1,
			Tell: func(_ context.Context, seen []croft.Workspace) error {
				if refused > 0 {
					refused--
					return errors.New("full")
				}
				told <- seen[0].Work.Uncommitted
				return nil
			},
		})
	}()
	for _, want := range []int{1, 2} {
		select {
		case n := <-told:
			if n != want {
				t.Errorf("told of %d, want %d", n, want)
			}
		case <-ctx.Done():
			t.Fatalf("%d was never told", want)
		}
		svc.mu.Lock()
		svc.uncommitted = 2
		svc.mu.Unlock()
	}
	stop()
	<-ended
	select {
	case n := <-told:
		t.Errorf("told of %d again", n)
	default:
	}
}
