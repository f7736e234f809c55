package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	restapi "github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/guard"
	"github.com/croft-sh/croft/internal/daemon/metrics"
	"github.com/croft-sh/croft/internal/socket"
	"github.com/croft-sh/croft/internal/token"
)

// service is a Service that answers what the server itself asks, and notes that it was closed.
type service struct {
	croft.UnimplementedService
	mu     sync.Mutex
	closed bool
	fails  error
}

func (s *service) Repos(context.Context, croft.ReposRequest) (*croft.List[croft.Repo], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &croft.List[croft.Repo]{}, s.fails
}

// Merges has two pages.
func (s *service) Merges(_ context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
	if req.After == "" {
		return &croft.List[croft.Merge]{Items: []croft.Merge{{State: croft.MergeQueued}, {State: croft.MergeQueued, IsHeld: true}}, Next: "1"}, nil
	}
	return &croft.List[croft.Merge]{Items: []croft.Merge{{State: croft.MergeQueued}}}, nil
}

func (s *service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// log collects lines.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a server under test at a port.
type running struct {
	*Server
	svc    *service
	url    string
	tokens *token.Store
	token  string
	log    *log
	cancel context.CancelFunc
	done   chan error
}

func start(t *testing.T, api http.Handler) *running {
	t.Helper()
	return startWith(t, api, 0)
}

// startWith starts a server that may open so many files.
func startWith(t *testing.T, api http.Handler, maxFiles int) *running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tokens := token.Open(t.TempDir())
	_, secret, err := tokens.Make(t.Context(), token.Request{Name: "test", Access: croft.AccessAll})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{svc: &service{}, url: "http://" + l.Addr().String(), tokens: tokens, token: secret, log: &log{}, cancel: cancel, done: make(chan error, 1)}
	r.Server = New(Options{
		Service: r.svc, Listeners: socket.Listeners{TCP: []net.Listener{l}}, Guard: guard.Options{Tokens: tokens, User: "ada"}, MaxFiles: maxFiles,
		Handlers: Handlers{API: api, Gauges: func() []metrics.Gauge { return []metrics.Gauge{{Name: "croft_of_handlers", Value: 7}} }},
		Log:      slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	go func() { r.done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case <-r.done:
		case <-time.After(20 * time.Second):
			t.Error("the server does not end")
		}
	})
	return r
}

func (r *running) get(t *testing.T, path string) (int, string) {
	t.Helper()
	return r.getBy(t, http.DefaultClient, path, r.token)
}

// fresh makes a request on a connection of its own.
func (r *running) fresh(t *testing.T, path, secret string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}
	return r.getBy(t, client, path, secret)
}

func (r *running) getBy(t *testing.T, client *http.Client, path, secret string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	res, err := client.Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return res.StatusCode, string(body)
}

// wait ends the test if the server has not ended in time.
func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		r.done <- nil // for the cleanup
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the server does not end")
		return nil
	}
}

