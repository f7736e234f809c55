package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
)

// Options are what a dashboard may be told. The zero value is good.
type Options struct {
	// Log is told of pages that could not be made because of a defect. Default: none is.
	Log *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Tokens are those that the page of the settings lists, makes and revokes. Default: it shows none.
	Tokens Tokens
	// Settings returns the configuration of a project with its sources. Default: it is not shown.
	Settings func(repo croft.Repo) ([]Setting, error)
	// About is what the page of the settings says of the server.
	About About
	// Look is told, while pages are open, of which project, or of all if the ID is empty, so that what agents write there is
	// looked at soon. It returns at once. Default: nobody is told.
	Look func(repo croft.ID)
}

// Tokens are the tokens by which programs and browsers call the server.
type Tokens interface {
	List() ([]croft.Token, error)
	// Make makes a token and returns it with its secret, which is nowhere else.
	Make(ctx context.Context, name string, access croft.Access, workspace croft.ID) (croft.Token, string, error)
	Revoke(ctx context.Context, ref croft.Ref) (croft.Token, error)
}

// Setting is a value of the configuration, and where it came from.
type Setting struct{ Key, Value, Source string }

// About describes the server.
type About struct{ Version, Socket, StateDir string }

// dashboard makes pages from a Service.
type dashboard struct {
	svc       croft.Service
	now       func() time.Time
	log       *slog.Logger
	mux       *http.ServeMux
	assets    *assets
	templates templates
	lists     *lists
	live      *hub
	sent      sent
	o         Options
}

// New returns a handler that serves the pages of a Service.
func New(svc croft.Service, o Options) *Handler {
	d := &dashboard{svc: svc, now: o.Now, log: o.Log, mux: http.NewServeMux(), assets: newAssets(), lists: newLists(svc), sent: sent{forms: map[string]*sentForm{}}, o: o}
	if d.now == nil {
		d.now = time.Now
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.templates = parseTemplates(d.assets)
	d.live = newHub(svc, o.Look)
	d.routes()
	return &Handler{d}
}

// ServeHTTP refuses callers who may not see all projects, and serves the others.
func (d *dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.assets.serve(w, r) {
		return
	}
	switch who := caller.From(r.Context()); who.Access {
	case croft.AccessAll, croft.AccessRead:
		ctx := croft.WithActor(r.Context(), croft.Actor{Name: who.Name})
		d.mux.ServeHTTP(w, r.WithContext(ctx))
	default:
		d.fail(w, &request{Request: r, d: d, Caller: who}, &refusal{
			status: http.StatusForbidden, title: "This token opens no dashboard",
			happened: "The dashboard shows all projects. The token that you came with is an agent's, or none at all.",
			left:     "Nothing was shown or changed.",
			next:     "Log in with a token of your own.",
		})
	}
}
