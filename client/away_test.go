package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/rest"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/socket"
)

// listen serves a handler at the path of a socket, until the function that it returns is called.
func listen(t *testing.T, path string, h http.Handler) func() {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Error(err)
		return func() {}
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	return sync.OnceFunc(func() { _ = s.Close() })
}

// shortDir returns a directory whose path leaves room for that of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "croft") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// serve serves a handler until the test ends, and returns a client of it.
func serve(t *testing.T, patience time.Duration, h http.Handler) *client.Client {
	t.Helper()
	path := filepath.Join(shortDir(t), "s")
	t.Cleanup(listen(t, path, h))
	c, err := client.Open(t.Context(), client.Options{Socket: path, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestQuietStreamGoesOn: a stream goes on after a restart of the daemon also if its last event
// is longer ago than the client's patience.
func TestQuietStreamGoesOn(t *testing.T) {
	log := &growing{more: make(chan struct{})}
	hub := stream.NewHub(log)
	h := stream.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return hub, nil }, Now: hub.Now}
	path := filepath.Join(shortDir(t), "s")
	stop := listen(t, path, h)
	const patience = 300 * time.Millisecond
	c, err := client.Open(t.Context(), client.Options{Socket: path, Patience: patience})
	if err != nil {
		t.Fatal(err)
	}
	log.grow()
	restarted := make(chan func(), 1)
	time.AfterFunc(3*patience, func() {
		stop()
		time.Sleep(patience / 3)
		restarted <- listen(t, path, h)
		log.grow()
	})
	for ev, err := range c.Events(t.Context(), croft.EventsRequest{After: "1", Follow: croft.FollowNew}) {
		if err != nil || ev.Cursor != "2" {
			t.Errorf("event %q, %v", ev.Cursor, err)
		}
		break
	}
	(<-restarted)()
}

// answers is a handler of events that gives one answer after the other, and the last one from
// then on.
type answers struct {
	list  []func(http.ResponseWriter)
	asked atomic.Int32
}

func (a *answers) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := int(a.asked.Add(1)) - 1
	a.list[min(n, len(a.list)-1)](w)
}

func status(code croft.Code) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { api.WriteError(w, "events", &croft.Error{Code: code, Message: "no"}) }
}

func messages(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { _, _ = fmt.Fprint(w, text) }
}

// TestRefusedStream: a stream that the daemon refuses ends with the reason of that; one that it
// cut, and one that a daemon refuses because it stops, goes on.
func TestRefusedStream(t *testing.T) {
	event := messages("id: 1\nevent: merge.changed\ndata: {\"cursor\":\"1\"}\n\nevent: end\ndata: {}\n\n")
	cut := messages("id: 0\n\nevent: error\ndata: {\"code\":\"LIMIT_REACHED\",\"message\":\"too slow\"}\n\n")
	for _, c := range []struct {
		name string
		list []func(http.ResponseWriter)
		want croft.Code
	}{
		{"too many streams", []func(http.ResponseWriter){status(croft.LimitReached), event}, croft.LimitReached},
		{"expired", []func(http.ResponseWriter){status(croft.CursorExpired), event}, croft.CursorExpired},
		{"cut", []func(http.ResponseWriter){cut, event}, ""},
		{"cut, then too many streams", []func(http.ResponseWriter){cut, status(croft.LimitReached), event}, croft.LimitReached},
		{"stops", []func(http.ResponseWriter){status(croft.Closed), event}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			svc := serve(t, 20*time.Second, &answers{list: c.list})
			n := 0
			var failed error
			for _, err := range svc.Events(t.Context(), croft.EventsRequest{Follow: croft.FollowNew}) {
				if failed = err; err == nil {
					n++
				}
			}
			if c.want == "" && (failed != nil || n != 1) || c.want != "" && !errors.Is(failed, c.want) {
				t.Errorf("%d events, %v", n, failed)
			}
		})
	}
}

