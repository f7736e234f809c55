package stream_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/stream"
)

// log is a Service with events that a test adds. Events before the cursor "first" are not
// kept.
type log struct {
	croft.UnimplementedService
	mu      sync.Mutex
	events  []croft.Event
	first   int
	changed chan struct{}
	tails   int // that follow now
	most    int
}

func newLog() *log { return &log{changed: make(chan struct{})} }

func (l *log) add(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, croft.Event{Cursor: croft.Cursor(strconv.Itoa(len(l.events) + 1)), Kind: kind})
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *log) Sessions(context.Context, croft.SessionsRequest) (*croft.List[croft.Session], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &croft.List[croft.Session]{Cursor: croft.Cursor(strconv.Itoa(len(l.events)))}, nil
}

func (l *log) Events(ctx context.Context, req croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		at, _ := strconv.Atoi(string(req.After))
		if req.Follow == croft.FollowNew {
			l.mu.Lock()
			l.tails++
			l.most = max(l.most, l.tails)
			l.mu.Unlock()
			defer func() {
				l.mu.Lock()
				l.tails--
				l.mu.Unlock()
			}()
		}
		for {
			l.mu.Lock()
			if at < l.first && req.After != "" {
				l.mu.Unlock()
				yield(croft.Event{}, &croft.Error{Code: croft.CursorExpired, Message: "gone"})
				return
			}
			list, changed := l.events[at:], l.changed
			at = len(l.events)
			l.mu.Unlock()
			for _, ev := range list {
				if (len(req.Kinds) == 0 || req.Kinds[0] == ev.Kind) && !yield(ev, nil) {
					return
				}
			}
			if req.Follow == croft.FollowNone {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}

// TestNoGapNoDuplicate: readers that come and go while events happen see each of them
// once, in order, and all readers cost one tail.
func TestNoGapNoDuplicate(t *testing.T) {
	const events = 3000
	l := newLog()
	hub := stream.NewHub(l)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			next := 1
			for next <= events {
				ctx, cancel := context.WithCancel(t.Context())
				seen := 0
				for ev, err := range hub.Events(ctx, croft.EventsRequest{After: croft.Cursor(strconv.Itoa(next - 1)), Follow: croft.FollowNew}) {
					if err != nil {
						break // too slow: it goes on from its cursor
					}
					if string(ev.Cursor) != strconv.Itoa(next) {
						t.Errorf("event %s after %d", ev.Cursor, next-1)
						cancel()
						return
					}
					next++
					if seen++; seen == 100 || next > events {
						break // the reader comes again
					}
				}
				cancel()
			}
		})
	}
	for i := range events {
		if l.add("k"); i%50 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	wg.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.most > 2 { // one ends while the next begins
		t.Errorf("there were %d tails at once", l.most)
	}
}

// TestSlowReader: a reader that does not read is cut, and the others do not wait for it.
func TestSlowReader(t *testing.T) {
	l := newLog()
	hub := stream.NewHub(l)
	slow := make(chan error, 1)
	release := make(chan struct{})
	go func() {
		var last error
		for _, err := range hub.Events(t.Context(), croft.EventsRequest{From: croft.FromNow, Follow: croft.FollowNew}) {
			<-release
			last = err
		}
		slow <- last
	}()
	for hub.Stats().Readers == 0 {
		time.Sleep(time.Millisecond)
	}
	quick := make(chan int)
	go func() {
		n := 0
		for range hub.Events(t.Context(), croft.EventsRequest{From: croft.FromNow, Follow: croft.FollowNew}) {
			if n++; n == 5000 {
				break
			}
		}
		quick <- n
	}()
	for hub.Stats().Readers < 2 {
		time.Sleep(time.Millisecond)
	}
	for i := range 5000 {
		if l.add("k"); i%100 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	select {
	case <-quick:
	case <-time.After(20 * time.Second):
		t.Fatal("the others wait")
	}
	close(release)
	select {
	case err := <-slow:
		if croft.AsError("", err).Code != croft.LimitReached {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the slow reader was not cut")
	}
	if s := hub.Stats(); s.Cut != 1 {
		t.Errorf("%+v", s)
	}
}

// TestTailEnds: nobody follows when nobody reads.
func TestTailEnds(t *testing.T) {
	l := newLog()
	hub := stream.NewHub(l)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	for _, err := range hub.Events(ctx, croft.EventsRequest{Follow: croft.FollowNew}) {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tails != 0 || l.most != 1 {
		t.Errorf("%d tails, %d at most", l.tails, l.most)
	}
}

// serve serves the events of a log.
func serve(t *testing.T, l *log, stopping <-chan struct{}) string {
	t.Helper()
	hub := stream.NewHub(l)
	server := httptest.NewServer(stream.Options{
		ServiceFor: func(caller.Caller) (croft.Service, error) { return hub, nil }, Now: hub.Now, Stopping: stopping, Beat: 50 * time.Millisecond,
	})
	t.Cleanup(server.Close)
	return server.URL
}

// get opens a stream.
func get(t *testing.T, url, last string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// TestServerSentEvents: a stream has ids, kinds and data, goes on after Last-Event-ID, shows
// that it is alive, and ends when the daemon stops.
func TestServerSentEvents(t *testing.T) {
	l := newLog()
	l.add("a")
	l.add("b")
	stopping := make(chan struct{})
	response := get(t, serve(t, l, stopping), "1")
	var got []string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		got = append(got, lines.Text())
		switch lines.Text() {
		case "id: 2":
			l.add("c")
		case "id: 3":
			time.AfterFunc(200*time.Millisecond, func() { close(stopping) })
		}
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"retry: 1000\nid: 1\n\nid: 2\nevent: b\ndata: {\"cursor\":\"2\"", "id: 3\nevent: c\n", ": alive\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "id: 1\nevent") || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v\n%s", response.Header, text)
	}
}

// TestProgress: a reader who wants few events is told how far the stream has come, so that it
// does not go on from an event that is not kept any more.
func TestProgress(t *testing.T) {
	l := newLog()
	response := get(t, serve(t, l, nil)+"?kinds=b", "")
	l.add("a")
	l.add("a")
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		switch {
		case strings.HasPrefix(lines.Text(), "event: a"):
			t.Fatal("it does not want that")
		case lines.Text() == "id: 2":
			return
		}
	}
	t.Error("it ended")
}

// TestExpired: a cursor that is not kept any more is the status 410.
func TestExpired(t *testing.T) {
	l := newLog()
	for range 5 {
		l.add("a")
	}
	l.first = 3
	url := serve(t, l, nil)
	if r := get(t, url+"?after=1", ""); r.StatusCode != http.StatusGone {
		t.Errorf("after=1: %s", r.Status)
	}
	if r := get(t, url, "2"); r.StatusCode != http.StatusGone {
		t.Errorf("Last-Event-ID: %s", r.Status)
	}
	if r := get(t, url+"?follow=sometimes", ""); r.StatusCode != http.StatusBadRequest {
		t.Errorf("follow=sometimes: %s", r.Status)
	}
	r := get(t, url+"?after=3&follow=none", "")
	lines := bufio.NewScanner(r.Body)
	var text strings.Builder
	for lines.Scan() {
		fmt.Fprintln(&text, lines.Text())
	}
	if !strings.HasSuffix(text.String(), "event: end\ndata: {}\n\n") || strings.Count(text.String(), "event: a\n") != 2 {
		t.Errorf("%s", text.String())
	}
}
