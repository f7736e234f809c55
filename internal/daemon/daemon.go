// Package daemon serves a croft.Service over HTTP to programs and browsers of its user, on a
// Unix socket and, if asked, on a port of the loopback interface. It has no behaviour of its
// own: it knows a Service, and the handlers that it is given.
//
// A request goes
//
//	listener      socket: the peer's user is checked; port: 127.0.0.1 and ::1 only
//	log, metrics  one line and one count for each, with the pattern of its route
//	guard         Host, Origin, token or session, form, size: or it ends here
//	handler       /v1/ and /api/ go to Options.API, everything else to Options.Pages;
//	              /healthz, /readyz, /metrics and, on the socket, /daemon/ are the daemon's
//
// and a handler finds who calls in its context ([caller.From]), and what they may do by
// package scope. Handlers of streams end when Options.Stopping is closed.
//
// Packages below this one: guard decides about requests, keeper drives queues and keeps house,
// watcher looks at workspaces, metrics counts; rest, agents and stream are handlers, which web
// puts together. Package process is the daemon as a process of its user; package socket, which
// clients have too, has the listeners and the way to find them.
package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon/guard"
	"github.com/croft-sh/croft/internal/daemon/metrics"
	"github.com/croft-sh/croft/internal/socket"
)

const (
	// drainTime is how long requests may take to end when the daemon stops.
	drainTime = 30 * time.Second
	// arriveTime is how long a connection may then take to bring its first request.
	arriveTime = time.Second
	// strangerTime is how long after that a request may take of which nobody knows who makes it.
	strangerTime = 2 * time.Second
	// headerTime is how long a client may take to send the headers of a request.
	headerTime = 10 * time.Second
	// idleTime is how long a connection may wait for its next request.
	idleTime   = 2 * time.Minute
	maxHeaders = 32 << 10
)

// Handlers answer the requests that pass the guard. All fields may be left out.
type Handlers struct {
	// API answers /v1/ and /api/, and Pages everything else. Default: 404.
	API, Pages http.Handler
	Streams    func() int             // how many streams are open. Default: none
	Gauges     func() []metrics.Gauge // what they tell of themselves when the metrics are read
	// IsPublic, Login and Error are those of guard.Options.
	IsPublic func(path string) bool
	Login    func(w http.ResponseWriter, r *http.Request, page guard.LoginPage)
	Error    func(w http.ResponseWriter, r *http.Request, e *croft.Error)
}

// Options are what a Server needs. All but Service, Guard and Listeners may be left out.
type Options struct {
	Handlers
	Service   croft.Service // closed when the server has stopped
	Listeners socket.Listeners
	Guard     guard.Options // those of its fields that Handlers has are taken from there
	Version   string
	Log       *slog.Logger
	Metrics   *metrics.Set
	// Stopping is closed by the server when it begins to stop: handlers of streams wait for
	// it, and end.
	Stopping chan struct{}
	// MaxFiles is how many files the process may open. Default: enough.
	MaxFiles int
	// Background, if not nil, runs as long as the server does: it ends with its context. If it
	// ends before, there is no Service any more, and the server stops.
	Background func(ctx context.Context)
}

// Server is one daemon.
type Server struct {
	o       Options
	guard   *guard.Guard
	started time.Time
	stop    chan struct{} // closed by a request to stop
	stopped sync.Once
	servers []*http.Server
	limited []*limitedListener
	arrived arrivals
	isOver  atomic.Bool  // the listeners are closed on purpose
	readied atomic.Int64 // when Service last answered, for readyz

	queues queueCounts
}

// New returns a server that does not serve yet.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.New()
	}
	if o.Stopping == nil {
		o.Stopping = make(chan struct{})
	}
	if o.Streams == nil {
		o.Streams = func() int { return 0 }
	}
	if o.Guard.Log == nil {
		o.Guard.Log = o.Log
	}
	o.Guard.IsPublic, o.Guard.Login, o.Guard.Error = o.IsPublic, o.Login, o.Error
	s := &Server{o: o, guard: guard.New(o.Guard), started: time.Now(), stop: make(chan struct{})}
	s.o.Metrics.Ask(s.gauges)
	if o.Gauges != nil {
		s.o.Metrics.Ask(o.Gauges)
	}
	return s
}

// Once returns a link by which a browser logs in, or "" without a port.
func (s *Server) Once() string {
	for _, l := range s.o.Listeners.TCP {
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			return s.guard.Once(addr.Port)
		}
	}
	return ""
}

