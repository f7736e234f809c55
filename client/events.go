package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
)

// Events streams events in order, from a cursor on. While the daemon is away for a short
// time, the stream waits, and goes on where it was.
func (c *Client) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		ctx, leave, err := c.life.Enter(c.context(ctx))
		if err != nil {
			yield(croft.Event{}, closed("events"))
			return
		}
		defer leave()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.waits, cancel)()
		err = c.follow(ctx, req, yield)
		switch {
		case err == nil:
		case c.waits.Err() != nil:
			yield(croft.Event{}, closed("events"))
		case ctx.Err() == nil:
			yield(croft.Event{}, err)
		case req.Follow != croft.FollowNew:
			yield(croft.Event{}, croft.AsError("events", ctx.Err()))
		}
	}
}

// follow reads streams, one after the other, until one has ended.
func (c *Client) follow(ctx context.Context, req croft.EventsRequest, yield func(croft.Event, error) bool) error {
	since := time.Now() // when the daemon was last seen
	for {
		s := stream{yield: yield, last: req.After}
		err := s.read(ctx, c, req)
		if s.isOver || ctx.Err() != nil {
			return err
		}
		if s.last != "" && s.last != req.After {
			req.After, req.From = s.last, croft.FromStart
		}
		if s.hasBegun {
			since = time.Now() // a stream may be silent for long before the daemon goes
		}
		failure, isKnown := errors.AsType[*croft.Error](err)
		if isKnown && !s.goesOn(failure) {
			return failure
		}
		if time.Since(since) >= c.patience {
			return awayError("events", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stream is one connection that events come over.
type stream struct {
	yield    func(croft.Event, error) bool
	last     croft.Cursor // of the last event
	hasBegun bool         // the daemon did not refuse it
	isOver   bool         // nothing more is to come, or the caller wants no more
}

// goesOn reports whether the next connection goes on where a failure has ended this one: the
// daemon stops or is away, or it cut a reader that was too slow. LimitReached instead of a
// stream means that the caller has too many of them.
func (s *stream) goesOn(failure *croft.Error) bool {
	switch failure.Code {
	case croft.Closed, croft.DaemonUnreachable:
		return true
	case croft.LimitReached:
		return s.hasBegun
	}
	return false
}

// read reads events until the connection ends.
func (s *stream) read(ctx context.Context, c *Client, req croft.EventsRequest) error {
	r, err := eventsRequest(ctx, c.base, req)
	if err != nil {
		return err
	}
	c.authorize(r)
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return api.ReadAnswer(response, nil)
	}
	s.hasBegun = true
	lines := bufio.NewReader(response.Body)
	var kind, id string
	var data strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "id":
			id = value
		case "event":
			kind = value
		case "data":
			data.WriteString(value)
		case "":
			if line != "\n" {
				continue // a comment
			}
			if id != "" {
				s.last = croft.Cursor(id)
			}
			if err := s.hand(kind, data.String()); err != nil || s.isOver {
				return err
			}
			kind, id = "", ""
			data.Reset()
		}
	}
}

// hand gives the caller one message of a stream.
func (s *stream) hand(kind, data string) error {
	switch kind {
	case "":
		return nil
	case "end":
		s.isOver = true
		return nil
	case "error":
		var p api.Problem
		if err := json.Unmarshal([]byte(data), &p); err != nil {
			return io.ErrUnexpectedEOF
		}
		return &p.Error
	}
	var ev croft.Event
	if err := json.Unmarshal([]byte(data), &ev); err != nil {
		return &croft.Error{Code: croft.Internal, Op: "events", Message: "an event of the daemon cannot be read", Err: err}
	}
	s.isOver = !s.yield(ev, nil)
	return nil
}

// eventsRequest returns the request for a stream.
func eventsRequest(ctx context.Context, base string, req croft.EventsRequest) (*http.Request, error) {
	q := url.Values{"kinds": req.Kinds, "follow": {string(req.Follow)}}
	if req.Follow == croft.FollowNone {
		q.Set("follow", "none")
	}
	for name, value := range map[string]string{"after": string(req.After), "from": string(req.From), "repo": string(req.Repo), "workspace": string(req.Workspace)} {
		if value != "" {
			q.Set(name, value)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+api.EventsPath+"?"+q.Encode(), nil)
	if err == nil {
		r.Header.Set("Accept", "text/event-stream")
	}
	return r, err
}
