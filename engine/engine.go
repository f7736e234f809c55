// Package engine is Croft's Service in this process, on one host.
//
//	svc, err := engine.Open(ctx, ".", nil)
//
// Most programs want package connect instead, which prefers a running daemon.
// An engine holds no state that others need: several engines, in this process
// and in others, may work on the same repository at once.
package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/access"
	"github.com/croft-sh/croft/internal/adoption"
	"github.com/croft-sh/croft/internal/agentrun"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/doctor"
	"github.com/croft-sh/croft/internal/equip"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/watch"
	"github.com/croft-sh/croft/internal/history"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/pool"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/push"
	"github.com/croft-sh/croft/internal/radar"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/resolve"
	"github.com/croft-sh/croft/internal/review"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/round"
	"github.com/croft-sh/croft/internal/rules"
	"github.com/croft-sh/croft/internal/trash"
	"github.com/croft-sh/croft/internal/uninstall"
	"github.com/croft-sh/croft/internal/upkeep"
	"github.com/croft-sh/croft/internal/view"
	"github.com/croft-sh/croft/internal/words"
	"github.com/croft-sh/croft/internal/work"
	"github.com/croft-sh/croft/internal/workspace"
)

// Options configure an engine. The zero value takes everything from the
// process's environment and the user's configuration files.
type Options struct {
	// Environ is the environment that configuration is read from and that git runs in.
	// Default: this process's.
	Environ []string
	// Settings override configuration, by dotted key, such as
	// "limits.max_workers". See docs/configuration.md.
	Settings map[string]string
	// Actor is the name of the actor in the history and for Undo, unless the actor is
	// in a workspace. Default: "user".
	Actor string
	// From is the working directory of the actor. If it lies in a workspace, the actor
	// is the workspace's agent, whatever Actor says. Default: the directory that the
	// engine is opened for.
	From string
	// StartedIn are workspaces whose agents have started the caller, the nearest first: the first one that is known is the
	// actor, wherever the caller is.
	StartedIn []croft.ID
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Drain is how long Close waits for calls that are at work before it cancels them.
	// Default: 30 seconds.
	Drain time.Duration
	// Watch says whether the files of workspaces are watched. Default: they are not.
	Watch Watching

	// networkFS returns the name of the network file system that a directory lies on.
	// Tests replace it.
	networkFS func(dir string) string
	// scratch has the state of an engine that knows only what git knows.
	scratch access.Scratch
}

// Engine implements croft.Service.
type Engine struct {
	// The parts of an engine. Each has the parts before it that it needs as fields, and
	// later ones as interfaces.
	projects    *project.Projects
	commits     *work.Commits
	forecasts   *radar.Forecasts
	views       *view.Views
	workspaces  *workspace.Workspaces
	pool        *pool.Pool
	adoptions   *adoption.Adoptions
	equipment   *equip.Equipment
	runs        *agentrun.Runs
	removals    *removal.Removals
	trash       *trash.Trash
	rewinds     *rewind.Rewinds
	rules       *rules.Rules
	lanes       *lane.Lanes
	resolver    *resolve.Resolver
	reviews     *review.Reviews
	pushes      *push.Pushes
	rounds      *round.Rounds
	upkeep      *upkeep.Upkeep
	uninstaller *uninstall.Uninstaller
	doctor      *doctor.Doctor
	history     *history.History

	drain time.Duration

	watches  *watch.Watches // nil: nothing is watched
	watching sync.WaitGroup

	scratch access.Scratch // for answers where the state cannot be written; empty: there is none
	hidden  string         // the state directory that cannot be read, of an engine that knows only what git knows
}

var _ croft.Service = (*Engine)(nil)

