package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/guard"
	"github.com/croft-sh/croft/internal/daemon/metrics"
	"github.com/croft-sh/croft/internal/token"
)

// TestCallsAtWorkAreNotCutOff: for a new connection none is closed on which a call of a known
// caller is at work, whoever knocks: the call would act, and its caller would not learn of it.
func TestCallsAtWorkAreNotCutOff(t *testing.T) {
	entered, end := make(chan struct{}, 10), make(chan struct{})
	r := startWith(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-end
		w.WriteHeader(http.StatusOK)
	}), 40) // ten connections
	var asking sync.WaitGroup
	for range 10 {
		asking.Go(func() {
			if status, _ := r.fresh(t, "/v1/merges/x/wait", r.token); status != http.StatusOK {
				t.Errorf("the answer is %d", status)
			}
		})
		<-entered
	}
	for range 20 {
		conn, err := net.DialTimeout("tcp", strings.TrimPrefix(r.url, "http://"), 5*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
		if n, err := conn.Read(make([]byte, 1)); err == nil {
			t.Errorf("%d bytes came", n)
		} else if e, ok := err.(net.Error); ok && e.Timeout() { //nolint:errorlint // Read returns it as it is
			t.Error("a connection came in although calls are at work on all")
			break
		}
	}
	close(end)
	asking.Wait()
}

// TestSharesAreGivenBack: a token whose requests have ended has its share again, also if a handler
// of one panicked.
func TestSharesAreGivenBack(t *testing.T) {
	r := startWith(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/v1/defect" {
			panic("a defect")
		}
		w.WriteHeader(http.StatusOK)
	}), 40) // ten connections, of which a token has two
	_, secret, err := r.tokens.Make(t.Context(), token.Request{Name: "agent", Access: croft.AccessWorkspace, Workspace: "ws"})
	if err != nil {
		t.Fatal(err)
	}
	for n, path := range []string{"/v1/defect", "/v1/x", "/v1/defect", "/v1/x", "/v1/defect", "/v1/x"} {
		want := []int{http.StatusInternalServerError, http.StatusOK}[n%2]
		if status, _ := r.fresh(t, path, secret); status != want {
			t.Errorf("request %d: the answer is %d, not %d", n, status, want)
		}
	}
}

// TestCrowdOrder: of strangers the oldest goes first; a connection of a known caller goes once it
// waits for a request and no stranger is left; a request of nobody makes nobody known.
func TestCrowdOrder(t *testing.T) {
	c := limitConns(nil, "tcp", 2, metrics.New())
	join := func() (m, closed *limitedConn) {
		m = &limitedConn{of: c}
		time.Sleep(time.Millisecond) // the clock goes on
		closed, _ = c.join(m)
		return m, closed
	}
	serve := func(m *limitedConn, by caller.Caller, during func()) {
		r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
		h := c.admit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { during() }))
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(withConn(caller.With(t.Context(), by), m)))
	}
	user := caller.Caller{Access: croft.AccessAll}
	first, _ := join()
	second, _ := join()
	third, closed := join()
	if closed != first {
		t.Error("not the oldest of strangers was closed")
	}
	serve(third, user, func() {
		if _, closed = join(); closed != second {
			t.Error("a connection at work was closed")
		}
	})
	c.change(third, http.StateIdle) // it is the oldest now
	fourth, closed := join()
	if closed == third {
		t.Error("a known caller was closed rather than a stranger")
	}
	serve(fourth, caller.Caller{}, func() {})
	c.change(fourth, http.StateIdle)
	if _, closed = join(); closed != fourth {
		t.Error("who read what is public counts as known")
	}
	for m := range c.conns {
		serve(m, user, func() {})
	}
	if fifth, closed := join(); closed != fifth {
		t.Error("a connection at work was closed")
	}
	c.change(third, http.StateIdle)
	if _, closed = join(); closed != third {
		t.Error("a connection that waits for a request is not closed for a new one")
	}
}

// TestOwnRoutesAreOnTheSocket: over TCP no token stops the daemon or makes a login link.
func TestOwnRoutesAreOnTheSocket(t *testing.T) {
	r := start(t, nil)
	for _, call := range []string{"GET status", "POST stop", "POST once"} {
		method, name, _ := strings.Cut(call, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, r.url+"/daemon/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", call, res.StatusCode)
		}
	}
	if status, _ := r.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("the answer is %d", status)
	}
}

// TestMetricsAreNotForAgents: they tell of all projects.
func TestMetricsAreNotForAgents(t *testing.T) {
	s := New(Options{Service: &service{}, Guard: guard.Options{Tokens: token.Open(t.TempDir())}})
	for access, want := range map[croft.Access]int{croft.AccessAll: 200, croft.AccessRead: 200, croft.AccessWorkspace: 403, "": 403} {
		w := httptest.NewRecorder()
		s.routes().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil).WithContext(caller.With(t.Context(), caller.Caller{Access: access})))
		if w.Code != want {
			t.Errorf("%q: %d", access, w.Code)
		}
	}
}

// TestArrivedBeforeTheStop: a request on a connection that was open before the daemon began to stop
// is answered.
func TestArrivedBeforeTheStop(t *testing.T) {
	r := start(t, nil)
	address := strings.TrimPrefix(r.url, "http://")
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	await(t.Context(), 5*time.Second, func() bool { return r.arrived.waiting.Load() == 1 })
	r.cancel()
	<-r.o.Stopping
	await(t.Context(), 200*time.Millisecond, func() bool { return false }) // a request takes so long on its way
	fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", address)
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		t.Errorf("%q, %v", answer, err)
	}
	if err := r.wait(t); err != nil {
		t.Error(err)
	}
}

// TestStopWaitsForStreams: a WebSocket is no request of the server's any more, and its Service is
// not closed before it has ended.
func TestStopWaitsForStreams(t *testing.T) {
	svc := &service{}
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := New(Options{Service: svc, Guard: guard.Options{Tokens: token.Open(t.TempDir())}, Handlers: Handlers{Streams: func() int {
		svc.mu.Lock()
		defer svc.mu.Unlock()
		if asked++; svc.closed {
			t.Error("the Service was closed")
		}
		return max(0, 3-asked)
	}}})
	if err := s.Run(ctx); err != nil || asked < 3 || !svc.closed {
		t.Errorf("%v, asked %d times", err, asked)
	}
}

// TestBrokenOff: an answer that a handler breaks off does not look whole to its reader.
func TestBrokenOff(t *testing.T) {
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("a part"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/log", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("%q looks whole", text)
	}
}
