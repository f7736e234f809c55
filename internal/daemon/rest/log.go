package rest

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
)

// every is how often a log that is followed is read.
const every = 200 * time.Millisecond

// followLog sends the output of a check as it is printed, until the check has ended. If the merge
// has not come to its checks, the answer begins empty and goes on with the first one; it stays
// empty if the merge ends without one. The bytes are those that a program printed: a reader must
// not trust them. If it cannot go on, it breaks the connection off.
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
	part, err := firstPart(ctx, svc, req)
	if err != nil {
		api.WriteError(w, "checklog", err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	if part == nil {
		if out.Flush() != nil {
			return
		}
		if part, err = s.awaitPart(ctx, svc, req); errors.Is(err, croft.CheckNotFound) {
			return // the merge has ended without a check
		} else if err != nil {
			panic(http.ErrAbortHandler) // an empty answer would say that there was no check
		}
	}
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

// firstPart returns the first part of a log, and nil for a check that is still to begin: the
// request names none, and the merge has not ended.
func firstPart(ctx context.Context, svc croft.Service, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	part, missing := svc.CheckLog(ctx, req)
	if req.Check != "" || !errors.Is(missing, croft.CheckNotFound) {
		return part, missing
	}
	m, err := svc.Merge(ctx, croft.GetRequest{Ref: croft.ByID(req.Merge)})
	if err != nil {
		return nil, missing
	}
	if hasEnded(m) { // meanwhile, and perhaps after a check
		return svc.CheckLog(ctx, req)
	}
	return nil, nil
}

// awaitPart waits for the first part of a log.
func (s *server) awaitPart(ctx context.Context, svc croft.Service, req croft.CheckLogRequest) (*croft.CheckLog, error) {
	for {
		if err := s.pause(ctx); err != nil {
			return nil, err
		}
		if part, err := firstPart(ctx, svc, req); part != nil || err != nil {
			return part, err
		}
	}
}

// pause waits between two looks at a log. It fails when the reader is gone or the daemon stops.
func (s *server) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Stopping:
		return context.Canceled
	case <-time.After(every):
		return nil
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
		if err := s.pause(ctx); err != nil {
			return nil, err
		}
	}
	return svc.CheckLog(ctx, req)
}
