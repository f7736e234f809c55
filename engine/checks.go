package engine

import (
	"context"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/check"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/merge"
)

// logsName is the directory of the output of checks, in the state directory.
const logsName = "checks"

// checksDir holds the checkouts for checks. It is beside no user's files, and
// inside no checkout of theirs.
func (e *Engine) checksDir() string { return filepath.Join(e.set.Config().DataDir, "checks") }

func (r *repo) cachesDir() string { return filepath.Join(r.dir, "check-caches") }

// openCache opens the cache of the checks of a target. The caller holds the lane's
// lock.
func (r *repo) openCache(target string, paths []string) *check.Cache {
	return check.OpenCache(filepath.Join(r.cachesDir(), laneName(target)), paths)
}

// sweepChecks deletes what checks have left and nobody has used for long.
func (e *Engine) sweepChecks(r *repo) {
	check.SweepTrees(e.checksDir(), e.now())
	check.SweepCaches(r.cachesDir(), e.now(), func(lane string) string { return filepath.Join(r.dir, "lanes", lane+".lock") })
}

// checker lets a gate decide by the checks of a target.
type checker struct{ *check.Runner }

var _ merge.Checker = checker{}

// newChecker returns what runs the checks of a target. The rules are those that the
// target's tip has; label begins the names of the files that the output goes to. What
// is checked may lie in the attempts alone; with nil the repository has to have
// everything. Commands that no person has approved are refused with ChecksUntrusted.
func (e *Engine) newChecker(r *repo, rules config.Merge, label string, at *git.Attempts) checker {
	_, workers := parallel(1, r.cfg.Checkout.Workers)
	return checker{&check.Runner{
		Git: r.git, Project: check.Project{ID: r.id, Name: r.name(), Path: r.path}, Now: e.now,
		Dirs:     check.Dirs{Trees: e.checksDir(), Logs: filepath.Join(e.set.Config().StateDir, logsName)},
		Commands: rules.Checks, Timeout: time.Duration(rules.CheckTimeout), Environ: e.opts.Environ, Allowed: rules.CheckEnv,
		Workers: workers, Label: label, Attempts: at,
		Approved: func(ctx context.Context) error {
			hash, ok, err := e.checksTrusted(ctx, r, rules.Checks)
			if err == nil && !ok {
				err = checksUntrusted(r, "", hash, rules.Checks)
			}
			return err
		},
	}}
}

// Check runs the commands in a checkout that holds exactly the tree.
func (c checker) Check(ctx context.Context, commit, tree string) (merge.Verdict, error) {
	checks, err := c.Run(ctx, commit, tree)
	return merge.Verdict{Passed: err == nil && check.Passed(checks), Checks: checks}, err
}
