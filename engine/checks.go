package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/proc"
)

// checker runs a target's checks in scratch checkouts on this machine.
type checker struct {
	e     *Engine
	r     *repo
	rules config.Merge
	label string
	at    *git.Attempts
	cache *checkCache // what a check begins with, or nil
}

// newChecker returns what runs the checks of a target. The rules are those that
// the target's tip has; label begins the names of the files that the output
// goes to.
//
// What is checked may lie in the attempts alone. Who calls keeps them open
// until Check has returned, and need not have kept anything of them; nothing
// that a check does reaches the repository's objects or refs through them. With
// nil the repository has to have everything.
//
// Check refuses commands that no person has approved with ChecksUntrusted. It
// may be called by several goroutines, each of which gets a checkout of its
// own, made for it: nothing that another check did is in there. Submodules are
// empty.
func (e *Engine) newChecker(r *repo, rules config.Merge, label string, at *git.Attempts) *checker {
	return &checker{e: e, r: r, rules: rules, label: label, at: at}
}

var _ merge.Checker = (*checker)(nil)

// Check runs the commands one after the other in a checkout that holds exactly
// the tree, and stops at the first that fails.
func (c *checker) Check(ctx context.Context, commit, tree string) (merge.Verdict, error) {
	v := merge.Verdict{Passed: true}
	if len(c.rules.Checks) == 0 {
		return v, nil
	}
	hash, ok, err := c.e.checksTrusted(ctx, c.r, c.rules.Checks)
	if err != nil {
		return merge.Verdict{}, err
	}
	if !ok {
		return merge.Verdict{}, checksUntrusted(c.r, "", hash, c.rules.Checks)
	}
	place, err := c.e.claimPlace(ctx, c.r)
	if err != nil {
		return merge.Verdict{}, err
	}
	defer place.release()
	_, workers := parallel(1, c.r.cfg.Checkout.Workers)
	spec := git.ScratchSpec{Commit: commit, Tree: tree, Workers: workers}
	if c.at != nil {
		spec.Objects = c.at.Objects()
	}
	if err := place.scratch.Prepare(ctx, spec); err != nil {
		return merge.Verdict{}, err
	}
	if err := c.cache.fill(ctx, place.scratch, spec); err != nil {
		return merge.Verdict{}, err
	}
	for _, command := range c.rules.Checks {
		done, err := c.run(ctx, place, command, spec)
		if err != nil {
			return merge.Verdict{}, err
		}
		v.Checks = append(v.Checks, done)
		if !done.Passed {
			v.Passed = false
			break
		}
	}
	if v.Passed {
		c.cache.keep(place.scratch, tree)
	}
	return v, nil
}

// errCheckTime says that a check took longer than it may.
var errCheckTime = errors.New("the check took too long")

// run runs one command. That it fails, or takes too long, is an answer.
func (c *checker) run(ctx context.Context, place *checkPlace, command string, spec git.ScratchSpec) (croft.Check, error) {
	done := croft.Check{Command: command, Tree: spec.Tree}
	log, err := c.e.newCheckLog(c.label, command)
	if err != nil {
		return done, err
	}
	done.Log = log.path
	limit := time.Duration(c.rules.CheckTimeout)
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if limit > 0 {
		defer time.AfterFunc(limit, func() { cancel(errCheckTime) }).Stop()
	}
	path, args := proc.Shell(command)
	begun := time.Now()
	err = proc.RunGroup(limited, proc.Command{
		Path: path, Args: args, Dir: place.scratch.Path, Stdout: log, Inherit: place.scratch.Inherit,
		Env: c.environ(place.scratch.Path, spec),
	})
	done.Took = time.Since(begun)
	exit, exited := errors.AsType[*proc.ExitError](err)
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil:
		done.Passed = true
	case errors.Is(err, errCheckTime):
		log.remark(fmt.Sprintf("killed after %s, which is merge.check_timeout", limit))
		err = nil
	case exited && exit.Code < 0:
		log.remark("killed by a signal")
		err = nil
	case exited:
		log.remark(fmt.Sprintf("exit status %d", exit.Code))
		err = nil
	}
	log.close()
	if err == nil && !done.Passed {
		done.Tail = log.tail()
	}
	return done, err
}

// checkPlace is a scratch checkout that this process has claimed.
type checkPlace struct {
	scratch *git.Scratch
	lock    *flock.Lock
}

func (p *checkPlace) release() { _ = p.lock.Unlock() }

// maxPlaces is how many checkouts a repository may have for its checks. That
// many are in use only if as many checks run, or left processes behind.
const maxPlaces = 1024

// checksDir holds the checkouts for checks. It is beside no user's files, and
// inside no checkout of theirs.
func (e *Engine) checksDir() string { return filepath.Join(e.set.Config().DataDir, "checks") }

// claimPlace takes the first checkout that nobody uses, or makes another. The
// processes of a check inherit the lock, so that one of which something
// survives, because Croft was killed or it ran away, is not used before that has
// ended. Any process that is just being started has the lock for a moment too,
// so that a second look is worth its while.
func (e *Engine) claimPlace(ctx context.Context, r *repo) (*checkPlace, error) {
	for look := 0; ; look++ {
		for n := range maxPlaces {
			dir := filepath.Join(e.checksDir(), r.name()+"-"+string(r.id)+"-"+strconv.Itoa(n))
			if _, err := os.Lstat(dir); err != nil && look < placeLooks {
				break
			}
			p, err := e.tryPlace(r, dir)
			if !errors.Is(err, flock.ErrHeld) {
				return p, err
			}
		}
		if look == placeLooks {
			return nil, &croft.Error{
				Code: croft.LimitReached, Message: fmt.Sprintf("all %d checkouts for checks are in use", maxPlaces), Details: e.checksDir(),
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(placeWait):
		}
	}
}

const (
	placeLooks = 2
	placeWait  = 5 * time.Millisecond
)

func (e *Engine) tryPlace(r *repo, dir string) (*checkPlace, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "lock")
	lock, err := flock.Try(file)
	if err != nil {
		return nil, err
	}
	now := e.now()
	_ = os.Chtimes(file, now, now) // so that it is known when it was last used
	s := r.git.Scratch(dir, r.name())
	s.Inherit = []*os.File{lock.File()}
	return &checkPlace{s, lock}, nil
}

// checksIdle is how long a checkout for checks is kept after its last use.
const checksIdle = 7 * 24 * time.Hour

// sweepPlaces deletes the checkouts for checks that nobody has used for long.
// Their locks stay: whoever waits for one must find the same file.
func (e *Engine) sweepPlaces() {
	entries, _ := os.ReadDir(e.checksDir())
	for _, entry := range entries {
		dir := filepath.Join(e.checksDir(), entry.Name())
		info, err := os.Stat(filepath.Join(dir, "lock"))
		if err != nil || e.now().Sub(info.ModTime()) < checksIdle {
			continue
		}
		lock, err := flock.TryThere(filepath.Join(dir, "lock"))
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
