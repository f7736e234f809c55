package history

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
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
		isFollowing := req.Follow != croft.FollowNone
		fail := func(err error) {
			if !isFollowing || ctx.Err() == nil {
				yield(croft.Event{}, explain.Error("events", "", err))
			}
		}
		stream, at, err := svc.startOf(ctx, req)
		if err != nil {
			fail(err)
			return
		}
		watch := svc.Journal.Watch()
		defer watch.End()
		for {
			changed := watch.Changed()
			page, last, err := svc.readPage(ctx, stream, at, journal.Subject{Repo: req.Repo, Workspace: req.Workspace})
			if err != nil {
				fail(err)
				return
			}
			for _, ev := range page {
				at.after = ev.At
				if len(req.Kinds) > 0 && !slices.Contains(req.Kinds, ev.Kind) {
					continue
				}
				ev.Cursor = cursorAt(stream, ev.At)
				if !yield(ev.Event, nil) {
					return
				}
			}
			if len(page) == eventPage {
				continue
			}
			if !isFollowing {
				return
			}
			// Events of other repositories may be pruned while this waits. That does not concern
			// a reader that has come as far as last.
			at.after = max(at.after, last)
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

// position is how far a reader of events has come.
type position struct {
	after int64 // the place of the last event that was read
	known int64 // events up to this place need not be there any more
}

// startOf returns the position at which a stream of events begins.
func (svc *History) startOf(ctx context.Context, req croft.EventsRequest) (journal.Stream, position, error) {
	stream, err := svc.Journal.Stream(ctx)
	if err != nil {
		return stream, position{}, err
	}
	for _, kind := range req.Kinds {
		if !slices.Contains(croft.EventKinds(), kind) {
			return stream, position{}, &croft.Error{
				Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no event %q", kind), Details: strings.Join(croft.EventKinds(), ", "),
			}
		}
	}
	for what, id := range map[string]croft.ID{"project": req.Repo, "workspace": req.Workspace} {
		if id != "" && !project.IsID(string(id)) { // nothing would match it
			return stream, position{}, &croft.Error{
				Code: croft.InvalidRequest, Message: fmt.Sprintf("events are chosen by the ID of a %s, and %.100q is none", what, id), Hint: "croft list --json",
			}
		}
	}
	switch {
	case req.After != "" && req.From != croft.FromStart:
		return stream, position{}, &croft.Error{Code: croft.InvalidRequest, Message: "a stream of events begins after a cursor or now, not both"}
	case req.After != "":
		after, err := placeOf(stream, req.After)
		return stream, position{after: after}, err
	case req.From == croft.FromNow:
		return stream, position{after: stream.Last}, nil
	}
	return stream, position{known: stream.Pruned}, nil
}

// readPage reads the events after a position, and the place of the last event that there
// was before. It fails with CursorExpired if some events after the position are not there
// any more.
func (svc *History) readPage(ctx context.Context, stream journal.Stream, at position, of journal.Subject) (page []journal.Event, last int64, err error) {
	before, err := svc.Journal.Stream(ctx)
	if err != nil {
		return nil, 0, err
	}
	if page, err = svc.Journal.Events(ctx, at.after, of, eventPage); err != nil {
		return nil, 0, err
	}
	now, err := svc.Journal.Stream(ctx)
	if err == nil && (now.Epoch != stream.Epoch || now.Pruned > max(at.after, at.known)) {
		err = expiredError()
	}
	return page, before.Last, err
}

func expiredError() error {
	return &croft.Error{
		Code: croft.CursorExpired, Message: "events after this cursor are not kept any more",
		Hint: "list what you want to know, and go on from the cursor of that list",
	}
}

// epochLength is how much of an epoch a cursor carries.
const epochLength = 10

// cursorAt returns the cursor of a place: the beginning of the epoch and the place.
func cursorAt(s journal.Stream, at int64) croft.Cursor {
	return croft.Cursor(s.Epoch[:min(len(s.Epoch), epochLength)] + "." + strconv.FormatInt(at, 36))
}

func placeOf(s journal.Stream, c croft.Cursor) (int64, error) {
	_, place, ok := strings.Cut(string(c), ".")
	at, err := strconv.ParseInt(place, 36, 64)
	switch {
	case !ok || err != nil || at < 0:
		return 0, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%q is no cursor of an event", c)}
	case c != cursorAt(s, at) || at < s.Pruned || at > s.Last:
		return 0, expiredError()
	}
	return at, nil
}

// Cursor returns the place of the last event.
func (svc *History) Cursor(ctx context.Context) (croft.Cursor, error) {
	s, err := svc.Journal.Stream(ctx)
	return cursorAt(s, s.Last), err
}
