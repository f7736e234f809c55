package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

// Options say what the handlers read.
type Options struct {
	// ServiceFor returns the Service for what a caller may see. Its events should come from
	// a Hub.
	ServiceFor func(caller.Caller) (croft.Service, error)
	// Now returns the cursor of the last event.
	Now func(context.Context) (croft.Cursor, error)
	// Stopping ends all streams when it is closed: the daemon stops.
	Stopping <-chan struct{}
	// Beat is how often a silent stream shows that it is alive. Default: 15 seconds.
	Beat time.Duration
}

// patience is how long a write to a reader may take before the reader is cut.
const patience = 10 * time.Second

// ServeHTTP serves the events at api.EventsPath, as server-sent events.
func (o Options) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	svc, err := o.ServiceFor(caller.From(r.Context()))
	if err != nil {
		api.WriteError(w, "events", err)
		return
	}
	req, err := o.begin(r, svc, croft.FromStart)
	if err != nil {
		api.WriteError(w, "events", err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := &sse{w: w, rc: http.NewResponseController(w), wants: req}
	// All events are read, so that a reader who wants few of them goes on from the last one
	// of all, and not from one that is not kept any more.
	req.Kinds, req.Repo, req.Workspace = nil, "", ""
	if out.write("retry: 1000\nid: "+string(req.After)+"\n\n") != nil {
		return
	}
	o.pump(ctx, svc.Events(ctx, req), out)
}

// readRequest reads what events a caller asks for. A reader that reconnects names the last
// event that it saw in a header.
func readRequest(r *http.Request) (croft.EventsRequest, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return croft.EventsRequest{}, &croft.Error{Code: croft.InvalidRequest, Message: "the query cannot be read"}
	}
	follow := croft.FollowNew
	switch q.Get("follow") {
	case "none":
		follow = croft.FollowNone
		q.Del("follow")
	case "", string(croft.FollowNew):
		q.Del("follow")
	default:
		return croft.EventsRequest{}, &croft.Error{Code: croft.InvalidRequest, Message: `follow is "new" or "none"`}
	}
	var req croft.EventsRequest
	if err := api.ReadQuery(q, &req); err != nil {
		return req, err
	}
	req.Follow = follow
	if strings.ContainsFunc(string(req.After), unicode.IsControl) { // it would be lines of the stream
		return req, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("%.100q is no cursor of an event", req.After)}
	}
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		req.After, req.From = croft.Cursor(last), croft.FromStart
	}
	return req, nil
}

// begin reads what events a caller asks for, and fixes where they begin before the answer
// does: what happens after the caller has seen the answer is in the stream.
func (o Options) begin(r *http.Request, svc croft.Service, from croft.From) (croft.EventsRequest, error) {
	req, err := readRequest(r)
	if err != nil {
		return req, err
	}
	if req.After == "" && (req.From == croft.FromNow || from == croft.FromNow && !r.URL.Query().Has("from")) {
		if req.After, err = o.Now(r.Context()); err != nil {
			return req, err
		}
		req.From = croft.FromStart
	}
	return req, o.precheck(r.Context(), svc, req)
}

// precheck returns the error that a stream would begin with, so that it becomes the status
// of the answer.
func (o Options) precheck(ctx context.Context, svc croft.Service, req croft.EventsRequest) error {
	req.Follow = croft.FollowNone
	for _, err := range svc.Events(ctx, req) {
		return err
	}
	return nil
}

// sink is where a stream is written to.
type sink interface {
	event(croft.Event) error
	beat() error
	// end tells how the stream ended: nil if there is no more, or the failure.
	end(error)
}

// pump writes a stream to a sink until the stream or the reader ends.
func (o Options) pump(ctx context.Context, events iter.Seq2[croft.Event, error], out sink) {
	type item struct {
		ev  croft.Event
		err error
	}
	items := make(chan item)
	go func() {
		defer close(items)
		for ev, err := range events {
			select {
			case items <- item{ev, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	every := o.Beat
	if every == 0 {
		every = 15 * time.Second
	}
	beat := time.NewTicker(every)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.Stopping:
			return // the reader connects again, and goes on from its last cursor
		case <-beat.C:
			if out.beat() != nil {
				return
			}
		case it, ok := <-items:
			if !ok || it.err != nil {
				out.end(it.err)
				return
			}
			if out.event(it.ev) != nil {
				return
			}
		}
	}
}

// sse writes server-sent events.
type sse struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	wants croft.EventsRequest
	last  croft.Cursor // of an event that the reader does not want, and was not told of
}

func (s *sse) write(text string) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(patience)) // where it is not supported, the write may take longer
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}

func (s *sse) event(ev croft.Event) error {
	if !matches(s.wants, ev) {
		s.last = ev.Cursor
		return nil
	}
	s.last = ""
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	return s.write(fmt.Sprintf("id: %s\nevent: %s\ndata: %s\n\n", ev.Cursor, ev.Kind, data))
}

// beat shows that the stream is alive, and how far it has come.
func (s *sse) beat() error {
	if s.last == "" {
		return s.write(": alive\n\n")
	}
	text := "id: " + string(s.last) + "\n\n"
	s.last = ""
	return s.write(text)
}

func (s *sse) end(err error) {
	name, v := "end", any(struct{}{})
	if err != nil {
		name, v = "error", api.ProblemOf("events", err)
	}
	data, _ := json.Marshal(v)                                      // both are plain data
	_ = s.write(fmt.Sprintf("event: %s\ndata: %s\n\n", name, data)) // the reader is gone
}
