package web

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/croft-sh/croft/internal/caller"
)

// streams counts the streams that are open, and ends them when the daemon stops, or when the
// token or the session of their reader has ended.
type streams struct {
	open     atomic.Int64
	stopping <-chan struct{}
	every    time.Duration // between two looks at tokens and sessions
}

// of returns a handler of streams as one that is counted and ends when the daemon stops.
func (s *streams) of(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.open.Add(1)
		defer s.open.Add(-1)
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			defer cancel()
			s.watch(ctx)
		}()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

// watch returns when a stream has to end.
func (s *streams) watch(ctx context.Context) {
	look := time.NewTicker(s.every)
	defer look.Stop()
	for caller.IsValid(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-s.stopping:
			return
		case <-look.C:
		}
	}
}

// apart sends the streams of pages to the handler of streams, and everything else to another.
func (s *streams) apart(path string, pages http.Handler) http.Handler {
	live := s.of(pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == path {
			live.ServeHTTP(w, r)
			return
		}
		pages.ServeHTTP(w, r)
	})
}
