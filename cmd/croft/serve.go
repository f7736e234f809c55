package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/docs/openapi"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/api"
	"github.com/croft-sh/croft/internal/cli"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/daemon"
	"github.com/croft-sh/croft/internal/daemon/metrics"
	"github.com/croft-sh/croft/internal/daemon/process"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/daemon/watcher"
	"github.com/croft-sh/croft/internal/daemon/web"
	"github.com/croft-sh/croft/internal/socket"
	"github.com/croft-sh/croft/internal/supervise"
	"github.com/croft-sh/croft/internal/token"
)

const (
	// drainTime is how long a daemon that was told to stop may take: it answers requests for
	// up to 30 seconds, and then closes its Service.
	drainTime = 45 * time.Second
	// startTime is how long a daemon in the background may take until it answers.
	startTime = 20 * time.Second
)

// daemonOf wires the daemon of the user's state directory to the command line.
func daemonOf(environ []string, signals *signals) cli.Daemon {
	place := func() (process.Place, error) {
		dir, err := config.StateDirOf(environ)
		return process.Place{StateDir: dir, Environ: environ}, err
	}
	ownPlace := func() (process.Place, error) { // of a daemon that writes there before it opens the engine
		at, err := place()
		if err == nil {
			err = engine.RefuseStateDir(at.StateDir)
		}
		return at, err
	}
	d := cli.Daemon{
		Serve: func(ctx context.Context, opts cli.ServeOptions, ready func(cli.DaemonStatus)) error {
			at, err := ownPlace()
			if err != nil {
				return err
			}
			signals.allow(drainTime)
			return serve(ctx, at, opts, ready)
		},
		Start: func(ctx context.Context, opts cli.ServeOptions) (cli.DaemonStatus, error) {
			at, err := ownPlace()
			if err != nil {
				return cli.DaemonStatus{}, err
			}
			return startDaemon(ctx, at, opts)
		},
		Status: func(ctx context.Context) (cli.DaemonStatus, error) {
			at, err := place()
			if err != nil {
				return cli.DaemonStatus{}, err
			}
			status, err := at.Status(ctx)
			if err != nil {
				return cli.DaemonStatus{}, err
			}
			return daemonStatus(*status), nil
		},
		Stop: func(ctx context.Context) (cli.DaemonStatus, error) {
			at, err := place()
			if err != nil {
				return cli.DaemonStatus{}, err
			}
			status, err := at.Stop(ctx)
			if err != nil {
				return cli.DaemonStatus{}, err
			}
			return daemonStatus(*status), nil
		},
		Once: func(ctx context.Context) (string, error) {
			at, err := place()
			if err != nil {
				return "", err
			}
			return at.Once(ctx)
		},
	}
	return d
}

func daemonStatus(s process.Status) cli.DaemonStatus {
	return cli.DaemonStatus{PID: s.PID, Version: s.Version, StartedAt: s.StartedAt, Sockets: s.Sockets, TCP: s.TCP}
}

// serve runs the daemon in this process.
func serve(ctx context.Context, at process.Place, opts cli.ServeOptions, ready func(cli.DaemonStatus)) error {
	debug.SetGCPercent(100) // unlike a command, it lives for long
	log, closeLog, err := openLog(opts)
	if err != nil {
		return err
	}
	defer closeLog()
	defer func() {
		if err != nil && opts.LogFile != "" { // nobody reads the error stream of a daemon in the background
			logFailure(log, err)
		}
	}()
	set, err := config.Follow(config.Input{Environ: at.Environ})
	if err != nil {
		return err
	}
	about := func() api.About { // the engine follows the user's file, too
		return api.About{Version: version(), PID: os.Getpid(), StateDir: at.StateDir, Settings: set.Fingerprint(at.Environ)}
	}
	wanted := make(chan croft.ID, 64) // projects of which pages are open
	err = process.Serve(ctx, process.Options{
		StateDir: at.StateDir, Environ: at.Environ, TCP: addressesOf(opts), User: user(at.Environ), Version: version(), Log: log,
		Open: func(ctx context.Context) (croft.Service, error) {
			e, err := engine.Open(ctx, rootDir(at.StateDir), &engine.Options{Environ: withoutManager(at.Environ), Actor: user(at.Environ), Watch: engine.WatchFiles})
			if err != nil {
				return nil, err
			}
			return served{stream.NewHub(e), e}, nil // everything follows one tail of its events
		},
		Background: func(ctx context.Context, svc croft.Service) {
			go watchSettings(ctx, set, log)
			go tellWatched(ctx, svc.(served).engine.Watched, time.Minute, log)
			watcher.Run(ctx, watcher.Options{Service: svc, Tell: svc.(served).engine.Observe, Log: log, Wanted: wanted})
		},
		Web: func(svc croft.Service, stopping <-chan struct{}) daemon.Handlers {
			return handlers(svc.(served), web.Options{
				About: about, Stopping: stopping, Log: log, Socket: socket.Path(at.Environ, at.StateDir),
				Tokens: tokenStore{token.Open(at.StateDir)}, Settings: settingsOf(at.Environ),
				Look: func(repo croft.ID) {
					select {
					case wanted <- repo:
					default: // it has enough to do
					}
				},
			})
		},
		IsUpkeepDue: func(repo croft.Repo) bool { return claimUpkeep(at.Environ, repo.Path, time.Now()) },
		Settle: func(ctx context.Context, svc croft.Service, ws croft.Workspace) error {
			_, err := supervise.Settle(ctx, svc, croft.Ref(ws.Repo), *ws.Run)
			return err
		},
		Restock: func(repo croft.Repo) error {
			if !claimFilling(at.Environ, repo.Path) {
				return nil
			}
			return detach(withoutManager(at.Environ), "pool", "--auto", "--repo", repo.Path)
		},
	}, func(s process.Started) {
		status := daemonStatus(s.Status)
		status.URL = s.Once()
		ready(status)
	})
	return err
}

