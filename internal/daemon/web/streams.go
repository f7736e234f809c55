package web

import (
	"context"
	"net/http"
	"sync/atomic"
)

// streams counts the streams that are open, and ends them when the daemon stops.
type streams struct {
	open     atomic.Int64
	stopping <-chan struct{}
}

// of returns a handler of streams as one that is counted and ends when the daemon stops.
func (s *streams) of(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.open.Add(1)
		defer s.open.Add(-1)
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			select {
			case <-ctx.Done():
			case <-s.stopping:
				cancel()
			}
		}()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
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
