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
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/proc"
)

// Options configure an engine. The zero value takes everything from the
// process's environment and the user's configuration files.
type Options struct {
	// Environ is the environment that configuration is read from and that git
	// runs in. Default: this process's.
	Environ []string
	// Settings override configuration, by dotted key, such as
	// "limits.max_workers". See docs/configuration.md.
	Settings map[string]string
	// Actor is who acts, for the history and for Undo, where that is not a
	// workspace. Default: "user".
	Actor string
	// From is the directory that whoever acts stands in. If that lies in a
	// workspace, the workspace is who acts, whatever Actor says. Default: the
	// directory that the engine is opened for.
	From string
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Drain is how long Close waits for calls that are at work before it ends
	// them. Default: 30 seconds.
	Drain time.Duration

	// networkFS names the network file system that a directory lies on. Tests have
	// another one than that of this machine.
	networkFS func(dir string) string
}

// Engine implements croft.Service.
type Engine struct {
	dir     string
	opts    Options
	set     *config.Set
	journal *journal.Journal
	git     *git.Git
	host    string
	who     string // acts

	noticesMu sync.Mutex
	notices   []string

	mu      sync.Mutex
	repos   map[string]*seenRepo // by common directory, or by path for plain directories
	former  []*repo              // that were at such a place before
	leases  map[croft.ID]holding
	drivers map[laneID]*driver
	closed  bool
	work    sync.WaitGroup

	ops *oplog.Log[*repo]

	calls   int             // at work; under mu
	closing chan struct{}   // closed by Close
	drained chan struct{}   // closed when it was, and no call is at work any more
	life    context.Context // of all calls
	endLife context.CancelFunc
}

var _ croft.Service = (*Engine)(nil)

// Open opens an engine. Requests that name no repository mean the one that dir
// lies in; that there is one is not checked before it is needed.
func Open(ctx context.Context, dir string, opts *Options) (*Engine, error) {
	e := &Engine{repos: map[string]*seenRepo{}, leases: map[croft.ID]holding{}, drivers: map[laneID]*driver{}}
	e.closing, e.drained = make(chan struct{}), make(chan struct{})
	e.life, e.endLife = context.WithCancel(context.Background())
	if opts != nil {
		e.opts = *opts
	}
	if e.opts.Environ == nil {
		e.opts.Environ = proc.Environ()
	}
	if e.opts.Now == nil {
		e.opts.Now = time.Now
	}
	if e.opts.networkFS == nil {
		e.opts.networkFS = fsx.NetworkFS
	}
	var err error
	if e.dir, err = filepath.Abs(dir); err != nil {
		return nil, croft.AsError("open", err)
	}
	if e.set, err = config.Load(config.Input{Environ: e.opts.Environ, Flags: e.opts.Settings}); err != nil {
		return nil, err
	}
	cfg := e.set.Config()
	if err := refuseNetwork(cfg.StateDir, e.opts.networkFS); err != nil {
		return nil, err
	}
	e.journal, err = journal.OpenWith(ctx, cfg.StateDir, journal.Options{
		Now: e.opts.Now, Copy: stateCopy(cfg),
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, explain.Error("open", "", ctx.Err())
		}
		if errors.Is(err, journal.ErrNewer) {
			return nil, &croft.Error{
				Code: croft.StateUnavailable, Op: "open", Message: err.Error(), Details: cfg.StateDir + "\nNothing was changed.",
				Hint: "run the later croft, or give this one a state of its own: export CROFT_STATE_DIR=DIR",
			}
		}
		return nil, &croft.Error{
			Code: croft.StateUnavailable, Op: "open", Message: "the state directory cannot be used",
			Details: cfg.StateDir, Hint: "check its permissions, or set CROFT_STATE_DIR", Err: err,
		}
	}
	e.git = git.New(git.Options{
		Path: cfg.Git.Path, Environ: e.opts.Environ, ConfigDir: filepath.Join(cfg.StateDir, "git"), Filters: cfg.Git.Filters,
		Lending: git.Lending(cfg.Checkout.IsolatedObjects), Packed: e.joinPacks,
		Timeout: time.Duration(cfg.Git.Timeout), Unfenced: cfg.Git.Fence == "off",
	})
	e.host, _ = os.Hostname()
	e.ops = e.newOplog()
	if e.who, err = e.findActor(ctx); err != nil {
		return nil, errors.Join(explain.Error("open", "", err), e.journal.Close())
	}
	return e, nil
}

// refuseNetwork refuses a state directory where locks do not hold. The kind of a
// directory that is not there yet is that of the first one above it that is.
func refuseNetwork(dir string, kind func(dir string) string) error {
	at := dir
	for !fsx.IsThere(at) && filepath.Dir(at) != at {
		at = filepath.Dir(at)
	}
	name := kind(at)
	if name == "" {
		return nil
	}
	return &croft.Error{
		Code: croft.StateUnavailable, Op: "open", Message: "the state directory lies on a network file system, " + name + ", where locks do not hold",
		Details: dir, Hint: "set CROFT_STATE_DIR to a directory on a disk of this machine",
	}
}

// stateCopy is the file of the state's second copy. Several states may have one
// data directory, so it is named after the state directory.
func stateCopy(cfg config.Config) string {
	dir := cfg.StateDir
	if real, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(real, filepath.Base(dir))
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(cfg.DataDir, "state", hex.EncodeToString(sum[:8])+".log")
}

// Close waits for the calls that are at work, releases the leases that are held
// through the engine, and ends its processes. Calls that only wait, for a merge or
// for events, are ended at once. Calls that come later fail with Closed.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	close(e.closing)
	if e.calls == 0 {
		close(e.drained)
	}
	e.mu.Unlock()
	errs := []error{e.drain()}
	defer e.endLife()
	e.mu.Lock()
	held := slices.Collect(maps.Keys(e.leases))
	e.mu.Unlock()
	for _, id := range held {
		errs = append(errs, explain.Error("release", "", e.giveBack(context.Background(), id)))
	}
	e.work.Wait()
	for _, r := range e.everOpened() {
		errs = append(errs, r.git.Close())
	}
	return errors.Join(append(errs, e.journal.Close())...)
}

func (e *Engine) now() time.Time { return e.opts.Now().UTC() }

func (e *Engine) actor() string { return e.who }

// self is this process, as leases and operations name their owner.
func self() croft.Owner {
	return ownerOf(proc.Self())
}

func ownerOf(id proc.Identity) croft.Owner {
	return croft.Owner{Host: id.Host, Boot: id.Boot, Space: id.Space, PID: id.PID, Start: id.Start}
}

func identityOf(o croft.Owner) proc.Identity {
	return proc.Identity{Host: o.Host, Boot: o.Boot, Space: o.Space, PID: o.PID, Start: o.Start}
}

func life(o croft.Owner) proc.Life { return proc.LifeOf(identityOf(o)) }

// ownerName is what the program of an owner is called, where that can be seen.
func ownerName(o croft.Owner) string { return proc.NameOf(identityOf(o)) }

// parallel is how many checkouts are written at once, and with how many
// workers each.
func parallel(n, configured int) (checkouts, workers int) {
	cores := configured
	if cores <= 0 {
		cores = runtime.NumCPU()
	}
	if n > 1 {
		return min(n, cores), 1
	}
	return 1, cores
}
