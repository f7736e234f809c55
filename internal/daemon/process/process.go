// Package process is the daemon as a process of its user: one for each state directory, found
// by its socket, started by hand, in the background or by a service manager, and asked about
// itself and stopped over its socket.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/daemon"
	"github.com/croft-sh/croft/internal/daemon/guard"
	"github.com/croft-sh/croft/internal/daemon/keeper"
	"github.com/croft-sh/croft/internal/daemon/metrics"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/socket"
	"github.com/croft-sh/croft/internal/token"
)

// Options are those of one daemon.
type Options struct {
	StateDir string   // required
	Environ  []string // for the place of the socket, and the sockets of a service manager
	TCP      []string // addresses of the loopback interface to listen at as well
	User     string   // the name of the user, for the history
	Version  string
	Log      *slog.Logger
	// Open opens the Service that is served. Required.
	Open func(ctx context.Context) (croft.Service, error)
	// Web makes the handlers for a Service. Streams end when stopping is closed. Default: none.
	Web func(svc croft.Service, stopping <-chan struct{}) daemon.Handlers
	// Background, if not nil, runs beside the keeper while the daemon serves: it ends with its
	// context.
	Background func(ctx context.Context, svc croft.Service)
	// Times are the intervals of what the daemon does by itself. Default: those of keeper.Options.
	Times keeper.Times
	// IsUpkeepDue is that of keeper.Options.
	IsUpkeepDue func(repo croft.Repo) bool
	// Settle is that of keeper.Options, for the Service that is served.
	Settle func(ctx context.Context, svc croft.Service, ws croft.Workspace) error
	// Restock is that of keeper.Options.
	Restock func(repo croft.Repo) error
}

// Status is what a daemon tells of itself.
type Status = daemon.Status

// Started is a daemon that has begun to serve.
type Started struct {
	Status
	Once func() string // makes a link to log in with; "" without a port
}

// Serve runs the daemon until the context ends, or a request stops it. It calls ready when it
// listens. It fails with DaemonRunning if the state directory has a daemon already.
func Serve(ctx context.Context, o Options, ready func(Started)) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	lock, err := lockPatiently(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	listeners, path, err := listen(ctx, o)
	if err != nil {
		return err
	}
	svc, err := o.Open(ctx)
	if err != nil {
		listeners.Close()
		return err
	}
	server := newServer(o, svc, listeners)
	started := Started{Status: server.Status(), Once: server.Once}
	record := socket.Record{PID: os.Getpid(), Version: o.Version, Socket: path, TCP: started.TCP, StartedAt: started.StartedAt}
	if err := socket.WriteRecord(o.StateDir, record); err != nil {
		listeners.Close()
		return errors.Join(&croft.Error{Code: croft.StateUnavailable, Op: "serve", Message: "where the daemon listens cannot be written", Err: err}, svc.Close())
	}
	defer socket.RemoveRecord(o.StateDir)
	o.Log.Info("serving", "pid", os.Getpid(), "socket", path, "tcp", started.TCP, "version", o.Version)
	if ready != nil {
		ready(started)
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	go watchState(watching, o, lock, server)
	err = server.Run(ctx)
	o.Log.Info("stopped")
	return err
}

// watchTime is how often a daemon looks whether its state is still there.
const watchTime = 5 * time.Second

// watchState stops a daemon whose state directory was removed, by croft uninstall or by hand:
// nothing that it does would be found again.
func watchState(ctx context.Context, o Options, lock *flock.Lock, server *daemon.Server) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchTime):
		}
		if !lock.IsAt(lockPath(o.StateDir)) && ctx.Err() == nil {
			o.Log.Error("the state directory is gone", "dir", o.StateDir)
			server.Stop()
			return
		}
	}
}

func lockPath(stateDir string) string { return filepath.Join(socket.RunDir(stateDir), "daemon.lock") }

// lockState makes this process the one daemon of a state directory. tcp has the addresses that it
// is to listen at, for the error.
func lockState(stateDir string, tcp []string) (*flock.Lock, error) {
	run := socket.RunDir(stateDir)
	if err := os.MkdirAll(run, 0o700); err != nil {
		return nil, &croft.Error{Code: croft.StateUnavailable, Op: "serve", Message: "the state directory cannot be written", Details: run, Err: err}
	}
	lock, err := flock.Try(lockPath(stateDir))
	if errors.Is(err, flock.ErrHeld) {
		r, _ := socket.ReadRecord(stateDir) // it may have just begun
		return nil, RunningError(Status{PID: r.PID, Sockets: []string{r.Socket}, TCP: r.TCP}, tcp)
	}
	if err != nil {
		return nil, &croft.Error{Code: croft.StateUnavailable, Op: "serve", Message: "the lock of the daemon cannot be taken", Err: err}
	}
	return lock, nil
}

