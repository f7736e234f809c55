package dashboard

import (
	"context"
	"sync"
	"time"

	"github.com/croft-sh/croft"
)

const (
	// lookTime is how long one listing may look at the files of workspaces.
	lookTime = croft.Duration(200 * time.Millisecond)
	// listTime is how long a listing may take at all.
	listTime = time.Minute
)

// lists are the workspaces, the projects and the merges that wait. Every page counts them, and
// several pages are made at a time: a page never has what was read before it was asked for, and
// pages that are asked for while a list is read share the next reading.
type lists struct {
	lookedOf     kept[[]croft.Workspace]
	workspacesOf kept[[]croft.Workspace]
	reposOf      kept[[]croft.Repo]
	mergesOf     kept[[]croft.Merge]
}

func newLists(svc croft.Service) *lists {
	l := &lists{}
	read := func(ctx context.Context, look croft.Duration) ([]croft.Workspace, error) {
		return allOf(func(p croft.Page) (*croft.List[croft.Workspace], error) {
			return svc.Workspaces(ctx, croft.WorkspacesRequest{Repos: croft.ScopeAll, Look: look, Page: p})
		})
	}
	l.lookedOf.read = func(ctx context.Context) ([]croft.Workspace, error) { return read(ctx, lookTime) }
	l.workspacesOf.read = func(ctx context.Context) ([]croft.Workspace, error) { return read(ctx, 0) }
	l.reposOf.read = func(ctx context.Context) ([]croft.Repo, error) {
		return allOf(func(p croft.Page) (*croft.List[croft.Repo], error) {
			return svc.Repos(ctx, croft.ReposRequest{Page: p})
		})
	}
	l.mergesOf.read = func(ctx context.Context) ([]croft.Merge, error) {
		return allOf(func(p croft.Page) (*croft.List[croft.Merge], error) {
			return svc.Merges(ctx, croft.MergesRequest{Repos: croft.ScopeAll, Page: p})
		})
	}
	return l
}

// looked are the live workspaces of all projects, the oldest first, with what a look at
// their files saw.
func (l *lists) looked(r *request) ([]croft.Workspace, error) {
	all, err := l.lookedOf.get(r.Context(), r.begun)
	if err == nil {
		r.listed = all
	}
	return all, err
}

// workspaces are the same without a look, which is quicker, unless the request has looked.
func (l *lists) workspaces(r *request) ([]croft.Workspace, error) {
	if r.listed != nil {
		return r.listed, nil
	}
	return l.workspacesOf.get(r.Context(), r.begun)
}

// repos are all projects.
func (l *lists) repos(r *request) ([]croft.Repo, error) { return l.reposOf.get(r.Context(), r.begun) }

// waiting are the merges of all projects that wait, or are tried again.
func (l *lists) waiting(r *request) ([]croft.Merge, error) {
	return l.mergesOf.get(r.Context(), r.begun)
}

// allOf reads all pages of a list.
func allOf[T any](read func(croft.Page) (*croft.List[T], error)) ([]T, error) {
	var all []T
	var at croft.Page
	for {
		list, err := read(at)
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
		if list.Next == "" {
			return all, nil
		}
		at.After = list.Next
	}
}

// kept is an answer that is read once for all who ask at about the same time.
type kept[T any] struct {
	read func(context.Context) (T, error)

	mu  sync.Mutex
	now *reading[T] // under way, or the last one
}

type reading[T any] struct {
	begun time.Time
	done  chan struct{} // closed when it has ended
	value T
	err   error
}

// get returns an answer that was not begun to be read before a time. One reading runs at a time.
func (k *kept[T]) get(ctx context.Context, since time.Time) (T, error) {
	for {
		r := k.begin(ctx, since)
		select {
		case <-r.done:
			if !r.begun.Before(since) {
				return r.value, r.err
			}
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

// begin returns the reading that is under way, or recent enough, or else a new one.
func (k *kept[T]) begin(ctx context.Context, since time.Time) *reading[T] {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.now; r != nil {
		select {
		case <-r.done:
			if !r.begun.Before(since) {
				return r
			}
		default:
			return r
		}
	}
	r := &reading[T]{begun: time.Now(), done: make(chan struct{})}
	k.now = r
	go k.fill(context.WithoutCancel(ctx), r)
	return r
}

// fill reads for all who wait, also if the first of them gives up.
func (k *kept[T]) fill(ctx context.Context, r *reading[T]) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	r.value, r.err = k.read(ctx)
	close(r.done)
}
