package lane

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/check"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
)

// LogsName is the directory of the output of checks, in the state directory.
const LogsName = "checks"

// ChecksDir holds the checkouts for checks. It is beside no user's files, and
// inside no checkout of theirs.
func (svc *Lanes) ChecksDir() string { return filepath.Join(svc.Settings.Config().DataDir, "checks") }

func cachesDir(r *project.Project) string { return filepath.Join(r.Dir, "check-caches") }

// openCache opens the cache of the checks of a target. The caller holds the lane's
// lock.
func openCache(r *project.Project, target string, paths []string) *check.Cache {
	return check.OpenCache(filepath.Join(cachesDir(r), laneName(target)), paths)
}

// SweepChecks deletes checkouts and caches of checks that were not used for long.
func (svc *Lanes) SweepChecks(r *project.Project) {
	check.SweepTrees(svc.ChecksDir(), svc.Now())
	check.SweepCaches(cachesDir(r), svc.Now(), func(lane string) string { return laneLock(r, lane) })
}

// checker lets a gate decide by the checks of a target.
type checker struct{ *check.Runner }

var _ merge.Checker = checker{}

// NewChecker returns what runs the checks of a target. The rules are those that the
// target's tip has; label begins the names of the files that the output goes to. What
// is checked may lie in the attempts alone; with nil the repository has to have
// everything. Commands that no person has approved are refused with ChecksUntrusted.
func (svc *Lanes) NewChecker(r *project.Project, rules config.Merge, label string, at *mergetree.Session) checker {
	_, workers := project.Parallel(1, r.Config.Checkout.Workers)
	return checker{&check.Runner{
		Git: r.Git, Project: check.Project{ID: r.ID, Name: r.Name(), Path: r.Path}, Now: svc.Now,
		Dirs:     check.Dirs{Trees: svc.ChecksDir(), Logs: filepath.Join(svc.Settings.Config().StateDir, LogsName)},
		Commands: rules.Checks, Timeout: time.Duration(rules.CheckTimeout), Environ: svc.Environ, Allowed: rules.CheckEnv,
		Workers: workers, Label: label, MergeTree: at,
		Approved: func(ctx context.Context) error { return svc.Rules.RequireTrusted(ctx, r, "", rules.Checks) },
	}}
}

// Check runs the commands in a checkout that holds exactly the tree.
func (c checker) Check(ctx context.Context, commit, tree string) (merge.Verdict, error) {
	checks, err := c.Run(ctx, commit, tree)
	return merge.Verdict{Passed: err == nil && check.Passed(checks), Checks: checks}, err
}

// rehashSteps hashes, right before a target moves, the commits of each step, and the trees
// and files that the step below does not have. A step with an object that is missing or has
// another hash is rejected, and the other merges are requeued.
func (svc *Lanes) rehashSteps(ctx context.Context, r *project.Project, steps []merge.Step, items []journal.Merge) (turnedAway bool, err error) {
	var spans []odb.Span
	for _, step := range steps {
		spans = append(spans, odb.Span{From: step.Parent, To: step.Commit}, odb.Span{From: step.Head, To: step.Head})
	}
	i, err := r.Git.Rehash(ctx, spans)
	_, isMissing := errors.AsType[*object.MissingError](err)
	if err == nil || i < 0 || !isMissing && !errors.Is(err, object.ErrForged) {
		return false, err
	}
	m := itemOf(items, steps[i/2].ID)
	if err := svc.rejectMerge(ctx, m, nil, explain.Error("merge", m.Workspace, err)); err != nil {
		return false, err
	}
	return true, svc.requeueUnfinished(ctx, r, m.Target)
}