// endTime is how long a daemon that was killed may take to let go of its lock.
const endTime = 2 * time.Second

// lockPatiently takes the lock of a state directory. One that a process holds which does not
// answer is waited for: after kill -9 the kernel takes a moment to end it.
func lockPatiently(ctx context.Context, o Options) (*flock.Lock, error) {
	for end := time.Now().Add(endTime); ; {
		lock, err := lockState(o.StateDir, o.TCP)
		if !errors.Is(err, croft.DaemonRunning) || time.Now().After(end) {
			return lock, err
		}
		place := Place{StateDir: o.StateDir, Environ: o.Environ}
		asking, cancel := context.WithTimeout(ctx, endTime)
		_, answer := place.Status(asking)
		if cancel(); answer == nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, croft.AsError("serve", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// RunningError says that a daemon runs already; its PID is 0 if that is not known. If ports were
// asked for and the daemon has none, the hint says how it gets one.
func RunningError(running Status, tcp []string) error {
	e := &croft.Error{
		Code: croft.DaemonRunning, Op: "serve", Message: "a daemon runs already", Details: strings.Join(running.Sockets, "\n"), Hint: "croft serve --status",
	}
	if running.PID == 0 {
		return e
	}
	e.Message += fmt.Sprintf(", as process %d", running.PID)
	if len(tcp) > 0 && len(running.TCP) == 0 {
		e.Message += ", without a port for browsers"
		e.Hint = "croft serve --stop, then croft serve --detach --tcp=" + shellword.Quote(tcp[0])
	}
	return e
}

// listen takes the sockets of a service manager, or makes the daemon's own, and listens at the
// ports that are asked for. It returns the path of the socket, too.
func listen(ctx context.Context, o Options) (socket.Listeners, string, error) {
	refused := func(err error) { o.Log.Warn("a connection was refused", "why", croft.AsError("serve", err).Message) }
	all, err := socket.FromManager(o.Environ, os.Getpid(), refused)
	if err != nil {
		return socket.Listeners{}, "", err
	}
	undo := func(err error) (socket.Listeners, string, error) {
		all.Close()
		return socket.Listeners{}, "", err
	}
	var path string
	if len(all.Unix) == 0 {
		path = socket.Path(o.Environ, o.StateDir)
		l, err := socket.Listen(ctx, path, refused)
		if err != nil {
			return undo(err)
		}
		all.Unix = append(all.Unix, l)
	} else {
		path = all.Unix[0].Addr().String()
	}
	for _, addr := range o.TCP {
		l, err := socket.ListenTCP(addr)
		if err != nil {
			return undo(err)
		}
		all.TCP = append(all.TCP, l)
	}
	return all, path, nil
}

// newServer puts the server together.
func newServer(o Options, svc croft.Service, listeners socket.Listeners) *daemon.Server {
	stopping := make(chan struct{})
	var web daemon.Handlers
	if o.Web != nil {
		web = o.Web(svc, stopping)
	}
	set := metrics.New()
	var settle func(context.Context, croft.Workspace) error
	if o.Settle != nil {
		settle = func(ctx context.Context, ws croft.Workspace) error { return o.Settle(ctx, svc, ws) }
	}
	keeping := keeper.New(keeper.Options{Service: svc, Log: o.Log, Metrics: set, Times: o.Times, IsUpkeepDue: o.IsUpkeepDue, Settle: settle, Restock: o.Restock})
	background := func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var beside sync.WaitGroup
		if o.Background != nil {
			beside.Go(func() { o.Background(ctx, svc) })
		}
		keeping.Run(ctx)
		cancel() // the Service may be closed
		beside.Wait()
	}
	return daemon.New(daemon.Options{
		Handlers: web, Service: svc, Listeners: listeners, Version: o.Version, Log: o.Log, Metrics: set,
		Stopping: stopping, Background: background, MaxFiles: maxFiles(),
		Guard: guard.Options{Tokens: token.Open(o.StateDir), User: o.User, Log: o.Log},
	})
}

// answerTime is how long a daemon may take to answer about itself.
const answerTime = 10 * time.Second
