// Package check runs the checks of a target on a candidate, and reports their results.
//
// A check is a shell command that a person has approved. All checks of one Run share a
// checkout, in which they run one after the other: a check sees what those before it in the
// same Run left. A Run starts from exactly the candidate's tree and the Cache; nothing else
// of an earlier Run is there. Git in the checkout cannot change the repository's objects or
// refs. A check is not confined otherwise: it runs as the user and knows the project's path.
//
// A check sees the variables of an allow-list, and CI=true, PWD, CROFT_CHECK=1, CROFT_REPO,
// CROFT_COMMIT and CROFT_TREE. When it ends, times out or is cancelled, its
// process group is killed. A process that left the group goes on and keeps the checkout's
// lock, so that no other Run gets this checkout.
//
// The package owns the checkouts, the caches and the log files, all of them in directories of
// Croft's own, outside of workspaces and repositories. A log holds the beginning and the end
// of an output; the newest logs are kept. A process that dies leaves a checkout that the next
// Run empties, and set-aside caches that the next OpenCache deletes. A cache becomes what a
// target's checks begin with only once the tree that left it was published.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/proc"
)

// Runner runs the checks of a target. Fields without a note on zero are required. Several
// goroutines and processes may run at once; each Run has a checkout of its own.
type Runner struct {
	Git     *git.Repository
	Project Project
	Dirs    Dirs
	Now     func() time.Time

	Commands []string      // run one after the other, by a shell; empty: Run does nothing
	Timeout  time.Duration // of each; zero: none
	Environ  []string      // the user's variables, which the allow-list filters; none: a check sees none
	Allowed  []string      // names of variables that a check sees besides the usual ones, NAME* for all that begin so; none: only these. GIT_*, PWD, OLDPWD and CI never are
	Workers  int           // processes that write the checkout; below 1: one for each core
	Label    string        // begins the names of the files that the output goes to

	// Slots are taken before a checkout is made.
	Slots Slots
	// MergeTree has the commit and tree if the repository has not, or is nil. The
	// caller keeps it open until Run has returned.
	MergeTree *mergetree.Session
	// Cache is copied into the checkout before the checks run; nil: there is none.
	Cache *Cache
	// Approved is called before Run makes or runs anything; Run fails with its error.
	// Required if there are Commands.
	Approved func(context.Context) error
	// Watch is told of every command; nil: nobody asks. NewID is required with it.
	Watch Watcher
	NewID func() croft.ID
	Usual map[string]croft.Duration // how long commands usually take, for Watch
}

// Watcher is told what becomes of the commands of a Run. Several goroutines may call its
// methods at once. The context of CheckEnded may have ended.
type Watcher interface {
	CheckBegan(ctx context.Context, c croft.Check)
	CheckPrinted(ctx context.Context, c croft.Check, out croft.CheckOutput)
	CheckEnded(ctx context.Context, c croft.Check)
}

// Project is the project of a check. ID and Name are used in names of checkouts; checks
// get Path as CROFT_REPO.
type Project struct {
	ID   croft.ID
	Name string
	Path string
}

// Dirs are absolute directories of Croft's own. Run creates them.
type Dirs struct {
	Trees string // of the checkouts
	Logs  string // of the output
}

// HasNoFailure reports whether no check failed. It is true for an empty list.
func HasNoFailure(checks []croft.Check) bool {
	return !slices.ContainsFunc(checks, func(c croft.Check) bool { return !c.Passed })
}

// Run runs the commands in a checkout of tree, with commit as HEAD; the commit need not
// exist in the repository if MergeTree has it. A command that fails or times out is a
// result, not an error: it is the last of the checks, with Passed false. An error means
// that the candidate was not judged (not approved; ctx ended, and then it is
// context.Cause(ctx); no checkout or no log file), and there are no checks, not even those
// that had passed. Without Commands both are nil. If all pass, Cache sets aside the
// cached paths that they left. Submodules are empty directories.
func (r *Runner) Run(ctx context.Context, commit, tree string) ([]croft.Check, error) {
	if len(r.Commands) == 0 {
		return nil, nil
	}
	if err := r.Approved(ctx); err != nil {
		return nil, err
	}
	release, err := r.Slots.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	scratch, lock, err := r.claimPlace(ctx)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	spec := git.ScratchSpec{Commit: commit, Tree: tree, Workers: r.Workers}
	if r.MergeTree != nil {
		spec.Objects = r.MergeTree.Objects()
	}
	if err := scratch.Prepare(ctx, spec); err != nil {
		return nil, err
	}
	if err := r.Cache.fill(ctx, scratch, spec); err != nil {
		return nil, err
	}
	var checks []croft.Check
	for _, command := range r.Commands {
		done, err := r.watch(ctx, scratch, command, spec)
		if err != nil {
			return nil, err
		}
		if checks = append(checks, done); !done.Passed {
			return checks, nil
		}
	}
	r.Cache.keep(scratch, tree)
	return checks, nil
}

// errCheckTime says that a check took longer than Timeout.
var errCheckTime = errors.New("the check took too long")

