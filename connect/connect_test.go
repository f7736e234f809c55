package connect_test

import (
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/connect"
	"github.com/croft-sh/croft/docs/openapi"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/daemon/web"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/socket"
)

// serve serves the daemon's handlers where a program looks for them, and returns the path of
// the socket.
func serve(t *testing.T, environ []string, change func(*api.About)) string {
	t.Helper()
	return serveUntil(t, environ, change, nil)
}

// serveUntil is serve for a daemon that ends when the channel is closed.
func serveUntil(t *testing.T, environ []string, change func(*api.About), stopped <-chan struct{}) string {
	t.Helper()
	set, err := config.Load(config.Input{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(t.Context(), "/", &engine.Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	about := api.About{Settings: set.Fingerprint(environ), API: api.Fingerprint(openapi.Document())}
	if change != nil {
		change(&about)
	}
	h := web.New(stream.NewHub(e), web.Options{About: func() api.About { return about }, Document: openapi.Document(), Notices: e.Notices}).API
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(caller.With(r.Context(), caller.Caller{Access: croft.AccessAll, Name: "the daemon"})))
	})}
	path := socket.Path(environ, set.Config().StateDir)
	l, err := socket.Listen(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	if stopped != nil {
		go func() {
			<-stopped
			_ = server.Close()
			_ = os.Remove(path)
		}()
	}
	t.Cleanup(func() {
		_ = server.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return path
}

func open(t *testing.T, dir string, o connect.Options) croft.Service {
	t.Helper()
	svc, err := connect.Open(t.Context(), dir, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := svc.Close(); err != nil {
			t.Error(err)
		}
	})
	return svc
}

func isDaemon(svc croft.Service) bool {
	_, ok := svc.(*connect.Served)
	return ok
}

// TestOpenPrefersTheDaemon: a program calls the daemon that runs with its own settings, and
// does without one otherwise. The history does not tell the difference.
func TestOpenPrefersTheDaemon(t *testing.T) {
	repo := gittest.New(t)
	if isDaemon(open(t, repo.Dir, connect.Options{Environ: repo.Env})) {
		t.Fatal("there is no daemon yet")
	}
	serve(t, repo.Env, nil)
	svc := open(t, repo.Dir, connect.Options{Environ: repo.Env, Actor: "ada"})
	if !isDaemon(svc) {
		t.Fatal("the daemon is not used")
	}
	ws, err := svc.Create(t.Context(), croft.CreateRequest{Name: "a"})
	if err != nil || ws.Repo != repo.Dir {
		t.Fatalf("%+v, %v", ws, err)
	}
	list, err := svc.History(t.Context(), croft.HistoryRequest{})
	if err != nil || list.Items[0].Actor != "ada" {
		t.Errorf("%+v, %v", list, err)
	}
	inside := open(t, repo.Dir, connect.Options{Environ: repo.Env, Actor: "ada", From: ws.Path})
	if _, err := inside.Lock(t.Context(), croft.LockRequest{Workspace: "a"}); err != nil {
		t.Fatal(err)
	}
	if list, err = svc.History(t.Context(), croft.HistoryRequest{}); err != nil || list.Items[0].ActorWorkspace != ws.ID {
		t.Errorf("%+v, %v", list, err)
	}
	for name, o := range map[string]connect.Options{
		"another author":  {Environ: append(repo.Env, "GIT_AUTHOR_NAME=Bob")},
		"another setting": {Environ: repo.Env, Flags: map[string]string{"gc.auto": "false"}},
		"never":           {Environ: append(repo.Env, "CROFT_DAEMON_USE=never")},
	} {
		if isDaemon(open(t, repo.Dir, o)) {
			t.Errorf("%s: the daemon is used", name)
		}
	}
}

// TestOpenAnotherAPI: a daemon that speaks another version of the API is not used.
func TestOpenAnotherAPI(t *testing.T) {
	repo := gittest.New(t)
	serve(t, repo.Env, func(a *api.About) { a.API = "another" })
	if isDaemon(open(t, repo.Dir, connect.Options{Environ: repo.Env})) {
		t.Error("the daemon is used")
	}
}
