package engine

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
)

const eventPage = 500

// event tells what happened to a workspace.
func (e *Engine) event(kind string, rec journal.Record) croft.Event {
	w := rec.Workspace
	data, _ := json.Marshal(struct {
		Name   string `json:"name"`
		Branch string `json:"branch,omitempty"`
		Path   string `json:"path"`
	}{w.Name, w.Branch, w.Path})
	return croft.Event{Time: e.now(), Kind: kind, Repo: rec.RepoID, Workspace: w.ID, Data: data}
}

// Events streams events in order, from a cursor on.
func (e *Engine) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		if err := checkWords(reflect.ValueOf(req)); err != nil {
			yield(croft.Event{}, explain.Error("events", "", err))
			return
		}
		if e.isClosing() {
			yield(croft.Event{}, explain.Closed("events"))
			return
		}
		after := req.After
		var watch journal.Watch
		if req.Follow != croft.FollowNone {
			watch = e.journal.Watch()
			defer watch.End()
		}
		for {
			var changed <-chan struct{}
			if req.Follow != croft.FollowNone {
				changed = watch.Changed()
			}
			page, err := e.journal.Events(ctx, after, req.Repo, eventPage)
			if err != nil {
				if following := req.Follow != croft.FollowNone; !following || ctx.Err() == nil {
					yield(croft.Event{}, explain.Error("events", "", err))
				}
				return
			}
			for _, ev := range page {
				after = ev.Cursor
				if len(req.Kinds) > 0 && !slices.Contains(req.Kinds, ev.Kind) {
					continue
				}
				if !yield(ev, nil) {
					return
				}
			}
			if len(page) == eventPage {
				continue
			}
			if req.Follow == croft.FollowNone {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-e.closing:
				yield(croft.Event{}, explain.Closed("events"))
				return
			case <-changed:
			}
		}
	}
}
