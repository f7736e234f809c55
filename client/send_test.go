package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/rest"
	"github.com/croft-sh/croft/internal/daemon/stream"
)

// slow is a Service whose calls take their time.
type slow struct {
	croft.UnimplementedService
	began    chan string
	rollback time.Duration // how long a canceled Create takes to end
	ended    atomic.Int32
	leases   atomic.Int32
	released atomic.Int32
	lease    croft.LeaseRequest
}

func (s *slow) Create(ctx context.Context, req croft.CreateRequest) (*croft.Workspace, error) {
	s.began <- req.Name
	if req.Key != "" {
		return &croft.Workspace{ID: "w", Name: req.Name}, nil
	}
	<-ctx.Done()
	time.Sleep(s.rollback)
	s.ended.Add(1)
	return nil, croft.AsError("create", ctx.Err())
}

func (s *slow) WaitMerge(ctx context.Context, _ croft.WaitRequest) (*croft.Merge, error) {
	s.began <- "wait"
	<-ctx.Done()
	return nil, croft.AsError("wait", ctx.Err())
}

func (s *slow) TakeLease(_ context.Context, req croft.LeaseRequest) (*croft.Lease, error) {
	s.lease = req
	return &croft.Lease{ID: croft.ID("l" + number(int(s.leases.Add(1))))}, nil
}

func (s *slow) Release(_ context.Context, req croft.ReleaseRequest) (*croft.Released, error) {
	if req.Lease == "l1" {
		s.released.Add(1)
	}
	return &croft.Released{Lease: req.Lease}, nil
}

func (s *slow) Repos(context.Context, croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return &croft.List[croft.Repo]{Items: []croft.Repo{}}, nil
}

// server serves a Service on a socket that it may leave and come back to.
type server struct {
	t    *testing.T
	path string
	svc  croft.Service
	http *http.Server
}

func newServer(t *testing.T, svc croft.Service) *server {
	t.Helper()
	run, err := os.MkdirTemp("", "croft") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	s := &server{t: t, path: filepath.Join(run, "s"), svc: svc}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *server) start() {
	s.t.Helper()
	h := rest.New(rest.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return s.svc, nil }, Notices: func() []string { return nil }})
	s.http = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	go func() { _ = s.http.Serve(l) }()
}

func (s *server) stop() { _ = s.http.Close() }

func (s *server) open(patience time.Duration) *client.Client {
	s.t.Helper()
	c, err := client.Open(s.t.Context(), client.Options{Socket: s.path, Patience: patience})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// TestCancelWaits: a canceled call returns when the daemon has rolled it back, not before.
func TestCancelWaits(t *testing.T) {
	svc := &slow{began: make(chan string, 1), rollback: 300 * time.Millisecond}
	c := newServer(t, svc).open(0)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-svc.began
		cancel()
	}()
	_, err := c.Create(ctx, croft.CreateRequest{Name: "a"})
	if !errors.Is(err, croft.Canceled) || svc.ended.Load() != 1 {
		t.Errorf("%v, ended %d", err, svc.ended.Load())
	}
	if _, err := c.Create(ctx, croft.CreateRequest{Name: "a"}); !errors.Is(err, croft.Canceled) {
		t.Errorf("canceled before: %v", err)
	}
}

// TestAgain: a call that reads, and one that has a key, is made again while the daemon is
// away; one without a key fails if the daemon may have seen it.
func TestAgain(t *testing.T) {
	svc := &slow{began: make(chan string, 1)}
	s := newServer(t, svc)
	c := s.open(20 * time.Second)
	failed := make(chan error)
	go func() {
		_, err := c.Create(t.Context(), croft.CreateRequest{Name: "a"})
		failed <- err
	}()
	<-svc.began
	s.stop()
	if err := <-failed; !errors.Is(err, croft.Closed) {
		t.Errorf("a call without a key: %v", err)
	}
	time.AfterFunc(200*time.Millisecond, s.start)
	if _, err := c.Repos(t.Context(), croft.ReposRequest{}); err != nil {
		t.Errorf("a call that reads: %v", err)
	}
	if w, err := c.Create(t.Context(), croft.CreateRequest{Key: "k", Name: "b"}); err != nil || w.Name != "b" {
		t.Errorf("a call with a key: %v", err)
	}
	s.stop()
	quick := s.open(-1)
	if _, err := quick.Repos(t.Context(), croft.ReposRequest{}); !errors.Is(err, croft.Closed) {
		t.Errorf("without patience: %v", err)
	}
}

// TestClose: a closed client ends what only waits, releases its leases and makes no call
// any more.
func TestClose(t *testing.T) {
	svc := &slow{began: make(chan string, 1)}
	s := newServer(t, svc)
	c := s.open(0)
	if _, err := c.TakeLease(t.Context(), croft.LeaseRequest{Workspace: "a"}); err != nil || svc.lease.Owner.PID != os.Getpid() || svc.lease.Owner.Host == "" {
		t.Errorf("%v, owned by %+v", err, svc.lease.Owner)
	}
	waited := make(chan error)
	go func() {
		_, err := c.WaitMerge(t.Context(), croft.WaitRequest{Merge: "m"})
		waited <- err
	}()
	<-svc.began
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waited; !errors.Is(err, croft.Closed) {
		t.Errorf("the wait ended with %v", err)
	}
	if svc.released.Load() != 1 {
		t.Error("the lease was not released")
	}
	if _, err := c.Repos(t.Context(), croft.ReposRequest{}); !errors.Is(err, croft.Closed) {
		t.Errorf("a closed client calls: %v", err)
	}
	for _, err := range c.Events(t.Context(), croft.EventsRequest{}) {
		if !errors.Is(err, croft.Closed) {
			t.Errorf("a closed client follows: %v", err)
		}
	}
}

// TestEventsGoOn: a stream that is cut goes on where it was, without a gap or a duplicate.
func TestEventsGoOn(t *testing.T) {
	log := &growing{more: make(chan struct{})}
	hub := stream.NewHub(log)
	run, err := os.MkdirTemp("", "croft") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(run) }()
	path := filepath.Join(run, "s")
	h := stream.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return hub, nil }, Now: hub.Now}
	var current *http.Server
	start := func() {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Error(err)
			return
		}
		current = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
		go func(s *http.Server) { _ = s.Serve(l) }(current)
	}
	start()
	defer func() { _ = current.Close() }()
	c, err := client.Open(t.Context(), client.Options{Socket: path})
	if err != nil {
		t.Fatal(err)
	}
	log.grow()
	next := 1
	for ev, err := range c.Events(t.Context(), croft.EventsRequest{Follow: croft.FollowNew}) {
		if err != nil || string(ev.Cursor) != number(next) {
			t.Fatalf("event %s, %v; want %d", ev.Cursor, err, next)
		}
		if next++; next > 100 {
			break
		}
		if next%10 == 0 {
			_ = current.Close()
			start()
		}
		log.grow()
	}
}
