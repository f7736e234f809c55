// Package connect opens the best Service there is: that of the daemon where one runs, and
// otherwise an engine in this process. Both do the same, and both may work at the same time.
package connect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
	"github.com/croft-sh/croft/docs/openapi"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/socket"
)

// Options are the environment, the settings and the actor of a Service. The zero value
// takes everything from the process's environment and the user's configuration files.
type Options struct {
	// Environ is the environment that configuration is read from and that git
	// runs in. Default: this process's.
	Environ []string
	// Flags override configuration, by dotted key, such as
	// "limits.max_workers".
	Flags map[string]string
	// Actor is the name of the caller for the history and for Undo, unless the caller
	// is in a workspace. Default: the user.
	Actor string
	// From is the working directory of the caller. If it lies in a workspace, that
	// workspace is the actor. Default: the directory that the Service is opened for.
	From string
	// StartedIn are the workspaces whose agents have started the caller, the nearest first, each with its ID and its Path: the
	// first one that the Service knows is the actor, wherever the caller is.
	StartedIn []croft.Workspace
}

// Open opens a Service for the project that dir lies in. Open does not look for a
// repository; the first call that needs one does.
//
// The daemon's Service is taken if a daemon of the same user and the same version of the API
// runs with the same settings: daemon.use = "never" turns that off. A daemon that cannot be
// reached, as in a sandbox that refuses its socket, is done without; the Service then has a
// notice about it.
func Open(ctx context.Context, dir string, opts *Options) (croft.Service, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Environ == nil {
		o.Environ = proc.Environ()
	}
	svc, refused := openDaemon(ctx, dir, o)
	if svc != nil {
		return svc, nil
	}
	e, err := openEngine(ctx, dir, o)
	if err != nil || refused == nil {
		return e, err
	}
	return &withNotice{Engine: e, text: fmt.Sprintf("the daemon is not used: %v", refused)}, nil
}

func openEngine(ctx context.Context, dir string, o Options) (*engine.Engine, error) {
	var startedIn []croft.ID
	for _, ws := range o.StartedIn {
		startedIn = append(startedIn, ws.ID)
	}
	return engine.Open(ctx, dir, &engine.Options{Environ: o.Environ, Settings: o.Flags, Actor: o.Actor, From: o.From, StartedIn: startedIn})
}

// greeting is how long a daemon may take to say what it is.
const greeting = 2 * time.Second

// openDaemon returns the daemon's Service, or nil if it is not to be used. The error is
// that of a daemon that is there and cannot be reached.
func openDaemon(ctx context.Context, dir string, o Options) (croft.Service, error) {
	settings, err := config.Load(config.Input{Environ: o.Environ, Flags: o.Flags})
	if err != nil {
		return nil, nil // the engine says what is wrong
	}
	c := settings.Config()
	if c.Daemon.Use == "never" {
		return nil, nil
	}
	dial := func(ctx context.Context) (net.Conn, error) { return socket.Connect(ctx, o.Environ, c.StateDir) }
	conn, err := dial(ctx)
	if err != nil {
		return nil, refusal(err)
	}
	from := o.From
	if len(o.StartedIn) > 0 {
		from = o.StartedIn[0].Path
	}
	svc, err := client.Open(ctx, client.Options{Dial: first(conn, dial), Dir: dir, From: from, Actor: o.Actor})
	if err != nil {
		_ = conn.Close()
		return nil, nil
	}
	hello, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	about, err := svc.About(hello)
	if err == nil && about.Settings == settings.Fingerprint(o.Environ) && about.API == api.Fingerprint(openapi.Document()) {
		return &Served{Client: svc, open: func(ctx context.Context) (*engine.Engine, error) { return openEngine(ctx, dir, o) }}, nil
	}
	_ = svc.Close() // it has made no call
	return nil, refusal(err)
}

// first returns a function that returns a connection that is open already, and then those of
// dial.
func first(conn net.Conn, dial func(context.Context) (net.Conn, error)) func(context.Context) (net.Conn, error) {
	open := make(chan net.Conn, 1)
	open <- conn
	return func(ctx context.Context) (net.Conn, error) {
		select {
		case conn := <-open:
			return conn, nil
		default:
			return dial(ctx)
		}
	}
}

// refusal returns an error that the user should know of: the system, or the daemon, refuses
// this process. That there is no daemon is none.
func refusal(err error) error {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, croft.AccessDenied) {
		return err
	}
	return nil
}

// withNotice is an engine that has one more sentence for the user.
type withNotice struct {
	*engine.Engine
	once sync.Once
	text string
}

// Notices returns the sentences for the user that belong to no call's result and were not
// returned before.
func (w *withNotice) Notices() []string {
	list := w.Engine.Notices()
	w.once.Do(func() { list = append([]string{w.text}, list...) })
	return list
}
