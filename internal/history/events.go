package history

import (
	"context"
	"iter"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/words"
)

const eventPage = 500

// Events streams events in order, from a cursor on.
func (svc *History) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		if err := words.Check(req); err != nil {
			yield(croft.Event{}, explain.Error("events", "", err))
			return
		}
		if svc.Lifetime.IsClosing() {
			yield(croft.Event{}, explain.Closed("events"))
			return
		}
		after := req.After
		var watch journal.Watch
		if req.Follow != croft.FollowNone {
			watch = svc.Journal.Watch()
			defer watch.End()
		}
		for {
			var changed <-chan struct{}
			if req.Follow != croft.FollowNone {
				changed = watch.Changed()
			}
			page, err := svc.Journal.Events(ctx, after, req.Repo, eventPage)
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
			case <-svc.Lifetime.Closing():
				yield(croft.Event{}, explain.Closed("events"))
				return
			case <-changed:
			}
		}
	}
}
