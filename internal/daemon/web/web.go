// Package web puts the handlers of a daemon together: the API with its streams, the routes of
// specification 004, and the pages. Each makes its calls through a Service that allows what
// the caller may do.
package web

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon"
	"github.com/croft-sh/croft/internal/daemon/agents"
	"github.com/croft-sh/croft/internal/daemon/guard"
	"github.com/croft-sh/croft/internal/daemon/metrics"
	"github.com/croft-sh/croft/internal/daemon/rest"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/dashboard"
	"github.com/croft-sh/croft/internal/scope"
)

// Options are what the handlers tell of the daemon. The zero value tells nothing.
type Options struct {
	About    func() api.About // its API is set by New; nil: the zero value
	Document []byte           // the OpenAPI document
	Notices  func() []string  // the sentences for the user that belong to no call's result
	Stopping <-chan struct{}  // closed when the daemon stops: streams end
	Log      *slog.Logger
	Socket   string // where the daemon listens, for the page of the settings
	// Tokens, Settings and Look are those of dashboard.Options.
	Tokens   dashboard.Tokens
	Settings func(repo croft.Repo) ([]Setting, error)
	Look     func(repo croft.ID)
}

// Setting is a value of the configuration, and where it came from.
type Setting = dashboard.Setting

// New returns the handlers over a hub.
func New(hub *stream.Hub, o Options) daemon.Handlers {
	if o.Notices == nil {
		o.Notices = func() []string { return nil }
	}
	document := api.Fingerprint(o.Document)
	about := func() (a api.About) {
		if o.About != nil {
			a = o.About()
		}
		a.API = cmp.Or(a.API, document)
		return a
	}
	serviceFor := narrowing(hub)
	events := stream.Options{ServiceFor: serviceFor, Now: hub.Now, Stopping: o.Stopping}
	open := &streams{stopping: o.Stopping, every: 2 * time.Second}
	mux := http.NewServeMux()
	mux.Handle("/v1/", open.withLogs(rest.New(rest.Options{ServiceFor: serviceFor, Notices: o.Notices, About: about, Document: o.Document, Stopping: o.Stopping})))
	mux.Handle("GET "+api.EventsPath, open.of(events))
	mux.Handle("GET "+api.SocketPath, open.of(events.WebSocket(stream.AsTheyAre)))
	mux.Handle("/api/", agents.New(agents.Options{ServiceFor: serviceFor, ActorFor: rest.ActorFor, Stopping: o.Stopping}))
	mux.Handle("GET "+agents.EventsPath, open.of(events.WebSocket(agents.Messages)))
	pages := dashboard.New(hub, dashboard.Options{
		Log: o.Log, Tokens: o.Tokens, Settings: o.Settings, Look: o.Look,
		About: dashboard.About{Version: about().Version, Socket: o.Socket, StateDir: about().StateDir},
	})
	return daemon.Handlers{
		API: mux, Pages: open.apart(dashboard.LivePath, pages),
		Streams:  func() int { return int(open.open.Load()) },
		Gauges:   func() []metrics.Gauge { return gauges(hub.Stats()) },
		IsPublic: pages.IsPublic, Error: pages.Error,
		Login: func(w http.ResponseWriter, r *http.Request, page guard.LoginPage) {
			pages.Login(w, r, dashboard.Login{Next: page.Next, Failed: page.Failed})
		},
	}
}

// gauges tell of the readers of events.
func gauges(s stream.Stats) []metrics.Gauge {
	return []metrics.Gauge{
		{Name: "croft_event_readers", Help: "readers of the common tail of events, those of the daemon itself included", Value: float64(s.Readers)},
		{Name: "croft_event_readers_cut", Help: "readers that were cut since the daemon began, because they did not keep up", Value: float64(s.Cut)},
	}
}

// narrowing returns a function that gives each caller the Service that allows what the caller
// may do.
func narrowing(svc croft.Service) func(caller.Caller) (croft.Service, error) {
	services := scope.New(svc)
	return func(c caller.Caller) (croft.Service, error) {
		if c.Access == "" {
			return nil, &croft.Error{Code: croft.Unauthenticated, Message: "the request does not say who calls"}
		}
		return services.For(c.Access, c.Workspace), nil
	}
}
