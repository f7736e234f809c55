// Package stream brings the events of a Service to many readers: one tail follows the
// Service, and every reader gets a copy. It serves them as server-sent events and over
// WebSockets.
package stream

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
)

// Hub is a Service whose events all come from one tail of another Service. A reader that
// does not keep up is cut: its stream ends with LimitReached, and it goes on from its last
// cursor.
type Hub struct {
	croft.Service

	mu      sync.Mutex
	readers map[*reader]struct{}
	tail    *tail // nil while nobody follows
	cut     int   // how many readers were too slow
}

// NewHub returns the hub of a Service. It follows the Service while anybody follows it.
func NewHub(svc croft.Service) *Hub {
	return &Hub{Service: svc, readers: map[*reader]struct{}{}}
}

// Stats are figures of a Hub.
type Stats struct {
	Readers int // that follow now
	Cut     int // that were too slow so far
}

// Stats returns how many readers there are and were cut.
func (h *Hub) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Stats{Readers: len(h.readers), Cut: h.cut}
}

// buffered is how many events a reader may be behind.
const buffered = 1024

// reader is one who follows. Its channel is closed when it was cut; err says why.
type reader struct {
	events chan croft.Event
	from   croft.Cursor // of the last event that the tail had handed out before
	err    error
}

// tail follows the Service for all readers.
type tail struct {
	last croft.Cursor // of the last event that was handed out, or that it began after
	stop context.CancelFunc
	done chan struct{}
}

// Events streams events as the Service does. What is to come is taken from the common tail.
func (h *Hub) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	if req.Follow != croft.FollowNew {
		return h.Service.Events(ctx, req)
	}
	return func(yield func(croft.Event, error) bool) {
		if err := h.follow(ctx, req, yield); err != nil && ctx.Err() == nil {
			yield(croft.Event{}, err)
		}
	}
}

// follow yields what was before, then what comes. It returns nil if yield wanted no more.
func (h *Hub) follow(ctx context.Context, req croft.EventsRequest, yield func(croft.Event, error) bool) error {
	if req.From != croft.FromStart && req.After != "" {
		return &croft.Error{Code: croft.InvalidRequest, Op: "events", Message: "a stream of events begins after a cursor or now, not both"}
	}
	if req.From == croft.FromNow {
		now, err := h.Now(ctx)
		if err != nil {
			return err
		}
		req.After = now
	}
	r, err := h.subscribe(ctx)
	if err != nil {
		return err
	}
	defer h.leave(r)
	// What the tail has still to hand out up to here, the reader has seen, or gets as past.
	until, err := h.Now(ctx)
	if err != nil {
		return err
	}
	if until == r.from {
		until = ""
	}
	past := req
	past.Follow, past.From = croft.FollowNone, croft.FromStart
	seen := map[croft.Cursor]bool{}
	var order []croft.Cursor // of seen, the oldest first: a reader's channel repeats no more than it holds
	for ev, err := range h.Service.Events(ctx, past) {
		if err != nil {
			return err
		}
		if !yield(ev, nil) {
			return nil
		}
		seen[ev.Cursor], order = true, append(order, ev.Cursor)
		if len(order) > 2*buffered {
			delete(seen, order[0])
			order = order[1:]
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-r.events:
			if !ok {
				return r.err
			}
			if until != "" {
				if ev.Cursor == until {
					until = ""
				}
				continue
			}
			if seen[ev.Cursor] || !matches(req, ev) {
				continue
			}
			if !yield(ev, nil) {
				return nil
			}
		}
	}
}

// matches reports whether a request asks for an event.
func matches(req croft.EventsRequest, ev croft.Event) bool {
	return (req.Repo == "" || req.Repo == ev.Repo) && (req.Workspace == "" || req.Workspace == ev.Workspace) && (len(req.Kinds) == 0 || slices.Contains(req.Kinds, ev.Kind))
}

// Now returns the cursor of the last event: every list that events tell of has it.
func (h *Hub) Now(ctx context.Context) (croft.Cursor, error) {
	list, err := h.Sessions(ctx, croft.SessionsRequest{Repos: croft.ScopeAll, Page: croft.Page{Limit: 1}})
	if err != nil {
		return "", err
	}
	return list.Cursor, nil
}

// subscribe adds a reader, who gets every event from now on, and begins the tail with the
// first one.
func (h *Hub) subscribe(ctx context.Context) (*reader, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tail == nil {
		now, err := h.Now(croft.WithActor(ctx, croft.Actor{}))
		if err != nil {
			return nil, err
		}
		ctx, stop := context.WithCancel(croft.WithActor(context.WithoutCancel(ctx), croft.Actor{}))
		h.tail = &tail{last: now, stop: stop, done: make(chan struct{})}
		go h.run(ctx, h.tail)
	}
	r := &reader{events: make(chan croft.Event, buffered), from: h.tail.last}
	h.readers[r] = struct{}{}
	return r, nil
}

// leave removes a reader, and ends the tail with the last one.
func (h *Hub) leave(r *reader) {
	h.mu.Lock()
	delete(h.readers, r)
	var ended *tail
	if len(h.readers) == 0 && h.tail != nil {
		ended, h.tail = h.tail, nil
		ended.stop()
	}
	h.mu.Unlock()
	if ended != nil {
		<-ended.done
	}
}

// run follows the Service for a tail until it is stopped. A failure that
// passes is tried again; one that does not ends all readers.
func (h *Hub) run(ctx context.Context, t *tail) {
	defer close(t.done)
	after := t.last
	for ctx.Err() == nil {
		var failure error
		for ev, err := range h.Service.Events(ctx, croft.EventsRequest{After: after, Follow: croft.FollowNew}) {
			if failure = err; err != nil {
				break
			}
			after = ev.Cursor
			h.hand(t, ev)
		}
		if errors.Is(failure, croft.CursorExpired) || errors.Is(failure, croft.Closed) {
			h.end(t, failure)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// hand gives an event to every reader, and cuts those whose channel is full.
func (h *Hub) hand(t *tail, ev croft.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tail != t {
		return // another one has begun, for others
	}
	t.last = ev.Cursor
	for r := range h.readers {
		select {
		case r.events <- ev:
		default:
			h.cut++
			h.close(r, &croft.Error{
				Code: croft.LimitReached, Op: "events", Message: "the reader is too slow",
				Details: "Nothing is lost: the stream goes on from the last cursor that was read.",
			})
		}
	}
}

// end ends every reader of a tail that cannot go on.
func (h *Hub) end(t *tail, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tail != t {
		return
	}
	for r := range h.readers {
		h.close(r, why)
	}
	h.tail = nil
}

func (h *Hub) close(r *reader, why error) {
	r.err = why
	delete(h.readers, r)
	close(r.events)
}
