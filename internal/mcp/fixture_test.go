package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// fixture is a repository with two workspaces, and a state of its own.
type fixture struct {
	t     *testing.T
	repo  *gittest.Repo
	env   []string
	svc   croft.Service
	a, b  croft.Workspace
	other croft.Workspace // of another repository
	log   *safeBuffer
}

// safeBuffer is a buffer that a server may write to while a test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, repo: gittest.New(t), log: &safeBuffer{}}
	f.env = append(f.repo.Env, "CROFT_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
	f.svc = f.open(f.repo.Dir)
	made, err := f.svc.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "a"}, {Name: "b"}}})
	if err != nil {
		t.Fatal(err)
	}
	f.a, f.b = made.Workspaces[0], made.Workspaces[1]
	elsewhere, err := f.open(gittest.New(t).Dir).Create(t.Context(), croft.CreateRequest{Name: "far"})
	if err != nil {
		t.Fatal(err)
	}
	f.other = *elsewhere
	return f
}

func (f *fixture) open(dir string) croft.Service {
	f.t.Helper()
	svc, err := engine.Open(f.t.Context(), dir, &engine.Options{Environ: f.env})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = svc.Close() })
	return svc
}

func (f *fixture) write(ws croft.Workspace, name, text string) {
	f.t.Helper()
	path := filepath.Join(ws.Path, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// scopeOf is the scope of a kind of server, which for an agent is the workspace a.
func (f *fixture) scopeOf(kind Kind) Scope {
	switch kind {
	case KindAgent:
		return Scope{Kind: kind, Workspace: f.a.ID}
	case KindSession:
		return Scope{Kind: kind, Repo: f.a.RepoID, Session: "s1"}
	}
	return Scope{Kind: kind, Repo: f.a.RepoID}
}

// start starts a server, and returns its input, its output, and a channel that tells its end.
func (f *fixture) start(scope Scope, open func(context.Context) (croft.Service, error)) (io.WriteCloser, io.ReadCloser, <-chan error) {
	f.t.Helper()
	if open == nil {
		open = func(ctx context.Context) (croft.Service, error) {
			return engine.Open(ctx, f.repo.Dir, &engine.Options{Environ: f.env})
		}
	}
	in, send := io.Pipe()
	receive, out := io.Pipe()
	ended, over := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(over)
		ended <- Serve(f.t.Context(), Options{Scope: scope, Version: "test", Open: open, In: in, Out: out, Log: f.log})
		_ = out.Close()
	}()
	f.t.Cleanup(func() {
		_ = send.Close()
		_ = receive.Close()
		<-over
	})
	return send, receive, ended
}

// client is the SDK's client of a server.
type client struct {
	*sdk.ClientSession
	t *testing.T
}

func (f *fixture) connect(scope Scope) *client { return f.connectTo(scope, nil) }

func (f *fixture) connectTo(scope Scope, open func(context.Context) (croft.Service, error)) *client {
	f.t.Helper()
	send, receive, _ := f.start(scope, open)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
		Connect(f.t.Context(), &sdk.IOTransport{Reader: receive, Writer: send}, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return &client{session, f.t}
}

// call calls a tool that must succeed, and returns its answer.
func (c *client) call(tool string, arguments object) object {
	c.t.Helper()
	out, failed := c.try(tool, arguments)
	if failed != nil {
		c.t.Fatalf("%s %v: %+v", tool, arguments, failed)
	}
	return out
}

// try calls a tool, and returns its answer or its failure.
func (c *client) try(tool string, arguments object) (object, *failure) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	res, err := c.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	if len(res.Content) != 1 {
		c.t.Fatalf("%s: %d blocks", tool, len(res.Content))
	}
	text := res.Content[0].(*sdk.TextContent).Text
	if len(text) > maxAnswer || clean(text) != text {
		c.t.Errorf("%s: an answer of %d bytes: %.200q", tool, len(text), text)
	}
	if res.IsError {
		if res.StructuredContent != nil {
			c.t.Errorf("%s: an error with structured content", tool)
		}
		var failed struct{ Error failure }
		if err := json.Unmarshal([]byte(text), &failed); err != nil || failed.Error.Code == "" {
			c.t.Fatalf("%s: %v: %s", tool, err, text)
		}
		return nil, &failed.Error
	}
	out, _ := res.StructuredContent.(object)
	return out, nil
}

// refused calls a tool whose arguments must be refused by the protocol.
func (c *client) refused(tool string, arguments any) {
	c.t.Helper()
	_, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || wire.Code != jsonrpc.CodeInvalidParams {
		c.t.Errorf("%s %v: %v", tool, arguments, err)
	}
}