// addressesOf returns where a daemon is to listen, beside its socket.
func addressesOf(opts cli.ServeOptions) []string {
	if opts.TCP == "" {
		return nil
	}
	return []string{opts.TCP}
}

// served is the engine of a daemon, with one tail of its events for all who follow them.
type served struct {
	*stream.Hub
	engine *engine.Engine
}

// handlers are the API and the pages over a Service.
func handlers(svc served, opts web.Options) daemon.Handlers {
	opts.Document, opts.Notices = openapi.Document(), svc.engine.Notices
	h := web.New(svc.Hub, opts)
	own := h.Gauges
	h.Gauges = func() []metrics.Gauge { return append(own(), watchedGauges(svc.engine.Watched())...) }
	return h
}

// tokenStore gives the tokens of the state directory to the dashboard.
type tokenStore struct{ *token.Store }

func (s tokenStore) Make(ctx context.Context, name string, access croft.Access, workspace croft.ID) (croft.Token, string, error) {
	return s.Store.Make(ctx, token.Request{Name: name, Access: access, Workspace: workspace})
}

// settingsOf returns the configuration of a project with its sources.
func settingsOf(environ []string) func(croft.Repo) ([]web.Setting, error) {
	return func(repo croft.Repo) ([]web.Setting, error) {
		set, err := settings(environ, repo.Path, nil)
		if err != nil {
			return nil, err
		}
		var values []web.Setting
		for _, v := range set.Values() {
			values = append(values, web.Setting{Key: v.Key, Value: v.Value, Source: v.Source.String()})
		}
		return values, nil
	}
}

// rootDir is the directory that the daemon's Service is opened in: one that is in no project and
// no workspace, wherever the daemon was started.
func rootDir(stateDir string) string {
	return filepath.VolumeName(stateDir) + string(filepath.Separator)
}

// withoutManager takes the variables out that a service manager addressed to this process.
func withoutManager(environ []string) []string {
	var env []string
	for _, entry := range environ {
		if !strings.HasPrefix(entry, "LISTEN_") && !strings.HasPrefix(entry, "NOTIFY_SOCKET=") {
			env = append(env, entry)
		}
	}
	return env
}

// tokensOf wires the tokens of the user's state directory to the command line.
func tokensOf(environ []string) cli.Tokens {
	store := func() (*token.Store, error) {
		set, err := settings(environ, "", nil)
		if err != nil {
			return nil, err
		}
		return token.Open(set.Config().StateDir), nil
	}
	return cli.Tokens{
		Make: func(ctx context.Context, name string, access croft.Access, workspace croft.ID) (croft.Token, string, error) {
			s, err := store()
			if err != nil {
				return croft.Token{}, "", err
			}
			return s.Make(ctx, token.Request{Name: name, Access: access, Workspace: workspace})
		},
		List: func() ([]croft.Token, error) {
			s, err := store()
			if err != nil {
				return nil, err
			}
			return s.List()
		},
		Revoke: func(ctx context.Context, ref croft.Ref) (croft.Token, error) {
			s, err := store()
			if err != nil {
				return croft.Token{}, err
			}
			return s.Revoke(ctx, ref)
		},
	}
}
