package web

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

// streams counts the streams that are open, and ends them when the daemon stops, or when the
// token or the session of their reader has ended.
type streams struct {
	open     atomic.Int64
	stopping <-chan struct{}
	every    time.Duration // between two looks at tokens and sessions

	mu      sync.Mutex
	byToken map[croft.ID]int
}

// maxOfToken is how many streams there may be of one token, so that who has it cannot use up all
// connections of the daemon's port.
const maxOfToken = 100

// enter counts a stream of a caller, and reports false if the caller has too many.
func (s *streams) enter(by caller.Caller) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if by.Token != "" && s.byToken[by.Token] >= maxOfToken {
		return false
	}
	if s.byToken == nil {
		s.byToken = map[croft.ID]int{}
	}
	s.byToken[by.Token]++
	s.open.Add(1)
	return true
}

func (s *streams) leave(by caller.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byToken[by.Token]--; s.byToken[by.Token] == 0 {
		delete(s.byToken, by.Token)
	}
	s.open.Add(-1)
}

// of returns a handler of streams as one that is counted and ends when the daemon stops.
func (s *streams) of(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by := caller.From(r.Context())
		if !s.enter(by) {
			api.WriteError(w, "events", &croft.Error{Code: croft.LimitReached, Message: "the token has too many streams open", Hint: "end some of them"})
			return
		}
		defer s.leave(by)
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

// withLogs has logs that are followed counted as streams, which the handler of the API sends.
func (s *streams) withLogs(calls http.Handler) http.Handler {
	logs := s.of(calls)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/log") && r.URL.Query().Has("follow") {
			logs.ServeHTTP(w, r)
			return
		}
		calls.ServeHTTP(w, r)
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