// Run serves until the context ends or a request stops the daemon. Then it takes no new
// connections, tells streams to end, waits for requests up to 30 seconds, and closes the
// Service.
func (s *Server) Run(ctx context.Context) error {
	background, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	defer stopBackground()
	var keeping sync.WaitGroup
	if s.o.Background != nil {
		keeping.Go(func() {
			s.o.Background(background)
			if background.Err() == nil {
				s.o.Log.Error("the Service was closed")
				s.Stop()
			}
		})
	}
	failed := make(chan error, len(s.o.Listeners.Unix)+len(s.o.Listeners.TCP))
	var serving sync.WaitGroup
	s.serveAll(&serving, failed)
	var err error
	select {
	case <-ctx.Done():
	case <-s.stop:
	case err = <-failed:
		s.o.Log.Error("a listener failed", "error", err.Error())
	}
	s.o.Log.Info("stopping")
	s.drain(&serving)
	stopBackground()
	keeping.Wait()
	return errors.Join(err, s.o.Service.Close())
}

// serveAll begins to serve at all listeners.
func (s *Server) serveAll(serving *sync.WaitGroup, failed chan<- error) {
	mux := s.routes()
	serve := func(l *limitedListener, h http.Handler) {
		s.limited = append(s.limited, l)
		server := s.newServer(l, h)
		s.servers = append(s.servers, server)
		serving.Go(func() {
			if err := server.Serve(l); !s.isOver.Load() {
				failed <- err
			}
		})
	}
	for _, l := range s.o.Listeners.Unix {
		c := limitConns(l, "unix", s.bound(maxUnixConns, 2*len(s.o.Listeners.Unix)), s.o.Metrics)
		serve(c, s.observe(s.guard.Unix(noting(c.admit(withOwn(mux, s.ownRoutes()))))))
	}
	for _, l := range s.o.Listeners.TCP {
		port := 0
		if addr, ok := l.Addr().(*net.TCPAddr); ok {
			port = addr.Port
		}
		c := limitConns(l, "tcp", s.bound(maxTCPConns, 4*len(s.o.Listeners.TCP)), s.o.Metrics)
		serve(c, s.observe(s.guard.TCP(port, noting(c.admit(mux)))))
	}
	s.o.Metrics.Ask(func() []metrics.Gauge { return gauges(s.limited) })
}

// bound is how many connections a listener may have: not more than a part of the files that the
// process may open, so that it can still open others.
func (s *Server) bound(most, part int) int {
	if s.o.MaxFiles > 0 {
		return min(most, s.o.MaxFiles/part)
	}
	return most
}

func (s *Server) newServer(l *limitedListener, h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaders,
		DisableGeneralOptionsHandler: true,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return withConn(s.arrived.accept(ctx, conn), conn)
		},
		ConnState: func(conn net.Conn, state http.ConnState) {
			s.arrived.change(conn, state)
			l.change(conn, state)
		},
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
	}
}

// drain ends all servers: new connections are not accepted, streams are told to end, requests
// may end by themselves for a while.
func (s *Server) drain(serving *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	close(s.o.Stopping)
	s.isOver.Store(true)
	s.o.Listeners.Close()
	serving.Wait()
	await(ctx, arriveTime, func() bool { return s.arrived.waiting.Load() == 0 })
	strangers := time.AfterFunc(strangerTime, func() {
		for _, c := range s.limited {
			c.closeStrangers()
		}
	})
	s.shutDown(ctx)
	strangers.Stop()
	// A WebSocket is no request any more.
	await(ctx, drainTime, func() bool { return s.o.Streams() == 0 })
}

// await waits for a condition, for a while.
func await(ctx context.Context, most time.Duration, is func() bool) {
	for end := time.Now().Add(most); !is() && ctx.Err() == nil && time.Now().Before(end); {
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// shutDown closes the connections of all servers, each when its request is answered.
func (s *Server) shutDown(ctx context.Context) {
	var draining sync.WaitGroup
	for _, server := range s.servers {
		draining.Go(func() {
			if err := server.Shutdown(ctx); err != nil && ctx.Err() != nil {
				s.o.Log.Warn("requests were cut off", "error", err.Error())
				_ = server.Close()
			}
		})
	}
	draining.Wait()
}

// Stop stops the daemon as a request would.
func (s *Server) Stop() { s.stopped.Do(func() { close(s.stop) }) }

// Status is what the daemon tells of itself on its socket.
type Status struct {
	PID       int       `json:"pid"`
	Version   string    `json:"version,omitempty"`
	StartedAt time.Time `json:"startedAt"`
	Sockets   []string  `json:"sockets"`
	TCP       []string  `json:"tcp"`
	Streams   int       `json:"streams"`
}

// Status returns what the daemon tells of itself.
func (s *Server) Status() Status {
	st := Status{PID: os.Getpid(), Version: s.o.Version, StartedAt: s.started.UTC().Truncate(time.Second), Sockets: []string{}, TCP: []string{}, Streams: s.o.Streams()}
	for _, l := range s.o.Listeners.Unix {
		st.Sockets = append(st.Sockets, l.Addr().String())
	}
	for _, l := range s.o.Listeners.TCP {
		st.TCP = append(st.TCP, l.Addr().String())
	}
	return st
}
