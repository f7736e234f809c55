// Package rest serves the calls of croft.Service under /v1, as package api says: it reads
// the request, makes the call for the caller, and writes the answer. No behaviour of Croft
// is here.
package rest

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
)

// Options say what the handlers call.
type Options struct {
	// ServiceFor returns the Service for what a caller may do, or an error if that is
	// nothing.
	ServiceFor func(caller.Caller) (croft.Service, error)
	// Notices returns the sentences for the user that belong to no call's result.
	Notices func() []string
	// About returns the answer at api.AboutPath.
	About func() api.About
	// Document is the OpenAPI document.
	Document []byte
	// Stopping ends what is followed when it is closed: the daemon stops.
	Stopping <-chan struct{}
}

// New returns the handler of everything below /v1, but for the streams of events.
func New(o Options) http.Handler {
	s := &server{Options: o, calls: map[string]context.CancelFunc{}, mux: http.NewServeMux()}
	s.routes()
	s.mux.HandleFunc("DELETE "+api.CancelPath, s.cancel)
	s.mux.HandleFunc("GET "+api.AboutPath, func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.serviceFor(r); err != nil {
			api.WriteError(w, "about", err)
			return
		}
		api.WriteAnswer(w, http.StatusOK, s.About())
	})
	s.mux.HandleFunc("GET "+api.DocumentPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openapi+json")
		_, _ = w.Write(s.Document) // the reader is gone
	})
	for _, path := range []string{api.EventsPath, api.SocketPath} { // another handler has their GET
		s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.refuseMethod(w, r, []string{http.MethodGet}) })
	}
	s.mux.HandleFunc(everyPath, func(w http.ResponseWriter, r *http.Request) { s.refuseMethod(w, r, api.Allowed(s.mux, everyPath, r)) })
	return s.mux
}

// everyPath is the pattern of the handler that gets what no route takes.
const everyPath = "/v1/"

// refuseMethod answers a request that no route takes, as a problem like every other failure.
func (s *server) refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	if _, err := s.serviceFor(r); err != nil {
		api.WriteError(w, "call", err)
		return
	}
	api.RefuseMethod(w, r, allowed)
}

// handle serves one call of the Service.
func handle[R, T any](s *server, name string, method func(croft.Service, context.Context, R) (*T, error)) {
	c := api.ByName(name)
	op := strings.ToLower(name)
	s.mux.HandleFunc(c.Method+" "+c.Path, func(w http.ResponseWriter, r *http.Request) {
		if name == "CheckLog" && r.URL.Query().Has("follow") {
			s.followLog(w, r)
			return
		}
		svc, err := s.serviceFor(r)
		if err != nil {
			api.WriteError(w, op, err)
			return
		}
		var req R
		if err := api.ReadRequest(c, r, &req); err != nil {
			api.WriteError(w, op, err)
			return
		}
		ctx, end, err := s.begin(r)
		if err != nil {
			api.WriteError(w, op, err)
			return
		}
		defer end()
		if api.OnlyWaits(req) {
			var done func()
			ctx, done = s.untilStopping(ctx)
			defer done()
		}
		if name == "WaitMerge" {
			s.waitFor(ctx, w, r, svc, croft.ID(r.PathValue("merge")))
			return
		}
		leave, err := s.turns.take(ctx, r)
		if err != nil {
			api.WriteError(w, op, err)
			return
		}
		defer leave()
		if key := shareKey(c, r, croft.ActorFrom(ctx)); key != "" {
			s.answerShared(ctx, w, op, req, key, func(ctx context.Context) (any, error) { return method(svc, ctx, req) })
			return
		}
		out, err := method(svc, ctx, req)
		if c.Answer == api.AnswerMerge {
			leave() // the answer may wait for the end of the merge
		}
		s.addNotices(ctx, w)
		if err = stopped(ctx, err); err != nil {
			api.WriteError(w, op, nameless(ctx, req, err))
			return
		}
		s.answer(ctx, w, r, svc, c, out)
	})
}

// nameless explains that a request for a project names none: the daemon stands in none.
func nameless(ctx context.Context, req any, err error) error {
	e, ok := errors.AsType[*croft.Error](err)
	repo := reflect.ValueOf(req).FieldByName("Repo")
	if !ok || e.Code != croft.NotARepo || !repo.IsValid() || repo.String() != "" || croft.ActorFrom(ctx).Dir != "" {
		return err
	}
	return &croft.Error{
		Code: croft.NotARepo, Op: e.Op, Message: "the request names no project",
		Details: "The daemon stands in none.", Hint: "give repo=path:DIRECTORY or repo=id:ID; a list takes repos=all",
	}
}