// watch runs one command, and tells Watch of it.
func (r *Runner) watch(ctx context.Context, scratch *git.Scratch, command string, spec git.ScratchSpec) (croft.Check, error) {
	c := croft.Check{Command: command, Tree: spec.Tree, State: croft.TryRunning, StartedAt: r.Now(), Usual: r.Usual[command]}
	log, err := newLog(r.Dirs.Logs, r.Label, command)
	if err != nil {
		return c, err
	}
	defer log.close()
	c.Log = log.path
	if r.Watch == nil {
		return r.run(ctx, scratch, c, spec, log, log)
	}
	c.ID = r.NewID()
	r.Watch.CheckBegan(ctx, c)
	var out relay
	out.send = func(text croft.CheckOutput) {
		now := c
		now.Last = out.lastLine()
		r.Watch.CheckPrinted(ctx, now, text)
	}
	done, err := r.run(ctx, scratch, c, spec, log, io.MultiWriter(log, &out))
	rest := out.end()
	if done.Last = out.lastLine(); rest.Text != "" || rest.Left > 0 {
		r.Watch.CheckPrinted(ctx, done, rest)
	}
	if err != nil {
		done.State = croft.TryStopped
	}
	r.Watch.CheckEnded(ctx, done)
	return done, err
}

// run runs one command, whose output goes to out. A command that fails, or takes too long, is a
// result and no error.
func (r *Runner) run(ctx context.Context, scratch *git.Scratch, done croft.Check, spec git.ScratchSpec, log *log, out io.Writer) (croft.Check, error) {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.Timeout > 0 {
		defer time.AfterFunc(r.Timeout, func() { cancel(errCheckTime) }).Stop()
	}
	path, args := proc.Shell(done.Command)
	begun := time.Now()
	err := proc.RunGroup(limited, proc.Command{
		Path: path, Args: args, Dir: scratch.Path, Stdout: out, Inherit: scratch.Inherit,
		Env: r.environ(scratch.Path, spec),
	})
	done.Took = croft.Duration(time.Since(begun))
	done.State = croft.TryFailed
	exit, exited := errors.AsType[*proc.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return done, context.Cause(ctx)
	case err == nil:
		done.State, done.Passed = croft.TryPassed, true
		return done, nil
	case errors.Is(err, errCheckTime):
		log.remark(fmt.Sprintf("killed after %s, which is merge.check_timeout", r.Timeout))
	case exited && exit.Code < 0:
		log.remark("killed by a signal")
	case exited:
		log.remark(fmt.Sprintf("exit status %d", exit.Code))
	default:
		return done, err
	}
	done.Tail = log.tail()
	return done, nil
}

// maxPlaces is how many checkouts a repository may have for its checks. So many are in
// use only if as many checks run, or left processes behind.
const maxPlaces = 1024

// claimPlace locks the first checkout that no process uses, or makes another. The
// processes of a check inherit the lock, so that a checkout in which one of them survives,
// because Croft was killed or it left its group, is not used before that process ends.
// Any process that is just being started holds the lock for a moment too, so claimPlace
// looks several times before it makes another checkout.
func (r *Runner) claimPlace(ctx context.Context) (*git.Scratch, *flock.Lock, error) {
	for look := 0; ; look++ {
		for n := range maxPlaces {
			dir := filepath.Join(r.Dirs.Trees, r.Project.Name+"-"+string(r.Project.ID)+"-"+strconv.Itoa(n))
			if _, err := os.Lstat(dir); err != nil && look < placeLooks {
				break
			}
			s, lock, err := r.tryPlace(dir)
			if !errors.Is(err, flock.ErrHeld) {
				return s, lock, err
			}
		}
		if look == placeLooks {
			return nil, nil, &croft.Error{
				Code: croft.LimitReached, Message: fmt.Sprintf("all %d checkouts for checks are in use", maxPlaces), Details: r.Dirs.Trees,
			}
		}
		select {
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		case <-time.After(placeWait):
		}
	}
}

const (
	placeLooks = 2
	placeWait  = 5 * time.Millisecond
)

func (r *Runner) tryPlace(dir string) (*git.Scratch, *flock.Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "lock")
	lock, err := flock.Try(file)
	if err != nil {
		return nil, nil, err
	}
	now := r.Now()
	_ = os.Chtimes(file, now, now) // SweepTrees reads the time of the last use
	s := r.Git.Scratch(dir, r.Project.Name)
	s.Inherit = []*os.File{lock.ForChild()}
	return s, lock, nil
}

// IdleTime is how long a checkout is kept after a Run last began in it, and a cache after a
// copy was last set aside, adopted or deleted.
const IdleTime = 7 * 24 * time.Hour

// SweepTrees deletes what is in the checkouts that were last used before now minus IdleTime
// and that no process has locked. The lock files stay: a process that waits for one must
// find the same file. A directory without a lock file is left alone.
func SweepTrees(trees string, now time.Time) {
	entries, _ := os.ReadDir(trees)
	for _, entry := range entries {
		dir := filepath.Join(trees, entry.Name())
		info, err := os.Stat(filepath.Join(dir, "lock"))
		if err != nil || now.Sub(info.ModTime()) < IdleTime {
			continue
		}
		lock, err := flock.TryExisting(filepath.Join(dir, "lock"))
		if err != nil {
			continue
		}
		inside, _ := os.ReadDir(dir)
		for _, f := range inside {
			if f.Name() != "lock" {
				_ = fsx.RemoveOwn(filepath.Join(dir, f.Name()))
			}
		}
		_ = lock.Unlock()
	}
}
