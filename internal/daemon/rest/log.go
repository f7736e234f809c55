package rest

import (
	"context"
	"net/http"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
)

// every is how often a log that is followed is read.
const every = 200 * time.Millisecond

// followLog sends the output of a check as it is printed, until the check has ended. The
// bytes are those that a program printed: a reader must not trust them. If it cannot go on, it
// breaks the connection off.
func (s *server) followLog(w http.ResponseWriter, r *http.Request) {
	svc, err := s.serviceFor(r)
	if err != nil {
		api.WriteError(w, "checklog", err)
		return
	}
	query := r.URL.Query()
	query.Del("follow")
	req := croft.CheckLogRequest{}
	if err := api.ReadQuery(query, &req); err != nil {
		api.WriteError(w, "checklog", err)
		return
	}
	req.Merge = croft.ID(r.PathValue("merge"))
	actor, err := ActorFor(r)
	if err != nil {
		api.WriteError(w, "checklog", err)
		return
	}
	ctx := croft.WithActor(r.Context(), actor)
	part, err := svc.CheckLog(ctx, req)
	if err != nil {
		api.WriteError(w, "checklog", err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	for {
		_ = out.SetWriteDeadline(time.Now().Add(10 * time.Second)) // where it is not supported, the write may take longer
		if _, err := w.Write(part.Data); err != nil {
			return
		}
		if out.Flush() != nil || part.Check.State != croft.TryRunning && part.Next >= part.Size {
			return
		}
		req.Check, req.Offset = part.Check.ID, part.Next
		if part, err = s.morePart(ctx, svc, req, len(part.Data) > 0); err != nil {
			panic(http.ErrAbortHandler) // the reader must not take what it has for all of it
		}
	}
}

// morePart returns the next part of a log, at once if there was something in the last one.
func (s *server) morePart(ctx context.Context, svc croft.Service, req croft.CheckLogRequest, isBusy bool) (*croft.CheckLog, error) {
	select {
	case <-s.Stopping:
		return nil, context.Canceled
	default:
	}
	if !isBusy {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.Stopping:
			return nil, context.Canceled
		case <-time.After(every):
		}
	}
	return svc.CheckLog(ctx, req)
}
