package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/guard"
	"github.com/croft-sh/croft/internal/daemon/metrics"
)

// routes has the handlers of both doors.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.HandleFunc("GET /metrics", s.metrics)
	for _, prefix := range []string{"/v1/", "/api/"} {
		mux.Handle(prefix, orNotFound(s.o.API))
	}
	mux.Handle("/", forPeople(orNotFound(s.o.Pages)))
	return mux
}

// ownRoutes are the daemon's own, on its socket only.
func (s *Server) ownRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /daemon/status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Status()) })
	mux.HandleFunc("POST /daemon/stop", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, s.Status())
		s.Stop()
	})
	mux.HandleFunc("POST /daemon/once", func(w http.ResponseWriter, r *http.Request) {
		url := s.Once()
		if url == "" {
			api.WriteError(w, "serve", &croft.Error{
				Code: croft.Unsupported, Op: "serve", Message: "the daemon has no port for browsers", Hint: "croft serve --stop, then croft serve --tcp",
			})
			return
		}
		writeJSON(w, Once{URL: url})
	})
	return mux
}

// Once is a link by which a browser logs in once.
type Once struct {
	URL string `json:"url"`
}

// withOwn puts the daemon's own routes before others.
func withOwn(mux, own *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/daemon/") {
			own.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// noting notes the pattern of the route that answers, for the log and the metrics. A handler
// that routes by itself leaves the pattern of its own in the request.
func noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if rec, ok := w.(*recorder); ok {
				rec.route = r.Pattern
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// forPeople keeps a token that only reads from the forms of pages, whatever the pages do about
// it, and an agent's token from all pages: they show every project.
func forPeople(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		access := caller.From(r.Context()).Access
		isSafe := r.Method == http.MethodGet || r.Method == http.MethodHead
		if access == croft.AccessAll || isSafe && access != croft.AccessWorkspace {
			pages.ServeHTTP(w, r)
			return
		}
		api.WriteError(w, "serve", &croft.Error{Code: croft.AccessDenied, Op: "serve", Message: "the token does not allow it", Hint: "croft token list"})
	})
}

func orNotFound(h http.Handler) http.Handler {
	if h != nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		api.WriteProblem(w, http.StatusNotFound, &croft.Error{Code: croft.Unsupported, Op: "serve", Message: "there is nothing at this path"})
	})
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// readyTime is how long the Service may take to answer, and readyKept how long an answer counts.
const (
	readyTime = time.Second
	readyKept = time.Second
)

// ready says whether the Service answers.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if time.Since(time.Unix(0, s.readied.Load())) < readyKept {
		writeText(w, http.StatusOK, "ready\n")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if _, err := s.o.Service.Repos(ctx, croft.ReposRequest{Page: croft.Page{Limit: 1}}); err != nil {
		writeText(w, http.StatusServiceUnavailable, "not ready: "+string(croft.AsError("ready", err).Code)+"\n")
		return
	}
	s.readied.Store(time.Now().UnixNano())
	writeText(w, http.StatusOK, "ready\n")
}

// metrics are not for the agent of one workspace: they tell of all.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if access := caller.From(r.Context()).Access; access != croft.AccessAll && access != croft.AccessRead {
		api.WriteProblem(w, http.StatusForbidden, &croft.Error{Code: croft.AccessDenied, Op: "metrics", Message: "the token does not allow it"})
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_ = s.o.Metrics.Write(w)
}

// queueCounts are how many merges wait, as they were counted last.
type queueCounts struct {
	mu     sync.Mutex
	at     time.Time
	states map[string]int
}

// queuesKept is how long a count of the queues is told again.
const queuesKept = 5 * time.Second

// gauges tell of the server when the metrics are read.
func (s *Server) gauges() []metrics.Gauge {
	all := []metrics.Gauge{{Name: "croft_open_streams", Help: "streams of events and output that are open", Value: float64(s.o.Streams())}}
	for state, n := range s.countQueues() {
		all = append(all, metrics.Gauge{Name: "croft_queue_merges", Help: "merges in the queues of all projects, by state", Labels: []string{"state", state}, Value: float64(n)})
	}
	return all
}

func (s *Server) countQueues() map[string]int {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	if time.Since(s.queues.at) < queuesKept {
		return s.queues.states
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	states := map[string]int{"queued": 0, "merging": 0, "checking": 0, "held": 0, "pending": 0}
	for m, err := range croft.All(croft.Page{}, func(page croft.Page) (*croft.List[croft.Merge], error) {
		return s.o.Service.Merges(ctx, croft.MergesRequest{Repos: croft.ScopeAll, Page: page})
	}) {
		switch {
		case err != nil:
			return s.queues.states
		case m.IsHeld:
			states["held"]++
		case m.State == croft.MergeDone:
			states["pending"]++
		default:
			states[string(m.State)]++
		}
	}
	s.queues.at, s.queues.states = time.Now(), states
	return states
}

// observe logs and counts requests, and turns a panic of a handler into an answer.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reach(r.Context())
		begun := time.Now()
		rec := &recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // it is the value that net/http compares with
					panic(p)
				}
				s.o.Log.Error("a handler panicked", "path", guard.Printable(r.URL.Path), "panic", p, "stack", string(debug.Stack()))
				s.o.Metrics.Add("croft_panics_total", 1)
				if rec.status == 0 {
					api.WriteProblem(rec, http.StatusInternalServerError, &croft.Error{Code: croft.Internal, Op: "serve", Message: "a defect in Croft"})
				}
			}
			s.finish(rec, r, time.Since(begun))
		}()
		next.ServeHTTP(rec, r)
	})
}

// finish logs and counts a request that has been answered.
func (s *Server) finish(rec *recorder, r *http.Request, took time.Duration) {
	status := rec.status
	if status == 0 {
		status = http.StatusOK
	}
	route := rec.route
	if route == "" {
		route = "other" // it did not pass the guard
	}
	s.o.Metrics.Observe(route, knownMethod(r.Method), status, took)
	level := s.o.Log.Debug
	if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable {
		level = s.o.Log.Warn
	}
	attrs := []any{"method", knownMethod(r.Method), "path", guard.Printable(r.URL.Path), "route", route, "status", status, "took", took.Round(time.Microsecond).String()}
	if rec.cause != nil {
		attrs = append(attrs, "cause", guard.Printable(rec.cause.Error()))
	}
	level("request", attrs...)
}

// knownMethod keeps the labels of metrics few.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return method
	}
	return "other"
}

// recorder notes the status of an answer. Unwrap lets handlers flush, hijack and set deadlines
// by http.ResponseController.
type recorder struct {
	http.ResponseWriter
	status int
	route  string
	cause  error // of a failure that is a defect
}

// NoteCause is for api.WriteError.
func (r *recorder) NoteCause(err error) { r.cause = err }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Hijack is for handlers that ask for http.Hijacker.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.status = http.StatusSwitchingProtocols
	return http.NewResponseController(r.ResponseWriter).Hijack()
}

// Flush is for handlers that ask for http.Flusher.
func (r *recorder) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
