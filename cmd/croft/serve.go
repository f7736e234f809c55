package main

import (
	"context"
	"io"
	"log/slog"
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
	"github.com/croft-sh/croft/internal/daemon/process"
	"github.com/croft-sh/croft/internal/daemon/socket"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/daemon/watcher"
	"github.com/croft-sh/croft/internal/daemon/web"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/token"
)

const (
	// drainTime is how long a daemon that was told to stop may take: it answers requests for
	// up to 30 seconds, and then closes its Service.
	drainTime = 45 * time.Second
	// startTime is how long a daemon in the background may take until it answers.
	startTime = 20 * time.Second
	// maxLog is the length from which a log is begun anew when a daemon starts.
	maxLog = 16 << 20
)

// daemonOf wires the daemon of the user's state directory to the command line.
func daemonOf(environ []string, signals *signals) cli.Daemon {
	place := func() (process.Place, error) {
		set, err := settings(environ, "", nil)
		if err != nil {
			return process.Place{}, err
		}
		return process.Place{StateDir: set.Config().StateDir, Environ: environ}, nil
	}
	d := cli.Daemon{
		Serve: func(ctx context.Context, opts cli.ServeOptions, ready func(cli.DaemonStatus)) error {
			at, err := place()
			if err != nil {
				return err
			}
			signals.allow(drainTime)
			return serve(ctx, at, opts, ready)
		},
		Start: func(ctx context.Context, opts cli.ServeOptions) (cli.DaemonStatus, error) {
			at, err := place()
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
	var tcp []string
	if opts.TCP != "" {
		tcp = []string{opts.TCP}
	}
	set, err := config.Follow(config.Input{Environ: at.Environ})
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && opts.LogFile != "" { // nobody reads the error stream of a daemon in the background
			e := croft.AsError("serve", err)
			log.Error(notStarted, "code", string(e.Code), "error", e.Error(), "details", e.Details, "hint", e.Hint)
		}
	}()
	about := func() api.About { // the engine follows the user's file, too
		return api.About{Version: version(), PID: os.Getpid(), StateDir: at.StateDir, Settings: set.Fingerprint(at.Environ)}
	}
	wanted := make(chan croft.ID, 64) // projects of which pages are open
	err = process.Serve(ctx, process.Options{
		StateDir: at.StateDir, Environ: at.Environ, TCP: tcp, User: user(at.Environ), Version: version(), Log: log,
		Open: func(ctx context.Context) (croft.Service, error) {
			e, err := engine.Open(ctx, rootDir(at.StateDir), &engine.Options{Environ: withoutManager(at.Environ), Actor: user(at.Environ)})
			if err != nil {
				return nil, err
			}
			return served{stream.NewHub(e), e}, nil // everything follows one tail of its events
		},
		Background: func(ctx context.Context, svc croft.Service) {
			watcher.Run(ctx, watcher.Options{Service: svc, Tell: svc.(served).engine.Observe, Log: log, Wanted: wanted})
		},
		Web: func(svc croft.Service, stopping <-chan struct{}) process.Web {
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
	}, func(s process.Started) {
		status := daemonStatus(s.Status)
		status.URL = s.Once()
		ready(status)
	})
	return err
}

// notStarted is what the log of a daemon in the background has if it could not begin, or ended
// by a failure.
const notStarted = "the daemon has failed"

// served is the engine of a daemon, with one tail of its events for all who follow them.
type served struct {
	*stream.Hub
	engine *engine.Engine
}

// handlers are the API and the pages over a Service.
func handlers(svc served, opts web.Options) process.Web {
	opts.Document, opts.Notices = openapi.Document(), svc.engine.Notices
	h := web.New(svc.Hub, opts)
	return process.Web{API: h.API, Pages: h.Pages, Streams: h.Streams, IsPublic: h.IsPublic, Login: h.Login, Error: h.Error}
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

// startDaemon starts this program again as a daemon in the background.
func startDaemon(ctx context.Context, at process.Place, opts cli.ServeOptions) (cli.DaemonStatus, error) {
	if running, err := at.Status(ctx); err == nil {
		return cli.DaemonStatus{}, process.RunningError(running.PID, strings.Join(running.Sockets, "\n"))
	}
	self, err := os.Executable()
	if err != nil {
		return cli.DaemonStatus{}, err
	}
	run := filepath.Join(at.StateDir, "run")
	if err := os.MkdirAll(run, 0o700); err != nil {
		return cli.DaemonStatus{}, err
	}
	if opts.LogFile == "" {
		opts.LogFile = filepath.Join(run, "daemon.log")
	}
	opts.LogFile, err = filepath.Abs(opts.LogFile)
	if err != nil {
		return cli.DaemonStatus{}, err
	}
	args := []string{"serve", "--log-file", opts.LogFile, "--log-format", opts.LogFormat, "--log-level", opts.LogLevel}
	if opts.TCP != "" {
		args = append(args, "--tcp="+opts.TCP)
	}
	before := sizeOf(opts.LogFile)
	if err := proc.Detach(proc.Command{Path: self, Args: args, Env: withoutManager(at.Environ), Dir: filepath.Dir(self)}); err != nil {
		return cli.DaemonStatus{}, err
	}
	hasFailed := func() bool { return strings.Contains(tailOf(opts.LogFile, before), notStarted) }
	status, err := at.Await(ctx, startTime, hasFailed)
	if err != nil {
		e := &croft.Error{
			Code: croft.DaemonUnreachable, Op: "serve", Message: "the daemon was started and does not answer", Details: tailOf(opts.LogFile, before), Hint: "look into " + opts.LogFile, Err: err,
		}
		if hasFailed() {
			e.Message, e.Err = notStarted, nil
		}
		return cli.DaemonStatus{}, e
	}
	out := daemonStatus(*status)
	out.Log = opts.LogFile
	return out, nil
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// tailOf returns what was written to a log since it had a size.
func tailOf(path string, from int64) string {
	f, err := os.Open(path)
	if err != nil {
		return path
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() < from {
		from = 0 // a log that had become long was begun anew
	}
	text, err := io.ReadAll(io.NewSectionReader(f, from, 4<<10))
	if err != nil || len(text) == 0 {
		return path
	}
	return string(text)
}

// openLog opens the log of a daemon. One that has become long is kept under another name.
func openLog(opts cli.ServeOptions) (*slog.Logger, func(), error) {
	var to io.Writer = os.Stderr
	done := func() {}
	if opts.LogFile != "" {
		if sizeOf(opts.LogFile) > maxLog {
			_ = os.Rename(opts.LogFile, opts.LogFile+".old")
		}
		f, err := os.OpenFile(opts.LogFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, nil, &croft.Error{Code: croft.NotWritable, Op: "serve", Message: "the log cannot be written", Details: opts.LogFile, Err: err}
		}
		to, done = f, func() { _ = f.Close() }
	}
	level := map[string]slog.Level{"debug": slog.LevelDebug, "warn": slog.LevelWarn}[opts.LogLevel]
	options := &slog.HandlerOptions{Level: level}
	if opts.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(to, options)), done, nil
	}
	return slog.New(slog.NewTextHandler(to, options)), done, nil
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
