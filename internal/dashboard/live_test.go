package dashboard_test

import (
	"bufio"
	"context"
	"html"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/dashboard"
)

// counting is a Service that counts its tails of events.
type counting struct {
	croft.Service
	tails, most atomic.Int32
}

func (c *counting) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		c.most.Store(max(c.most.Load(), c.tails.Add(1)))
		defer c.tails.Add(-1)
		for e, err := range c.Service.Events(ctx, req) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// stream is a stream of a page, read line by line.
type stream struct {
	lines  chan string
	cancel context.CancelFunc
}

func (s *site) listen(page string) *stream {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	body := s.get(page)
	_, rest, ok := strings.Cut(body, `data-events="`)
	if !ok {
		s.t.Fatalf("%s is not live", page)
	}
	address, _, _ := strings.Cut(rest, `"`)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+html.UnescapeString(address), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		s.t.Fatalf("the stream: %s", resp.Status)
	}
	st := &stream{lines: make(chan string, 10_000), cancel: cancel}
	go func() {
		defer resp.Body.Close()
		defer close(st.lines)
		scan := bufio.NewScanner(resp.Body)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			st.lines <- scan.Text()
		}
	}()
	s.t.Cleanup(cancel)
	return st
}

// waitFor waits for a line with a text.
func (st *stream) waitFor(t testing.TB, text string) {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case line, ok := <-st.lines:
			if !ok {
				t.Fatalf("the stream ended before %q", text)
			}
			if strings.Contains(line, text) {
				return
			}
		case <-limit:
			t.Fatalf("the stream never said %q", text)
		}
	}
}

// TestStream: many readers are served by one tail, each sees what changed, and nothing is left when
// they have gone.
func TestStream(t *testing.T) {
	s := newSite(t)
	svc := &counting{Service: s.svc}
	s.serve(dashboard.New(svc, dashboard.Options{}))
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	s.get("/")
	before := runtime.NumGoroutine()
	var all []*stream
	for i := range 20 {
		all = append(all, s.listen([]string{"/", "/queue", s.at(ws, ""), "/history"}[i%4]))
	}
	for _, st := range all {
		st.waitFor(t, "event: element")
	}
	if _, err := s.svc.Lock(t.Context(), croft.LockRequest{Workspace: croft.ByID(ws.ID), Reason: "a demo"}); err != nil {
		t.Fatal(err)
	}
	all[0].waitFor(t, "a demo")
	all[2].waitFor(t, "locked")
	all[4].waitFor(t, "a demo")
	if n := svc.most.Load(); n != 1 {
		t.Errorf("%d tails at a time", n)
	}
	for _, st := range all {
		st.cancel()
	}
	deadline := time.Now().Add(20 * time.Second)
	for svc.tails.Load() > 0 || runtime.NumGoroutine() > before+8 {
		if time.Now().After(deadline) {
			t.Fatalf("%d tails and %d goroutines more are left", svc.tails.Load(), runtime.NumGoroutine()-before)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestReload: a page that cannot be updated by its parts is loaded again.
func TestReload(t *testing.T) {
	s := newSite(t)
	st := s.listen("/")
	st.waitFor(t, "event: element")
	s.make("first", nil)
	st.waitFor(t, "event: reload")
}