// TestCloseWithoutDaemon: a client that holds many leases asks a daemon that is gone once, not
// once for each lease.
func TestCloseWithoutDaemon(t *testing.T) {
	svc := &slow{began: make(chan string, 1)}
	s := newServer(t, svc)
	const patience = 300 * time.Millisecond
	c := s.open(patience)
	for range 20 {
		if _, err := c.TakeLease(t.Context(), croft.LeaseRequest{Workspace: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	s.stop()
	begun := time.Now()
	if err := c.Close(); !errors.Is(err, croft.Closed) {
		t.Errorf("closed with %v", err)
	}
	if took := time.Since(begun); took > 10*patience {
		t.Errorf("it took %s", took)
	}
}

// TestAboutFails: that no daemon answers is an error with a code, and keeps what the system said.
func TestAboutFails(t *testing.T) {
	c, err := client.Open(t.Context(), client.Options{Socket: filepath.Join(shortDir(t), "none")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.About(t.Context())
	var failure *croft.Error
	if !errors.As(err, &failure) || failure.Code != croft.DaemonUnreachable || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%T %v", err, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.About(ctx); !errors.Is(err, croft.Canceled) {
		t.Errorf("canceled: %T %v", err, err)
	}
}

// TestDialAgain: a call that the daemon cannot have seen is made again, also if the function that
// connects says so by an error of its own.
func TestDialAgain(t *testing.T) {
	path := newServer(t, &slow{began: make(chan string, 1)}).path
	tries := 0
	dial := func(ctx context.Context) (net.Conn, error) {
		if tries++; tries < 4 {
			return nil, &croft.Error{Code: croft.DaemonUnreachable, Op: "connect", Message: "no daemon answers"}
		}
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	c, err := client.Open(t.Context(), client.Options{Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Release(t.Context(), croft.ReleaseRequest{Lease: "l"}); err != nil {
		t.Error(err)
	}
	denied := func(context.Context) (net.Conn, error) {
		tries++
		return nil, &croft.Error{Code: croft.AccessDenied, Op: "connect", Message: "another user"}
	}
	tries = 0
	if c, err = client.Open(t.Context(), client.Options{Dial: denied}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Repos(t.Context(), croft.ReposRequest{}); !errors.Is(err, croft.AccessDenied) || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
	tries = 0
	for _, err := range c.Events(t.Context(), croft.EventsRequest{}) {
		if failure, ok := err.(*croft.Error); !ok || failure.Code != croft.AccessDenied || tries != 1 { //nolint:errorlint // what leaves the module is a *croft.Error
			t.Errorf("%T %v after %d tries", err, err, tries)
		}
	}
}

// TestSlowDial: attempts to connect that take long and fail do not use up more than the patience.
func TestSlowDial(t *testing.T) {
	tries := 0
	dial := func(context.Context) (net.Conn, error) {
		if tries++; tries > 2 {
			return nil, &croft.Error{Code: croft.AccessDenied, Message: "enough"}
		}
		time.Sleep(1100 * time.Millisecond) // a network that drops packets
		return nil, os.ErrDeadlineExceeded
	}
	c, err := client.Open(t.Context(), client.Options{Dial: dial, Patience: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Repos(t.Context(), croft.ReposRequest{}); !errors.Is(err, croft.Closed) || tries != 1 {
		t.Errorf("%v after %d tries", err, tries)
	}
}

// TestLongSocketPath: the path of a socket may be longer than the kernel takes, as where connect
// finds one.
func TestLongSocketPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := socket.Listen(t.Context(), filepath.Join(dir, "s"), nil)
	if errors.Is(err, croft.Unsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	h := rest.New(rest.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return &slow{}, nil }, Notices: func() []string { return nil }})
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	c, err := client.Open(t.Context(), client.Options{Socket: filepath.Join(dir, "s"), Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Repos(t.Context(), croft.ReposRequest{}); err != nil {
		t.Error(err)
	}
}

// TestCancelIsRepeated: a cancel that overtakes its call is sent again until the daemon knows the
// call.
func TestCancelIsRepeated(t *testing.T) {
	svc := &slow{began: make(chan string, 1)}
	h := rest.New(rest.Options{ServiceFor: func(caller.Caller) (croft.Service, error) { return svc, nil }, Notices: func() []string { return nil }})
	var cancels atomic.Int32
	isOn := make(chan struct{}) // closed when the call may go on to the Service
	arrived := make(chan struct{})
	c := serve(t, 0, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodDelete {
			close(arrived)
			<-isOn
			h.ServeHTTP(w, r)
			return
		}
		switch n := cancels.Add(1); {
		case n == 3:
			close(isOn)
			fallthrough
		case n < 3:
			w.WriteHeader(http.StatusNotFound)
		default:
			<-svc.began
			svc.began <- ""
			h.ServeHTTP(w, r)
		}
	}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	begun := time.Now()
	_, err := c.Create(ctx, croft.CreateRequest{Name: "a"})
	if !errors.Is(err, croft.Canceled) || svc.ended.Load() != 1 || cancels.Load() != 4 {
		t.Errorf("%v, ended %d, %d cancels", err, svc.ended.Load(), cancels.Load())
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
