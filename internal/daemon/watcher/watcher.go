// Package watcher looks at workspaces by itself, so that events also tell of what agents
// commit and write between two acts of Croft. It knows a Service only.
//
// Looking costs git processes, so that it is rationed: a project in which something changes is
// looked at every few seconds, one in which nothing does ever more rarely, and never so often
// that looking takes more than a set share of the time.
package watcher

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/croft-sh/croft"
)

// Service is what the watcher calls.
type Service interface {
	Repos(ctx context.Context, req croft.ReposRequest) (*croft.List[croft.Repo], error)
	Workspaces(ctx context.Context, req croft.WorkspacesRequest) (*croft.List[croft.Workspace], error)
	croft.Events
}

// Options are what a watcher needs. Service and Tell are required.
type Options struct {
	Service Service
	// Tell tells of workspaces that were seen changed.
	Tell func(ctx context.Context, seen []croft.Workspace) error
	Log  *slog.Logger
	// Least and Most are the shortest and the longest time between two looks at a project.
	// Default: 3 and 30 seconds.
	Least, Most time.Duration
	// List is how often the projects are listed. Default: 10 minutes.
	List time.Duration
	// Share is the part of the time that looking may take at busy projects, and IdleShare at
	// those in which nothing changed. Default: 0.05 and 0.003.
	Share, IdleShare float64
	// Wanted has projects that somebody looks at now, as long as that is so; empty: all. They
	// are looked at every WantedLeast, unless that takes more than WantedShare of the time. Default: 2 seconds and 0.15.
	Wanted      <-chan croft.ID
	WantedLeast time.Duration
	WantedShare float64
}

// look is the time that one look at a project may take.
const look = croft.Duration(time.Second)

// Run looks until the context ends.
func Run(ctx context.Context, o Options) {
	o = o.withDefaults()
	w := &watcher{Options: o, projects: map[croft.ID]*project{}, events: make(chan croft.ID, 64)}
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { w.follow(ctx) })
	for ctx.Err() == nil {
		wait := w.lookAtDue(ctx)
		select {
		case <-ctx.Done():
		case id := <-w.events:
			w.soon(id)
		case id := <-w.Wanted:
			w.wanted(id)
		case <-time.After(wait):
		}
	}
}

