//go:build linux

package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon/process"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/socket"
)

// closing is a Service that something else closes while it is served.
type closing struct {
	croft.UnimplementedService
	isClosed atomic.Bool
}

func (s *closing) answer() error {
	if s.isClosed.Load() {
		return &croft.Error{Code: croft.Closed, Message: "the service was closed"}
	}
	return nil
}

func (s *closing) Repos(context.Context, croft.ReposRequest) (*croft.List[croft.Repo], error) {
	return &croft.List[croft.Repo]{}, s.answer()
}

func (s *closing) Merges(context.Context, croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return &croft.List[croft.Merge]{}, s.answer()
}

func (s *closing) Events(ctx context.Context, _ croft.EventsRequest) iter.Seq2[croft.Event, error] {
	return func(yield func(croft.Event, error) bool) {
		for s.answer() == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		yield(croft.Event{}, s.answer())
	}
}

func (s *closing) Close() error { return nil }

// TestClosedServiceEndsAll: a daemon whose Service was closed ends, and what runs beside the keeper
// ends with it.
func TestClosedServiceEndsAll(t *testing.T) {
	svc := &closing{}
	beside, done := make(chan struct{}), make(chan error, 1)
	ready := make(chan struct{})
	go func() {
		done <- process.Serve(t.Context(), process.Options{
			StateDir: filepath.Join(t.TempDir(), "state"),
			Open:     func(context.Context) (croft.Service, error) { return svc, nil },
			Background: func(ctx context.Context, _ croft.Service) {
				<-ctx.Done()
				close(beside)
			},
		}, func(process.Started) { close(ready) })
	}()
	late := time.After(20 * time.Second)
	for _, ended := range []<-chan struct{}{ready, beside} {
		select {
		case <-ended:
		case err := <-done:
			t.Fatalf("it ended: %v", err)
		case <-late:
			t.Fatal("what runs beside the keeper goes on without a Service")
		}
		svc.isClosed.Store(true)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-late:
		t.Fatal("the daemon goes on without a Service")
	}
}

// TestStopWithASuccessor: the one who stops a daemon does not wait for another one that a service
// manager has begun in its place, and that holds the lock by then.
func TestStopWithASuccessor(t *testing.T) {
	h := newHost(t)
	const before, after = 1 << 30, 1<<30 + 1 // no process has them
	run := socket.RunDir(h.place.StateDir)
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	path := socket.Path(h.env, h.place.StateDir)
	l, err := socket.Listen(t.Context(), path, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	lock, err := flock.Try(filepath.Join(run, "daemon.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Unlock() }()
	record := func(pid int) {
		if err := socket.WriteRecord(h.place.StateDir, socket.Record{PID: pid, Socket: path}); err != nil {
			t.Error(err)
		}
	}
	record(before)
	begun := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(process.Status{PID: before})
		close(begun)
	})}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	type answer struct {
		status *process.Status
		err    error
	}
	stopped := make(chan answer, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	go func() {
		status, err := h.place.Stop(ctx)
		stopped <- answer{status, err}
	}()
	<-begun
	select {
	case got := <-stopped:
		t.Fatalf("the daemon still holds its lock: %+v", got)
	case <-time.After(200 * time.Millisecond):
	}
	record(after)
	if got := <-stopped; got.err != nil || got.status.PID != before {
		t.Errorf("%+v", got)
	}
	if _, err := flock.Try(filepath.Join(run, "daemon.lock")); !errors.Is(err, flock.ErrHeld) {
		t.Errorf("the successor's lock: %v", err)
	}
}
