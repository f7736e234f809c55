package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon"
	"github.com/croft-sh/croft/internal/daemon/guard"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/daemon/web"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/socket"
	"github.com/croft-sh/croft/internal/token"
)

// victim is a whole daemon at a port, over a real engine, that notes each request that passes
// its guard.
type victim struct {
	t      *testing.T
	git    *gittest.Repo
	svc    *engine.Engine
	tokens *token.Store
	server *daemon.Server
	port   int
	url    string
	log    *lockedLog

	mu      sync.Mutex
	reached []string
}

// lockedLog is the log of a daemon so far.
type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	repo := gittest.New(t)
	e, err := engine.Open(t.Context(), repo.Dir, &engine.Options{Environ: repo.Env, Actor: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(repo.Home, "state")
	v := &victim{t: t, git: repo, svc: e, tokens: token.Open(state), port: l.Addr().(*net.TCPAddr).Port, url: "http://" + l.Addr().String(), log: &lockedLog{}}
	log := slog.New(slog.NewTextHandler(v.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	stopping := make(chan struct{})
	hub := stream.NewHub(e)
	h := web.New(hub, web.Options{Stopping: stopping, Document: []byte("{}"), Log: log})
	h.API, h.Pages = v.noting(h.API), v.noting(h.Pages)
	v.server = daemon.New(daemon.Options{
		Handlers: h, Service: hub, Listeners: socket.Listeners{TCP: []net.Listener{l}}, Log: log,
		Stopping: stopping, Guard: guard.Options{Tokens: v.tokens, User: "ada"},
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- v.server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(40 * time.Second):
			t.Error("the daemon does not end")
		}
		if strings.Contains(v.log.String(), "panicked") {
			t.Errorf("a handler panicked:\n%s", v.log)
		}
	})
	return v
}

// noting notes the requests that reach a handler.
func (v *victim) noting(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		v.reached = append(v.reached, fmt.Sprintf("%s %s as %q", r.Method, r.URL.Path, caller.From(r.Context()).Access))
		v.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// since returns the requests that reached a handler since there were so many.
func (v *victim) since(n int) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.reached[n:])
}

// token makes a token and returns its secret.
func (v *victim) token(name string, access croft.Access, workspace croft.ID) string {
	v.t.Helper()
	_, secret, err := v.tokens.Make(v.t.Context(), token.Request{Name: name, Access: access, Workspace: workspace})
	if err != nil {
		v.t.Fatal(err)
	}
	return secret
}

// make makes a workspace with a file.
func (v *victim) make(name, text string) croft.Workspace {
	v.t.Helper()
	ws, err := v.svc.Create(v.t.Context(), croft.CreateRequest{Name: name})
	if err != nil {
		v.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws.Path, name+".txt"), []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
	return *ws
}

// operations returns everything that was journalled, newest first.
func (v *victim) operations() []croft.Operation {
	v.t.Helper()
	var all []croft.Operation
	for page := (croft.Page{}); ; {
		list, err := v.svc.History(v.t.Context(), croft.HistoryRequest{Page: page})
		if err != nil {
			v.t.Fatal(err)
		}
		all = append(all, list.Items...)
		if page.After = list.Next; list.Next == "" {
			return all
		}
	}
}

// reply is the answer to a request.
type reply struct {
	status int
	header http.Header
	body   string
}

// try makes a request with a token. What is no valid request has status 0.
func (v *victim) try(method, path, secret, body string) reply {
	v.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, in)
	if err != nil {
		return reply{}
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		v.t.Fatalf("%s %.200s: %v", method, path, err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(data)}
}

// pathOf returns the path of a route with all its segments filled in.
func pathOf(route, value string) string {
	for {
		before, rest, ok := strings.Cut(route, "{")
		if !ok {
			return route
		}
		_, after, _ := strings.Cut(rest, "}")
		route = before + url.PathEscape(value) + after
	}
}
