package history

import (
	"context"
	"iter"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
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
			yield(croft.Event{}, explain.ClosedError("events"))
			return
		}
		after, isFollowing := req.After, req.Follow != croft.FollowNone
		watch := svc.Journal.Watch()
		defer watch.End()
		for {
			changed := watch.Changed()
			page, err := svc.Journal.Events(ctx, after, req.Repo, eventPage)
			if err != nil {
				if !isFollowing || ctx.Err() == nil {
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
			if !isFollowing {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-svc.Lifetime.Closing():
				yield(croft.Event{}, explain.ClosedError("events"))
				return
			case <-changed:
			}
		}
	}
}
