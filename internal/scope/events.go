package scope

import (
	"context"
	"iter"

	"github.com/croft-sh/croft"
)

// Events streams the events that tell of the workspace, and of nothing else.
func (w *workspace) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		ctx, me, err := w.find(ctx)
		if err != nil {
			yield(croft.Event{}, err)
			return
		}
		if req.Repo != "" && req.Repo != me.RepoID || req.Workspace != "" && req.Workspace != w.id { // as one without events
			if req.Follow == croft.FollowNew {
				<-ctx.Done()
			}
			return
		}
		req.Repo, req.Workspace = me.RepoID, w.id
		for e, err := range w.svc.Events(ctx, req) {
			if err != nil {
				yield(croft.Event{}, err)
				return
			}
			if e.Workspace == w.id && !yield(w.narrow(e, me), nil) {
				return
			}
		}
	}
}

// narrow takes out of an event what belongs to others: other subjects, who is who in a
// session, and the decisions of persons.
func (w *workspace) narrow(e croft.Event, me own) croft.Event {
	e.Session, e.Round = "", ""
	if e.After == nil {
		return e
	}
	all, after := e.After, croft.Nouns{Progress: e.After.Progress}
	if ws := all.Workspace; ws != nil && ws.ID == w.id {
		after.Workspace = trim(ws)
	}
	if m := all.Merge; m != nil && m.Workspace == w.id {
		after.Merge, after.Check, after.Output = trimMerge(m), all.Check, all.Output
	}
	if all.Merge == nil { // an event of a check names its merge as a subject
		after.Check, after.Output = all.Check, all.Output
	}
	if s := all.Snapshot; s != nil && s.Workspace == w.id {
		after.Snapshot = s
	}
	if r := all.Review; r != nil && r.Workspace == w.id {
		after.Review = r
	}
	if l := all.Lane; l != nil && l.Target == me.Target {
		after.Lane = l
	}
	e.After = &after
	return e
}