func TestHealth(t *testing.T) {
	r := start(t, nil)
	if code, body := r.get(t, "/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("%d %q", code, body)
	}
	r.svc.fails = croft.StateUnavailable
	if code, body := r.get(t, "/readyz"); code != 503 || !strings.Contains(body, "STATE_UNAVAILABLE") {
		t.Errorf("%d %q", code, body)
	}
	r.svc.mu.Lock()
	r.svc.fails = nil
	r.svc.mu.Unlock()
	if code, _ := r.get(t, "/readyz"); code != 200 {
		t.Errorf("%d", code)
	}
	for _, path := range []string{"/v1/repos", "/api/agents", "/"} {
		if code, _ := r.get(t, path); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

func TestMetricsAndLog(t *testing.T) {
	api := http.NewServeMux()
	api.HandleFunc("GET /v1/things/{id}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "x") })
	api.HandleFunc("GET /v1/panic", func(http.ResponseWriter, *http.Request) { panic("of a test") })
	api.HandleFunc("GET /v1/defect", func(w http.ResponseWriter, _ *http.Request) {
		restapi.WriteError(w, "defect", fmt.Errorf("read: %w", io.ErrNoProgress))
	})
	r := start(t, api)
	for range 3 {
		r.get(t, "/v1/things/a%1b%0anew?secret=hush")
	}
	if code, body := r.get(t, "/v1/defect"); code != 500 || strings.Contains(body, "Read calls") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := r.get(t, "/v1/panic"); code != 500 || !strings.Contains(body, "INTERNAL") {
		t.Errorf("%d %s", code, body)
	}
	_, text := r.get(t, "/metrics")
	for _, want := range []string{
		`croft_http_request_duration_seconds_count{route="GET /v1/things/{id}",method="GET",status="2xx"} 3`,
		`croft_http_request_duration_seconds_bucket{route="GET /v1/things/{id}",method="GET",status="2xx",le="+Inf"} 3`,
		`croft_queue_merges{state="queued"} 2`, `croft_queue_merges{state="held"} 1`,
		"croft_panics_total 1", "croft_open_streams 0", "croft_of_handlers 7", "croft_uptime_seconds ", "croft_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	log := r.log.String()
	if !strings.Contains(log, "multiple Read calls") {
		t.Errorf("the log does not say why a call failed:\n%s", log)
	}
	if !strings.Contains(log, "/v1/things/a") || strings.Contains(log, "hush") || strings.Contains(log, r.token) || strings.ContainsAny(log, "\x1b\r") || strings.Contains(log, "\nnew") {
		t.Errorf("log:\n%s", log)
	}
}

// TestPagesAreForPeople: an agent's token sees no page, and one for reading sends no form.
func TestPagesAreForPeople(t *testing.T) {
	for _, c := range []struct {
		access croft.Access
		method string
		want   int
	}{
		{croft.AccessAll, http.MethodPost, 200},
		{croft.AccessRead, http.MethodGet, 200},
		{"", http.MethodGet, 200}, // what is public; the guard refused the rest
		{croft.AccessRead, http.MethodPost, 403},
		{croft.AccessRead, http.MethodDelete, 403},
		{croft.AccessWorkspace, http.MethodGet, 403},
		{croft.AccessWorkspace, http.MethodPost, 403},
		{"", http.MethodPost, 403},
	} {
		s := New(Options{Handlers: Handlers{Pages: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}, Guard: guard.Options{Tokens: token.Open(t.TempDir())}})
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, "/queue", nil)
		s.routes().ServeHTTP(w, r.WithContext(caller.With(r.Context(), caller.Caller{Access: c.access})))
		if w.Code != c.want {
			t.Errorf("%q %s: %d, want %d", c.access, c.method, w.Code, c.want)
		}
	}
}

// TestDrain: a request that has begun is answered, streams end at once, and then the Service is
// closed; no connection is taken meanwhile.
func TestDrain(t *testing.T) {
	begun, release, streaming := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var stopping <-chan struct{}
	api := http.NewServeMux()
	api.HandleFunc("GET /v1/slow", func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-release
		fmt.Fprint(w, "done")
	})
	api.HandleFunc("GET /v1/stream", func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
		close(streaming)
		<-stopping
		fmt.Fprint(w, "stopping")
	})
	r := start(t, api)
	stopping = r.o.Stopping
	slow, streamed := make(chan string, 1), make(chan string, 1)
	go func() { _, body := r.get(t, "/v1/slow"); slow <- body }()
	go func() { _, body := r.get(t, "/v1/stream"); streamed <- body }()
	<-begun
	<-streaming
	r.cancel()
	if body := <-streamed; body != "stopping" {
		t.Errorf("stream: %q", body)
	}
	r.svc.mu.Lock()
	closed := r.svc.closed
	r.svc.mu.Unlock()
	if closed {
		t.Error("the Service was closed under a request")
	}
	close(release)
	if body := <-slow; body != "done" {
		t.Errorf("request: %q", body)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
	if !r.svc.closed {
		t.Error("the Service is open")
	}
	if _, err := net.DialTimeout("tcp", strings.TrimPrefix(r.url, "http://"), time.Second); err == nil {
		t.Error("somebody listens")
	}
}

func TestBackgroundEndsBeforeTheServiceIsClosed(t *testing.T) {
	svc := &service{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	s := New(Options{
		Service: svc, Listeners: socket.Listeners{TCP: []net.Listener{l}}, Guard: guard.Options{Tokens: token.Open(t.TempDir())},
		Background: func(ctx context.Context) {
			<-ctx.Done()
			svc.mu.Lock()
			defer svc.mu.Unlock()
			ended = !svc.closed
		},
	})
	s.Stop()
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !ended || !svc.closed {
		t.Errorf("ended before: %v, closed: %v", ended, svc.closed)
	}
}

func TestFailedListenerEndsTheDaemon(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	s := New(Options{Service: &service{}, Listeners: socket.Listeners{TCP: []net.Listener{l}}, Guard: guard.Options{Tokens: token.Open(t.TempDir())}})
	if err := s.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}
