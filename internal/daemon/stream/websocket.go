package stream

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/coder/websocket"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

// Messages returns what a reader of a WebSocket is told of an event: none, one or several
// values, each of which becomes a message in JSON. svc is what the reader may see.
type Messages func(ctx context.Context, svc croft.Service, ev croft.Event) []any

// AsTheyAre are messages that are the events themselves.
func AsTheyAre(_ context.Context, _ croft.Service, ev croft.Event) []any { return []any{ev} }

// failure is the last message of a stream that failed.
type failure struct {
	Type    string      `json:"type"` // "error"
	Problem api.Problem `json:"problem"`
}

// WebSocket returns a handler that sends events over a WebSocket. A request chooses them as
// for server-sent events; by default the first one is the next that happens.
func (o Options) WebSocket(messages Messages) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		svc, err := o.ServiceFor(caller.From(r.Context()))
		if err != nil {
			api.WriteError(w, "events", err)
			return
		}
		req, err := o.begin(r, svc, croft.FromNow)
		if err != nil {
			api.WriteError(w, "events", err)
			return
		}
		conn, err := websocket.Accept(w, r, nil) // it refuses other origins, and has answered if it fails
		if err != nil {
			return
		}
		defer func() { _ = conn.CloseNow() }()
		ctx := conn.CloseRead(r.Context()) // readers have nothing to say
		o.pump(ctx, svc.Events(ctx, req), &socketSink{ctx: ctx, conn: conn, svc: svc, messages: messages})
		_ = conn.Close(websocket.StatusGoingAway, "") // the reader may be gone
	})
}

// socketSink writes a stream to a WebSocket.
type socketSink struct {
	ctx      context.Context
	conn     *websocket.Conn
	svc      croft.Service
	messages Messages
}

func (s *socketSink) event(ev croft.Event) error {
	for _, m := range s.messages(s.ctx, s.svc, ev) {
		if err := s.write(m); err != nil {
			return err
		}
	}
	return nil
}

func (s *socketSink) write(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, data)
}

func (s *socketSink) beat() error {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	return s.conn.Ping(ctx)
}

func (s *socketSink) end(err error) {
	if err != nil {
		_ = s.write(failure{Type: "error", Problem: api.ProblemOf("events", err)}) // the reader may be gone
		_ = s.conn.Close(websocket.StatusInternalError, "")
		return
	}
	_ = s.conn.Close(websocket.StatusNormalClosure, "")
}
