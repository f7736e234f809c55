// Package replica keeps lists of workspaces, merges and sessions up to date from events
// alone, for programs that show them: they list once, follow events from the cursor of the
// list, and never poll.
package replica

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/croft-sh/croft"
)

// Replica is the state that events tell of. The nouns are as recorded; see croft.Nouns. It
// may be used by one goroutine at a time.
type Replica struct {
	Cursor     croft.Cursor // the next request for events begins after it
	Workspaces map[croft.ID]croft.Workspace
	Merges     map[croft.ID]croft.Merge
	Sessions   map[croft.ID]croft.Session
}

// New returns a replica that has seen nothing, for a reader that begins with the first
// event.
func New() *Replica {
	return &Replica{
		Workspaces: map[croft.ID]croft.Workspace{}, Merges: map[croft.ID]croft.Merge{}, Sessions: map[croft.ID]croft.Session{},
	}
}

// Lists is the part of a Service that Load reads.
type Lists interface {
	Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error)
	Merges(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error)
	Sessions(ctx context.Context, req croft.SessionsRequest) (*croft.List[croft.Session], error)
}

// Load returns a replica of the live workspaces and all merges and sessions of a
// repository, given as a directory. A reader begins with Load, and again after CursorExpired.
func Load(ctx context.Context, svc Lists, repo string) (*Replica, error) {
	r := New()
	for req := (croft.WorkspacesRequest{Repo: repo}); ; {
		list, err := svc.Workspaces(ctx, req)
		if err != nil {
			return nil, err
		}
		r.Cursor = cmp.Or(r.Cursor, list.Cursor) // of the first page: an event may be seen twice, but none is missed
		for _, w := range list.Items {
			r.Workspaces[w.ID] = w
		}
		if req.After = list.Next; list.Next == "" {
			break
		}
	}
	for m, err := range croft.All(croft.Page{}, func(page croft.Page) (*croft.List[croft.Merge], error) {
		return svc.Merges(ctx, croft.MergesRequest{Repo: repo, Scope: croft.ScopeAll, Page: page})
	}) {
		if err != nil {
			return nil, err
		}
		r.Merges[m.ID] = m
	}
	states := []croft.SessionState{croft.SessionOpen, croft.SessionEnded}
	for s, err := range croft.All(croft.Page{}, func(page croft.Page) (*croft.List[croft.Session], error) {
		return svc.Sessions(ctx, croft.SessionsRequest{Repo: repo, States: states, Page: page})
	}) {
		if err != nil {
			return nil, err
		}
		r.Sessions[s.ID] = s
	}
	return r, nil
}

// Apply applies an event.
func (r *Replica) Apply(e croft.Event) {
	r.Cursor = e.Cursor
	if e.Kind == croft.EventWorkspaceForgotten {
		delete(r.Workspaces, e.Workspace)
	}
	if e.After == nil {
		return
	}
	if w := e.After.Workspace; w != nil {
		r.Workspaces[w.ID] = *w
	}
	if m := e.After.Merge; m != nil {
		r.Merges[m.ID] = *m
	}
	if s := e.After.Session; s != nil {
		r.Sessions[s.ID] = *s
	}
}

// Live returns the workspaces that were not removed, oldest first.
func (r *Replica) Live() []croft.Workspace {
	return slices.SortedFunc(func(yield func(croft.Workspace) bool) {
		for w := range maps.Values(r.Workspaces) {
			if w.State != croft.Trashed && !yield(w) {
				return
			}
		}
	}, func(a, b croft.Workspace) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}