// Open opens an engine. Requests that name no repository mean the one that dir lies in.
// Open does not check that there is one.
func Open(ctx context.Context, dir string, opts *Options) (*Engine, error) {
	e := newEngine(project.New())
	var given Options
	if opts != nil {
		given = *opts
	}
	e.projects.Environ, e.projects.Clock, e.projects.From, e.drain = given.Environ, given.Now, given.From, given.Drain
	if e.projects.Environ == nil {
		e.projects.Environ = proc.Environ()
	}
	if e.projects.Clock == nil {
		e.projects.Clock = time.Now
	}
	if given.networkFS == nil {
		given.networkFS = fsx.NetworkFS
	}
	var err error
	if e.projects.Dir, err = filepath.Abs(dir); err != nil {
		return nil, croft.AsError("open", err)
	}
	if e.projects.Settings, err = config.Follow(config.Input{Environ: e.projects.Environ, Flags: given.Settings}); err != nil {
		return nil, err
	}
	cfg := e.projects.Settings.Config()
	if err := refuseStateDir(cfg.StateDir, given.networkFS); err != nil {
		return nil, err
	}
	fsx.CloseToOthers(cfg.StateDir, journal.FileName)
	e.projects.Journal, err = journal.Open(ctx, cfg.StateDir, journal.Options{
		Now: e.projects.Clock, Copy: cfg.StateCopy(), Actor: e.projects.ActorOfCall,
	})
	if errors.Is(err, journal.ErrUnreadable) && given.scratch == "" && ctx.Err() == nil {
		return openFromGit(ctx, dir, given, cfg.StateDir, unusable(ctx, cfg.StateDir, err))
	}
	if err != nil {
		return nil, unusable(ctx, cfg.StateDir, err)
	}
	configDir := filepath.Join(cfg.StateDir, "git")
	if e.scratch = given.scratch; e.scratch == "" && e.ReadOnly() != nil {
		if e.scratch, err = access.NewScratch(); err == nil {
			err = e.scratch.CopyGit(configDir)
		}
		if err != nil {
			return nil, e.scratch.Remove(explain.Error("open", "", err), e.projects.Journal.Close())
		}
		configDir = e.scratch.GitDir()
	}
	if given.Watch == WatchFiles {
		e.watch()
	}
	e.projects.Git = gitcmd.New(gitcmd.Options{
		Path: cfg.Git.Path, Environ: e.projects.Environ, ConfigDir: configDir, Scratch: string(e.scratch), Filters: cfg.Git.Filters,
		Lending: gitcmd.Lending(cfg.Checkout.IsolatedObjects), ManyPacks: e.upkeep.JoinPacks,
		Timeout: time.Duration(cfg.Git.Timeout), Unfenced: cfg.Git.Fence == "off",
		Watches: e.watches,
	})
	e.projects.Host, _ = os.Hostname()
	e.projects.Ops = e.newOplog()
	if e.projects.Who, err = e.projects.FindActor(ctx, given.Actor, given.StartedIn); err != nil {
		_, _ = e.projects.Lifetime.Close(0)
		e.closeWatches()
		return nil, e.scratch.Remove(explain.Error("open", "", err), e.projects.Journal.Close())
	}
	return e, nil
}

// RefuseStateDir refuses a directory that Open does not take for the state: one on a network file
// system, or another user's. A program that writes to the directory before Open calls it first.
func RefuseStateDir(dir string) error { return refuseStateDir(dir, fsx.NetworkFS) }

func refuseStateDir(dir string, networkFS func(dir string) string) error {
	if err := config.RefuseNetwork(dir, networkFS); err != nil {
		return err
	}
	return config.RefuseOthers(dir, fsx.IsOthers)
}

// unusable returns the error for a state that cannot be opened.
func unusable(ctx context.Context, stateDir string, err error) error {
	if ctx.Err() != nil {
		return explain.Error("open", "", ctx.Err())
	}
	if errors.Is(err, journal.ErrNewer) {
		return &croft.Error{
			Code: croft.StateUnavailable, Op: "open", Message: err.Error(), Details: stateDir + "\nNothing was changed.",
			Hint: "run the later croft, or give this one a state of its own: export CROFT_STATE_DIR=DIR",
		}
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return &croft.Error{
			Code: croft.StateUnavailable, Op: "open", Message: "the state cannot be opened: too many files are open", Details: stateDir + "\nNothing was changed.",
			Hint: "raise the limit of open files (ulimit -n), or close some", Err: err,
		}
	}
	return &croft.Error{
		Code: croft.StateUnavailable, Op: "open", Message: "the state directory cannot be used",
		Details: stateDir, Hint: "check its permissions, or set CROFT_STATE_DIR", Err: err,
	}
}

// Close waits for the calls that are at work, releases the leases that were taken through
// the engine for its own process, and ends the processes that it started. It cancels at once the calls that only wait, for
// a merge or for events. Later calls fail with Closed.
func (e *Engine) Close() error {
	isFirst, err := e.projects.Lifetime.Close(e.drain)
	if !isFirst {
		return nil
	}
	var errs []error
	if err != nil {
		errs = append(errs, &croft.Error{
			Code: croft.Canceled, Op: "close", Message: err.Error(),
			Details: "The next process finishes their operations or rolls them back.",
		})
	}
	defer e.projects.Lifetime.Cancel()
	errs = append(errs, e.workspaces.ReleaseAll(context.Background())...)
	e.projects.Lifetime.Wait()
	e.closeWatches()
	for _, r := range e.projects.EverOpened() {
		errs = append(errs, r.Git.Close())
	}
	return e.scratch.Remove(append(errs, e.projects.Journal.Close())...)
}

// enter begins a call, unless the engine was closed or a request has an unknown word.
func (e *Engine) enter(ctx context.Context, op string, requests ...any) (context.Context, func(), error) {
	for _, req := range requests {
		if err := words.Check(req); err != nil {
			return ctx, func() {}, explain.Error(op, "", err)
		}
	}
	ctx, leave, err := e.projects.Lifetime.Enter(ctx)
	if err != nil {
		return ctx, leave, explain.ClosedError(op)
	}
	if ctx, err = e.projects.EnterActor(ctx); err != nil {
		leave()
		return ctx, func() {}, explain.Error(op, "", err)
	}
	return ctx, leave, nil
}