// answer writes the result of a call, with the status that the table gives it.
func (s *server) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, svc croft.Service, c api.Call, out any) {
	switch c.Answer {
	case api.AnswerCreated:
		if at := location(out); at != "" {
			w.Header().Set("Location", at)
		}
		api.WriteAnswer(w, http.StatusCreated, out)
	case api.AnswerMerge:
		m := out.(*croft.Merge)
		if wait := preferredWait(r); wait > 0 && !hasEnded(m) {
			m = s.waited(ctx, svc, m, wait)
			w.Header().Set("Preference-Applied", "wait")
		}
		writeMerge(w, m)
	default:
		api.WriteAnswer(w, http.StatusOK, out)
	}
}

// writeMerge answers with a merge: that it was accepted, unless it has ended.
func writeMerge(w http.ResponseWriter, m *croft.Merge) {
	if hasEnded(m) {
		api.WriteAnswer(w, http.StatusOK, m)
		return
	}
	w.Header().Set("Location", "/v1/merges/"+string(m.ID))
	api.WriteAnswer(w, http.StatusAccepted, m)
}

// hasEnded reports whether nothing more happens with a merge by itself. Finish answers with one
// that has no ID if there was nothing to submit.
func hasEnded(m *croft.Merge) bool { return m.State == croft.MergeDone || m.ID == "" }

// waitFor waits for the end of a merge, as long as the caller prefers or is there.
func (s *server) waitFor(ctx context.Context, w http.ResponseWriter, r *http.Request, svc croft.Service, id croft.ID) {
	if wait := preferredWait(r); wait > 0 {
		m, err := svc.Merge(ctx, croft.GetRequest{Ref: croft.ByID(id)})
		if err != nil {
			api.WriteError(w, "wait", err)
			return
		}
		w.Header().Set("Preference-Applied", "wait")
		writeMerge(w, s.waited(ctx, svc, m, wait))
		return
	}
	m, err := svc.WaitMerge(ctx, croft.WaitRequest{Merge: id})
	if err != nil {
		api.WriteError(w, "wait", stopped(ctx, err))
		return
	}
	writeMerge(w, m)
}

// waited returns a merge as it is when it has ended, when the time is over, or when the daemon
// stops.
func (s *server) waited(ctx context.Context, svc croft.Service, m *croft.Merge, wait time.Duration) *croft.Merge {
	inTime, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	inTime, done := s.untilStopping(inTime)
	defer done()
	if done, err := svc.WaitMerge(inTime, croft.WaitRequest{Merge: m.ID}); err == nil {
		return done
	}
	if now, err := svc.Merge(context.WithoutCancel(ctx), croft.GetRequest{Ref: croft.ByID(m.ID)}); err == nil {
		return now
	}
	return m
}

// maxWait is the longest that a caller may prefer to wait.
const maxWait = 60 * time.Second

// preferredWait reads "Prefer: wait=N", by RFC 7240.
func preferredWait(r *http.Request) time.Duration {
	for _, header := range r.Header.Values("Prefer") {
		for part := range strings.SplitSeq(header, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
			if seconds, err := strconv.Atoi(strings.Trim(value, `"`)); strings.EqualFold(name, "wait") && err == nil && seconds > 0 {
				return min(time.Duration(min(seconds, 3600))*time.Second, maxWait)
			}
		}
	}
	return 0
}

// location returns where something that was made can be had.
func location(out any) string {
	in := func(repo croft.ID) string { return "?repo=" + url.QueryEscape(croft.ByID(repo)) } // without a project they are not found
	switch made := out.(type) {
	case *croft.Workspace:
		return "/v1/workspaces/" + string(made.ID) + in(made.RepoID)
	case *croft.Snapshot:
		return "/v1/snapshots/" + string(made.ID) + in(made.RepoID)
	case *croft.Review:
		return "/v1/reviews/" + string(made.ID) + in(made.RepoID)
	case *croft.Session:
		return "/v1/sessions/" + string(made.ID)
	case *croft.Round:
		return "/v1/rounds/" + string(made.ID)
	}
	return ""
}
