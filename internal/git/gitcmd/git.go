// Package gitcmd starts git. [Git.Run] is the only place that starts one in a repository,
// and every call goes through one hardened environment.
//
// Inherited GIT_* variables are dropped; hooks, file system monitors, external diffs,
// prompts and automatic maintenance are off; git directory and work tree are given
// explicitly, so that a planted .git file or commondir has no effect. The part of the
// user's configuration that decides what a commit looks like (identity, ignore file, line
// endings, filters, signing) is read by an allow-list and passed with the precedence of
// the user's global file, so that the repository's own configuration overrides it.
//
// An agent that works in a checkout can write the repository's own configuration at any
// moment. Git never reads it: the common directory of every call is the host directory,
// one of Croft's own, with a configuration that is generated from what was read once, and
// that names no program; see hostdir.go.
//
// A call has a deadline, is stopped where it would wait for a pipe that an agent made
// (deadline.go), writes only below its own directories (fence.go), and fails with an
// [Error] whose [Kind] classify.go alone reads from git's messages.
package gitcmd

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/watch"
	"github.com/croft-sh/croft/internal/proc"
)

// Options configure a Git.
type Options struct {
	Path      string        // the program; default: "git" in PATH
	Environ   []string      // the user's environment
	ConfigDir string        // required: the directory for generated configuration
	Scratch   string        // where a repository's files for answers lie that cannot be written in its own directory; empty: they can
	Filters   []string      // content filters of a repository's own configuration that may run
	Lending   Lending       // whether alternates stores have copies or hard links
	Timeout   time.Duration // of one call; default: DefaultTimeout
	Idle      time.Duration // how long an idle git process is kept; default: defaultIdle
	Unfenced  bool          // git processes that write are not confined to their directories
	// ManyPacks, if not nil, is called with the common directory of a repository after a
	// batch has added a pack and there are many small ones.
	ManyPacks func(commonDir string)
	// Watches, if not nil, tell whether checkouts were touched since they were walked.
	Watches *watch.Watches
}

// Git is an installed git.
type Git struct {
	Options  Options
	version  func() (gitdir.Version, error)
	isTested func() error  // whether this git can be used with a host directory
	ExecPath func() string // the directory of git's own programs; empty: not known
}

// New returns a Git. It searches for the program when that is first needed.
func New(opts Options) *Git {
	if opts.Path == "" {
		opts.Path = "git"
	}
	g := &Git{Options: opts}
	g.version = sync.OnceValues(g.detect)
	g.isTested = sync.OnceValue(g.requireTested)
	g.ExecPath = sync.OnceValue(g.findExecPath)
	return g
}

// Version returns git's version. It fails with ErrNotFound if there is no git and with a
// *TooOldError if the version is not supported.
func (g *Git) Version() (gitdir.Version, error) { return g.version() }

// ask runs git without a repository.
func (g *Git) ask(question string) (string, error) {
	root := filepath.VolumeName(os.TempDir()) + string(filepath.Separator) // a directory that exists
	ctx, end := g.WatchDeadline(context.Background(), Target{}, Call{Args: []string{question}})
	defer end()
	res, err := proc.Run(ctx, proc.Command{
		Path: g.Options.Path, Args: []string{question}, Env: g.baseEnv(), Dir: root,
	})
	return string(res.Stdout), err
}

