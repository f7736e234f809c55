package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/notice"
)

type server struct {
	Options
	mux     *http.ServeMux
	turns   turns
	sharing sharing

	mu    sync.Mutex
	calls map[string]context.CancelFunc // the calls at work that have a name, by caller and name
}

func (s *server) serviceFor(r *http.Request) (croft.Service, error) {
	return s.ServiceFor(caller.From(r.Context()))
}

// begin returns the context of a call: it has the actor that the caller may be, and ends
// when the caller is gone or cancels the call by its name.
func (s *server) begin(r *http.Request) (context.Context, func(), error) {
	actor, err := ActorFor(r)
	if err != nil {
		return nil, nil, err
	}
	given := r.Header.Get(api.HeaderCall)
	if len(given) > maxCallName {
		return nil, nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("the name in %s is longer than %d bytes", api.HeaderCall, maxCallName)}
	}
	ctx, cancel := context.WithCancel(notice.ForCall(croft.WithActor(r.Context(), actor)))
	if given == "" {
		return ctx, cancel, nil
	}
	name := callName(r, given)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, isThere := s.calls[name]; isThere {
		cancel()
		return nil, nil, &croft.Error{Code: croft.InvalidRequest, Message: "another call has this name in " + api.HeaderCall}
	}
	s.calls[name] = cancel
	return ctx, func() {
		s.mu.Lock()
		delete(s.calls, name)
		s.mu.Unlock()
		cancel()
	}, nil
}

// maxCallName is how long the name of a call may be, in bytes.
const maxCallName = 100

// callName returns the name of a call with that of its caller, so that nobody cancels the
// calls of others.
func callName(r *http.Request, name string) string {
	return string(caller.From(r.Context()).Token) + "/" + name
}

// cancel cancels a call. Its caller waits for the answer of the call itself.
func (s *server) cancel(w http.ResponseWriter, r *http.Request) {
	if _, err := s.serviceFor(r); err != nil {
		api.WriteError(w, "cancel", err)
		return
	}
	s.mu.Lock()
	cancel := s.calls[callName(r, r.PathValue("call"))]
	s.mu.Unlock()
	if cancel == nil { // it has ended, or has not begun
		api.WriteProblem(w, http.StatusNotFound, &croft.Error{Code: croft.OperationNotFound, Op: "cancel", Message: "no call of this name is at work"})
		return
	}
	cancel()
	w.WriteHeader(http.StatusNoContent)
}

// ActorFor returns who acts by a request. A caller with access to everything acts for whom
// it says; one with a token of a workspace is that workspace's agent, and one that only reads
// says no more than which project it means.
func ActorFor(r *http.Request) (croft.Actor, error) {
	by := caller.From(r.Context())
	if by.Access == croft.AccessWorkspace {
		return croft.Actor{Workspace: by.Workspace}, nil
	}
	actor, err := api.ActorOf(r)
	if err != nil || by.Access == croft.AccessRead {
		return croft.Actor{Name: by.Name, Dir: actor.Dir}, err
	}
	actor.Name = cmp.Or(actor.Name, by.Name)
	return actor, nil
}

// addNotices sends the sentences for the user with the answer of the call that ctx is of, to a caller who may
// read everything. Those of the call come first.
func (s *server) addNotices(ctx context.Context, w http.ResponseWriter) {
	if caller.From(ctx).Access != croft.AccessAll {
		return
	}
	list := s.Notices()
	if own := notice.OfCall(ctx); own != nil {
		list = append(own.All(), list...)
	}
	if more := len(list) - maxNotices; more > 0 {
		list = append(slices.Clone(list[:maxNotices]), fmt.Sprintf("%d more notes are left out", more))
	}
	for _, text := range list {
		if len(text) > maxNotice {
			text = strings.ToValidUTF8(text[:maxNotice], "") + "…"
		}
		w.Header().Add(api.HeaderNotice, url.PathEscape(text))
	}
}

// maxNotices is how many sentences come with an answer, and maxNotice how many bytes of each:
// readers of HTTP take so many headers only.
const (
	maxNotices = 20
	maxNotice  = 1000
)