func (o Options) withDefaults() Options {
	if o.Least == 0 {
		o.Least = 3 * time.Second
	}
	if o.Most == 0 {
		o.Most = 30 * time.Second
	}
	if o.List == 0 {
		o.List = 10 * time.Minute
	}
	if o.Share == 0 {
		o.Share = 0.05
	}
	if o.IdleShare == 0 {
		o.IdleShare = 0.003
	}
	if o.WantedLeast == 0 {
		o.WantedLeast = 2 * time.Second
	}
	if o.WantedShare == 0 {
		o.WantedShare = 0.15
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

type watcher struct {
	Options
	projects map[croft.ID]*project
	listed   time.Time     // when the projects were listed last
	events   chan croft.ID // projects of which something was told
}

// project is what is known of a project from the last look.
type project struct {
	due     time.Time
	looked  time.Time     // when the last look had ended
	wait    time.Duration // between the last two looks
	took    time.Duration // how long the last look took
	seen    map[croft.ID]state
	isFirst bool      // nothing was seen yet
	wanted  time.Time // when somebody last looked at it
}

// wantedFor is how long a project counts as looked at after the last word of that.
const wantedFor = 10 * time.Second

// state is what a look at a workspace compares.
type state struct {
	head        string
	uncommitted int
	unmerged    int
	added       int
	deleted     int
	written     int64 // when the last write was, while somebody looks: one that leaves the counts is noticed
}

// lookAtDue looks at the projects that are due, and returns how long none is.
func (w *watcher) lookAtDue(ctx context.Context) time.Duration {
	next := w.List
	if now := time.Now(); now.Sub(w.listed) > w.List {
		if err := w.list(ctx); err == nil {
			w.listed = now
		} else if next = w.Least; ctx.Err() == nil { // it is listed again then
			w.Log.Warn("the projects cannot be listed", "error", croft.AsError("repos", err).Error())
		}
	}
	for id, p := range w.projects {
		if time.Until(p.due) <= 0 {
			w.lookAt(ctx, id, p)
		}
		next = min(next, time.Until(p.due))
	}
	return max(next, 10*time.Millisecond)
}

// list notes the projects that there are.
func (w *watcher) list(ctx context.Context) error {
	there := map[croft.ID]bool{}
	for repo, err := range croft.All(croft.Page{}, func(page croft.Page) (*croft.List[croft.Repo], error) {
		return w.Service.Repos(ctx, croft.ReposRequest{Page: page})
	}) {
		if err != nil {
			return err
		}
		if there[repo.ID] = !repo.IsMissing; w.projects[repo.ID] == nil && !repo.IsMissing {
			w.projects[repo.ID] = &project{seen: map[croft.ID]state{}, isFirst: true, wait: w.Least}
		}
	}
	for id := range w.projects {
		if !there[id] {
			delete(w.projects, id)
		}
	}
	return nil
}

// lookAt looks at the workspaces of a project, tells of those that changed, and decides when
// the next look is due.
func (w *watcher) lookAt(ctx context.Context, id croft.ID, p *project) {
	began := time.Now()
	changed, seen, err := w.changes(ctx, id, p)
	if err == nil && len(changed) > 0 {
		err = w.Tell(ctx, changed)
	}
	if err == nil {
		p.seen = seen // what was not told is seen as changed again
	}
	p.took = time.Since(began)
	share := w.IdleShare
	switch {
	case err != nil:
		if ctx.Err() == nil {
			w.Log.Debug("a project was not looked at", "project", string(id), "error", croft.AsError("look", err).Error())
		}
		p.wait = min(2*max(p.wait, w.Least), w.Most)
	case len(changed) > 0 && !p.isFirst:
		p.wait, share = w.Least, w.Share
	default:
		p.wait = min(2*max(p.wait, w.Least), w.Most)
	}
	p.isFirst = false
	p.looked = time.Now()
	p.due = p.looked.Add(max(p.wait, w.spaced(p.took, share)))
}

// spaced returns how far apart looks that take so long have to be, if all projects are looked
// at as often and a share of the time is for that.
func (w *watcher) spaced(took time.Duration, share float64) time.Duration {
	return time.Duration(float64(took) / share * float64(len(w.projects)))
}

// changes returns the workspaces that differ from what was seen last, and what is seen now.
func (w *watcher) changes(ctx context.Context, id croft.ID, p *project) ([]croft.Workspace, map[croft.ID]state, error) {
	var changed []croft.Workspace
	seen, began := map[croft.ID]state{}, time.Now()
	req := croft.WorkspacesRequest{Repo: croft.ByID(id), Look: look}
	for {
		list, err := w.Service.Workspaces(ctx, req)
		if err != nil {
			return nil, nil, err
		}
		unseen := map[croft.ID]bool{}
		for _, id := range list.Unseen {
			unseen[id] = true
		}
		for _, ws := range list.Items {
			was, isKnown := p.seen[ws.ID]
			if ws.Work == nil || !ws.Work.Has(croft.AspectFiles) || unseen[ws.ID] {
				if isKnown {
					seen[ws.ID] = was
				}
				continue
			}
			now := state{ws.Head, ws.Work.Uncommitted, ws.Work.Unmerged, ws.Work.Added, ws.Work.Deleted, was.written}
			// A time that is not over is one that an agent has set: it would be another in each look.
			if at := ws.Work.IdleSince; time.Since(p.wanted) < wantedFor && at.Before(began) {
				now.written = at.UnixNano()
			}
			seen[ws.ID] = now
			if isKnown && was != now || !isKnown && now.uncommitted > 0 {
				changed = append(changed, ws)
			}
		}
		if list.Next == "" {
			return changed, seen, nil
		}
		req.After = list.Next
	}
}

// soon has a project looked at that something was told of: agents are at work there.
func (w *watcher) soon(id croft.ID) {
	p := w.projects[id]
	if p == nil {
		w.listed = time.Time{}
		return
	}
	p.wait = w.Least
	if due := time.Now().Add(max(w.Least, w.spaced(p.took, w.Share))); due.Before(p.due) {
		p.due = due
	}
}

// wanted has a project looked at that somebody looks at, or all.
func (w *watcher) wanted(id croft.ID) {
	for of, p := range w.projects {
		if id != "" && id != of {
			continue
		}
		p.wanted = time.Now()
		took := time.Duration(float64(p.took) / w.WantedShare)
		if due := p.looked.Add(max(w.WantedLeast, took)); due.Before(p.due) {
			p.due = due
		}
	}
}

// follow notes which projects something is told of, but for what the watcher tells itself.
func (w *watcher) follow(ctx context.Context) {
	for ctx.Err() == nil {
		for ev, err := range w.Service.Events(ctx, croft.EventsRequest{From: croft.FromNow, Follow: croft.FollowNew}) {
			if err != nil {
				break
			}
			if ev.Kind == croft.EventWorkspaceChanged || ev.Kind == croft.EventCheckOutput {
				continue
			}
			select {
			case w.events <- ev.Repo:
			default: // it is busy, and looks at everything anyway
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
