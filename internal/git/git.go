// Package git is the only place that spells git's arguments, and with the packages
// below it the only one that reads git's files. Everything goes through three
// doors: [Git] for what needs no repository, [Repository] for what concerns refs,
// objects and registrations, and [Worktree] for what needs files on disk. How
// objects and the index are read and written without a process is in the packages
// object and index.
//
// Every call runs in one hardened environment. Inherited GIT_* variables are
// dropped; hooks, file system monitors, external diffs, prompts and automatic
// maintenance are off; git directory and work tree are given explicitly, so
// that a planted .git file or commondir leads nowhere. What a
// commit must keep of the user's own configuration (identity, ignore file,
// line endings, filters, signing) is read by an allow-list and passed on at
// the precedence of the user's global file, so that the repository's own
// configuration still wins over it.
//
// The repository's own configuration can be written by whoever works in one of
// its checkouts, at any moment. Git never reads it: the common directory of
// every call is one of Croft's own, with a configuration that is generated from
// what was read once, and that holds nothing that names a program; see
// hostdir.go and hostconfig.go.
package git

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

	"github.com/croft-sh/croft/internal/proc"
)

// Options configure a Git.
type Options struct {
	Path      string        // the program; default: "git" in PATH
	Environ   []string      // the user's environment
	ConfigDir string        // required: where generated configuration may lie
	Filters   []string      // content filters of a repository's own configuration that may run
	Lending   Lending       // what isolated checkouts borrow objects from: copies or links
	Timeout   time.Duration // of one call; default: DefaultTimeout
	Idle      time.Duration // for which a git is kept that nobody asks; default: DefaultIdle
	Unfenced  bool          // a git that writes is not held to its directories
	// Packed, if not nil, is told of every batch that has added a pack.
	Packed func(*Repository)
}

// Git is an installed git.
type Git struct {
	opts     Options
	version  func() (Version, error)
	isTested func() error  // whether it can be used with a host directory
	execPath func() string // where git's own programs lie; empty: not known
}

// New returns a Git. The program is looked for when it is first needed.
func New(opts Options) *Git {
	if opts.Path == "" {
		opts.Path = "git"
	}
	g := &Git{opts: opts}
	g.version = sync.OnceValues(g.detect)
	g.isTested = sync.OnceValue(g.tested)
	g.execPath = sync.OnceValue(g.findExecPath)
	return g
}

// Version is git's version. It fails with ErrNotFound if there is no git and
// with a *TooOldError if it is below the floor.
func (g *Git) Version() (Version, error) { return g.version() }

// ask runs git where no repository is concerned.
func (g *Git) ask(question string) (string, error) {
	root := filepath.VolumeName(os.TempDir()) + string(filepath.Separator) // a directory that is there
	ctx, end := g.watchDeadline(context.Background(), door{}, call{args: []string{question}})
	defer end()
	res, err := proc.Run(ctx, proc.Command{
		Path: g.opts.Path, Args: []string{question}, Env: g.baseEnv(), Dir: root,
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

func (g *Git) detect() (Version, error) {
	out, known := g.remembered()
	var err error
	if !known {
		out, err = g.ask("version")
	}
	if err != nil {
		if errors.Is(err, proc.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return Version{}, ErrNotFound
		}
		return Version{}, g.wrap([]string{"version"}, "", err)
	}
	v, err := ParseVersion(out)
	if err != nil {
		return Version{}, err
	}
	if v.Less(Floor) {
		return v, &TooOldError{Have: v}
	}
	if !known {
		g.remember(out)
	}
	return v, nil
}

// call is one run of git through a door.
type call struct {
	args    []string
	stdin   string
	input   io.Reader // instead of stdin
	config  [][2]string
	env     []string // added last
	locks   bool     // writes the index, or may, to write back what it learned
	writes  []string // other locks that it takes, relative to the common directory
	network bool     // with the user's credentials
	session bool     // answers questions until it is closed: each has a deadline of its own
	asks    bool     // for the user's identity, as git would find it out
	inherit []*os.File
}

// run runs git and returns its standard output.
func (g *Git) run(ctx context.Context, d door, c call) ([]byte, error) {
	cmd, err := g.command(ctx, d, c)
	if err != nil {
		return nil, err
	}
	defer cmd.At.Close() // which does nothing if there is none
	if c.stdin != "" {
		cmd.Stdin = strings.NewReader(c.stdin)
	} else if c.input != nil {
		cmd.Stdin = c.input
	}
	ctx, end := g.watchDeadline(ctx, d, c)
	defer end()
	done := func(error) {}
	if d.repo != nil && c.takesLocks() {
		if done, err = d.withMark(ctx, c, &cmd); err != nil {
			return nil, err
		}
	}
	res, err := proc.Run(ctx, cmd)
	done(err)
	if err != nil {
		return res.Stdout, g.wrap(c.args, cmd.Dir, err)
	}
	return res.Stdout, nil
}

// takesLocks reports whether a git that is killed may leave locks in the
// repository. One with an index of its own leaves them beside that.
func (c call) takesLocks() bool {
	hasIndex := slices.ContainsFunc(c.env, func(kv string) bool { return strings.HasPrefix(kv, "GIT_INDEX_FILE=") })
	return c.locks && !hasIndex || len(c.writes) > 0
}

// withMark gives a git that takes locks its mark.
func (d door) withMark(ctx context.Context, c call, cmd *proc.Command) (done func(error), err error) {
	m, err := d.repo.mark()
	if err != nil {
		return nil, err
	}
	locks := c.writes
	if c.locks {
		locks = append(d.repo.locksIn(d.gitDirectory()), locks...)
	}
	if err := m.writeBusy(locks); err != nil {
		m.end()
		return nil, err
	}
	cmd.Inherit = append(slices.Clip(cmd.Inherit), m.lock.File())
	return func(err error) {
		if wasKilled(err) {
			m.endKilled(ctx)
		} else {
			m.end()
		}
	}, nil
}

// start starts a long-lived git.
func (g *Git) start(ctx context.Context, d door, c call) (*proc.Process, error) {
	cmd, err := g.command(ctx, d, c)
	if err != nil {
		return nil, err
	}
	defer cmd.At.Close()
	end := func() {}
	if !c.session {
		ctx, end = g.watchDeadline(ctx, d, c)
	}
	p, err := proc.Start(ctx, cmd)
	if err != nil {
		end()
		return nil, g.wrap(c.args, cmd.Dir, err)
	}
	p.Ended = end
	return p, nil
}

func (g *Git) command(ctx context.Context, d door, c call) (proc.Command, error) {
	if _, err := g.version(); err != nil {
		return proc.Command{}, err
	}
	if d.repo != nil {
		if err := g.isTested(); err != nil {
			return proc.Command{}, err
		}
	}
	if err := d.refuseBlocking(c); err != nil {
		return proc.Command{}, err
	}
	env, err := g.hardenedEnviron(ctx, d, c)
	if err != nil {
		return proc.Command{}, err
	}
	at, err := d.openAnchor(c)
	if errors.Is(err, os.ErrNotExist) {
		err = g.wrap(c.args, d.work, err)
	}
	if err != nil {
		return proc.Command{}, err
	}
	below := g.writeBelow(ctx, d, c)
	if at != nil {
		below = slices.DeleteFunc(below, func(dir string) bool { return dir == d.work }) // what lies at the path by now
	}
	return proc.Command{
		Path: g.opts.Path, Args: append(d.args(at), c.args...), Env: append(env, c.env...), Dir: d.dir(), At: at, Inherit: c.inherit,
		WriteBelow: below,
	}, nil
}
