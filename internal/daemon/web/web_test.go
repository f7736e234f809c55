package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/daemon/web"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestStreamsEnd: the streams of the API and of pages are counted, and end when the daemon
// stops. One whose reader would not be let in any more ends before.
func TestStreamsEnd(t *testing.T) {
	repo := gittest.New(t)
	e, err := engine.Open(t.Context(), repo.Dir, &engine.Options{Environ: repo.Env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if _, err := e.Create(t.Context(), croft.CreateRequest{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	stopping := make(chan struct{})
	var isRevoked atomic.Bool
	h := web.New(stream.NewHub(e), web.Options{Stopping: stopping, Document: []byte("{}")})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(caller.With(r.Context(), caller.Caller{Access: croft.AccessAll, Name: "ada", Form: "f"}))
		if r.URL.Query().Has("token") {
			r = r.WithContext(caller.With(r.Context(), caller.Caller{Access: croft.AccessAll, Token: "t1"}))
			r.URL.RawQuery = ""
		}
		if r.URL.Query().Has("revoked") {
			r = r.WithContext(caller.WithValidity(r.Context(), func() bool { return !isRevoked.Load() }))
			r.URL.RawQuery = ""
		}
		if strings.HasPrefix(r.URL.Path, "/v1/") || strings.HasPrefix(r.URL.Path, "/api/") {
			h.API.ServeHTTP(w, r)
			return
		}
		h.Pages.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	revoked, err := http.Get(server.URL + "/v1/events?revoked")
	if err != nil {
		t.Fatal(err)
	}
	defer revoked.Body.Close()
	isRevoked.Store(true)
	late := time.AfterFunc(20*time.Second, func() {
		t.Error("a stream whose token was revoked goes on")
		server.CloseClientConnections()
	})
	_, _ = io.Copy(io.Discard, revoked.Body) // it ends, in whichever way
	late.Stop()
	for n := range 102 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/events?token", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if want := map[bool]int{true: http.StatusOK, false: http.StatusTooManyRequests}[n < 100]; response.StatusCode != want {
			t.Fatalf("stream %d of a token: %s", n, response.Status)
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) { // readers follow a moment after their answer begins
		if told := h.Gauges(); told[0].Name == "croft_event_readers" && told[0].Value >= 100 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("%+v", told)
		}
	}
	before := h.Streams()
	ended := make(chan error, 2)
	for _, path := range []string{"/v1/events", "/live?page=%2F"} {
		response, err := http.Get(server.URL + path)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %v", path, response, err)
		}
		go func() {
			defer response.Body.Close()
			_, err := io.Copy(io.Discard, response.Body)
			ended <- err
		}()
	}
	if n := h.Streams() - before; n != 2 {
		t.Errorf("%d streams are open", n)
	}
	close(stopping)
	for range 2 {
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("a stream does not end")
		}
	}
	for deadline := time.Now().Add(10 * time.Second); h.Streams() != 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d streams are open", h.Streams())
		}
	}
}