func (g *Git) findExecPath() string {
	out, err := g.ask("--exec-path")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

func (g *Git) detect() (gitdir.Version, error) {
	out, known := g.readVersionCache()
	var err error
	if !known {
		out, err = g.ask("version")
	}
	if err != nil {
		if errors.Is(err, proc.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return gitdir.Version{}, gitdir.ErrNotFound
		}
		return gitdir.Version{}, g.Wrap([]string{"version"}, "", err)
	}
	v, err := gitdir.ParseVersion(out)
	if err != nil {
		return gitdir.Version{}, err
	}
	if v.Less(gitdir.Floor) {
		return v, &gitdir.TooOldError{Have: v}
	}
	if !known {
		g.writeVersionCache(out)
	}
	return v, nil
}

// Call is one run of git.
type Call struct {
	Args    []string
	Stdin   string
	Input   io.Reader // instead of Stdin
	Output  io.Writer // takes standard output, which Run does not return then; an error of it ends git
	Config  [][2]string
	Env     []string // added last
	Locks   bool     // locks the index, which it writes or may refresh
	Writes  []string // other lock files that it creates, relative to the common directory
	Network bool     // uses the user's credentials
	Remote  string   // with Network: the remote that is reached, and whose secrets are needed; empty: any that has objects for a checkout
	Session bool     // answers questions until it is closed: each has a deadline of its own
	asks    bool     // determines the user's identity as git would
	Inherit []*os.File
}

// Run runs git and returns its standard output.
func (g *Git) Run(ctx context.Context, d Target, c Call) ([]byte, error) {
	cmd, err := g.Command(ctx, d, c)
	if err != nil {
		return nil, err
	}
	defer cmd.At.Close() // which does nothing if it is nil
	if c.Stdin != "" {
		cmd.Stdin = strings.NewReader(c.Stdin)
	} else if c.Input != nil {
		cmd.Stdin = c.Input
	}
	cmd.Stdout = c.Output
	ctx, end := g.WatchDeadline(ctx, d, c)
	defer end()
	done := func(error) {}
	if d.Repo != nil && c.takesLocks() {
		if done, err = d.leaseLocks(ctx, c, &cmd); err != nil {
			return nil, err
		}
	}
	res, err := proc.Run(ctx, cmd)
	done(err)
	if err != nil {
		return res.Stdout, g.Wrap(c.Args, cmd.Dir, err)
	}
	return res.Stdout, nil
}

// takesLocks reports whether this git, if it is killed, may leave lock files in the
// repository. One with an index of its own has the lock file beside that.
func (c Call) takesLocks() bool {
	hasIndex := slices.ContainsFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_INDEX_FILE=") })
	return c.Locks && !hasIndex || len(c.Writes) > 0
}

// leaseLocks makes a [writers.Lease] for a git process that may take locks: it names the
// lock files, and cmd inherits the lock on it, so that a sweep knows whether the process
// lives. The caller calls done with the error of the process. done removes the lease and,
// if the process was killed, its lock files.
func (d Target) leaseLocks(ctx context.Context, c Call, cmd *proc.Command) (done func(error), err error) {
	m, err := d.Repo.NewLease()
	if err != nil {
		return nil, err
	}
	locks := c.Writes
	if c.Locks {
		locks = append(d.Repo.LocksIn(d.gitDirectory()), locks...)
	}
	if err := m.WriteBusy(locks); err != nil {
		m.End()
		return nil, err
	}
	cmd.Inherit = append(slices.Clip(cmd.Inherit), m.Lock.ForChild())
	return func(err error) {
		if WasKilled(err) {
			m.EndKilled(ctx)
		} else {
			m.End()
		}
	}, nil
}

// Start starts a git process that the caller talks to through its pipes. The process is
// stopped after the deadline of a call, except with c.Session: then the caller bounds each
// question with [Git.WatchDeadline].
func (g *Git) Start(ctx context.Context, d Target, c Call) (*proc.Process, error) {
	cmd, err := g.Command(ctx, d, c)
	if err != nil {
		return nil, err
	}
	defer cmd.At.Close()
	end := func() {}
	if !c.Session {
		ctx, end = g.WatchDeadline(ctx, d, c)
	}
	p, err := proc.Start(ctx, cmd)
	if err != nil {
		end()
		return nil, g.Wrap(c.Args, cmd.Dir, err)
	}
	p.Ended = end
	return p, nil
}

// terminalOf keeps a git that may start ssh from the user's terminal: ssh would ask there, in the
// background, and stop.
func terminalOf(c Call) proc.TerminalUse {
	if c.Network {
		return proc.TerminalNone
	}
	return proc.TerminalLeft
}

// Command returns the process that a call starts. The caller closes its At.
func (g *Git) Command(ctx context.Context, d Target, c Call) (proc.Command, error) {
	if _, err := g.version(); err != nil {
		return proc.Command{}, err
	}
	if d.Repo != nil {
		if err := g.isTested(); err != nil {
			return proc.Command{}, err
		}
	}
	if err := d.refuseBlocking(c); err != nil {
		return proc.Command{}, err
	}
	env, err := g.HardenedEnviron(ctx, d, c)
	if err != nil {
		return proc.Command{}, err
	}
	at, err := d.openAnchor(c)
	if errors.Is(err, os.ErrNotExist) {
		err = g.Wrap(c.Args, d.Work, err)
	}
	if err != nil {
		return proc.Command{}, err
	}
	below := g.writableDirs(ctx, d, c)
	if at != nil {
		below = slices.DeleteFunc(below, func(dir string) bool { return dir == d.Work }) // another directory may be at that path by now
	}
	return proc.Command{
		Path: g.Options.Path, Args: append(d.args(at), c.Args...), Env: append(env, c.Env...), Dir: d.Dir(), At: at, Inherit: c.Inherit,
		WriteBelow: below, Terminal: terminalOf(c),
	}, nil
}
