package lane

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/attempt"
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

// rejectMerge ends a merge that cannot land: it stays pending, with the reason.
func (svc *Lanes) rejectMerge(ctx context.Context, m journal.Merge, conflicts []croft.ConflictedPath, reason error) error {
	why := croft.AsError("merge", reason)
	m.Reject(why, conflicts, svc.Now())
	rec, err := svc.Journal.Record(ctx, m.Workspace)
	put := func(tx *journal.Tx) error {
		return errors.Join(tx.PutMerge(&m), tx.Emit(svc.MergeEvent(croft.EventMergePending, m)))
	}
	if m.Kind != croft.KindMerge || errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		return svc.Journal.Update(ctx, put)
	}
	if err != nil {
		return err
	}
	rec.Workspace.MergeStatus = croft.MergePending
	return svc.SaveRecord(ctx, &rec, put)
}

// afterFailedBatch handles a batch that failed for an unforeseen reason. If the reason is
// the machine's, the merges are requeued and the driver returns the error. Otherwise one of
// the merges is the reason: they are tried one by one, and one that fails by itself is
// rejected, so that no merge stops a lane.
func (svc *Lanes) afterFailedBatch(ctx context.Context, r *project.Project, target string, items []journal.Merge, cause error) error {
	why, _ := errors.AsType[*croft.Error](explain.Error("merge", "", cause))
	if err := svc.requeueUnfinished(context.WithoutCancel(ctx), r, target); err != nil || ctx.Err() != nil || slices.Contains(ofTheMachine, why.Code) {
		return errors.Join(cause, err)
	}
	if len(items) > 1 {
		return svc.requeueAlone(ctx, idsOf(items, func(m journal.Merge) croft.ID { return m.ID }))
	}
	m, err := svc.Journal.Merge(ctx, items[0].ID)
	if err != nil || m.State == croft.MergeDone {
		return errors.Join(cause, err)
	}
	if why.Details == "" {
		why.Details = cause.Error()
	}
	return svc.rejectMerge(ctx, m, nil, why)
}

// ofTheMachine are the codes of failures that no merge causes: the next merge would
// fail too.
var ofTheMachine = []croft.Code{
	croft.Canceled, croft.NoSpace, croft.DiskError, croft.StateUnavailable, croft.GitNotFound, croft.GitTooOld, croft.GitUnsafe, croft.ConfigChanged,
	croft.ConfigInvalid,
}

// requeueAlone requeues merges so that each is tried by itself.
func (svc *Lanes) requeueAlone(ctx context.Context, ids []croft.ID) error {
	return svc.changeMerges(ctx, ids, func(m *journal.Merge) bool {
		if m.State == croft.MergeDone {
			return false
		}
		m.RequeueAlone()
		return true
	})
}

// rejectAll rejects all merges that wait in a lane which cannot be driven.
func (svc *Lanes) rejectAll(ctx context.Context, r *project.Project, target string, reason error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	waiting, err := svc.Journal.Waiting(ctx, r.ID, target, -1)
	if err != nil {
		return err
	}
	tip, _ := r.Git.ReadRef(ctx, "refs/heads/"+target) // that it cannot be read may be the reason
	for _, m := range waiting {
		m.Before = tip
		if err := svc.rejectMerge(ctx, m, nil, explain.Error("merge", m.WorkspaceName, reason)); err != nil {
			return err
		}
	}
	return nil
}

// endEmpty ends a merge whose work the target already has: an earlier attempt published it
// and could not record that, or it brings nothing. It rejects a revert that brings nothing.
func (svc *Lanes) endEmpty(ctx context.Context, r *project.Project, tip string, m journal.Merge) error {
	m.EndMerged("nothing to merge", svc.Now())
	if m.Tried != "" {
		if in, err := r.Git.IsAncestor(ctx, m.Tried, tip); err != nil {
			return err
		} else if in {
			m.Commit, m.Message = m.Tried, ""
		}
	}
	m.Tried = ""
	if m.Kind == croft.KindRevert && m.Commit == "" {
		return svc.rejectMerge(ctx, m, nil, attempt.NothingToRevertError(m.Merge))
	}
	rec, err := svc.Journal.Record(ctx, m.Workspace)
	if m.Part || err != nil || rec.Workspace.State == croft.Trashed {
		return svc.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.PutMerge(&m) })
	}
	rec.Workspace.MergeStatus = croft.MergeMerged
	if m.Commit != "" {
		rec.Workspace.MergeCommit = m.Commit
	}
	return svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(tx.PutMerge(&m), tx.Emit(svc.MergeEvent(croft.EventMergeMerged, m)))
	})
}

// passing is the part of a stack that may be published, with the results of its checks.
type passing struct {
	steps  []merge.Step
	checks []croft.Check
	cache  *check.Cache // with the files that the checks left, or nil
	book   *attempt.Book
}

// runChecks runs the target's checks on a stack. It rejects the merge that breaks them
// and requeues the merges above it. If no person has approved the checks, or if they fail on
// the target itself, it rejects all merges that wait in the lane.
func (svc *Lanes) runChecks(ctx context.Context, r *project.Project, l landing, attempts *mergetree.Session, steps []merge.Step) (passing, error) {
	target, rules := l.target, l.rules
	if len(rules.Checks) == 0 {
		book := svc.newBook(r, l, steps)
		whole := tryOf(steps)
		book.Begin(whole)
		book.End(whole, merge.Verdict{Passed: true})
		return passing{steps: steps, book: book}, nil
	}
	approved, err := svc.approvalOf(ctx, r, target, rules.Checks)
	if errors.Is(err, croft.ChecksUntrusted) {
		return passing{}, svc.rejectAll(ctx, r, target, err)
	}
	if err != nil {
		return passing{}, err
	}
	if steps, err = svc.settleBlocked(ctx, r, l, attempts, steps); err != nil || len(steps) == 0 {
		return passing{}, err
	}
	book := svc.newBook(r, l, steps)
	if err := svc.setState(ctx, steps, croft.MergeChecking); err != nil {
		return passing{}, err
	}
	at, err := attempts.ReadCommit(ctx, l.tip)
	if err != nil {
		return passing{}, err
	}
	checker := svc.NewChecker(r, rules, string(steps[0].ID), attempts)
	checker.Approved = approved
	checker.Cache = openCache(r, target, rules.CheckCache)
	checker.Watch, checker.NewID = watcher{svc, book}, project.NewID
	if checker.Usual, err = attempt.Usual(ctx, svc.Journal, r.ID, target); err != nil {
		return passing{}, err
	}
	gate := merge.Gate{Checker: checker, Slots: rules.Slots, Begins: book.Begin, Ends: watcher{svc, book}.ends}
	d, err := gate.Decide(ctx, l.tip, at.Tree, steps)
	if err != nil {
		checker.Cache.Discard()
		book.StopAll()
		return passing{}, errors.Join(err, book.Save(context.WithoutCancel(ctx), svc.Journal, nil))
	}
	checker.Cache.Adopt(at.Tree) // the files that the target's own check left, if it was run
	passed := passing{steps: steps[:d.Pass], checks: d.Verdict.Checks, cache: checker.Cache, book: book}
	if d.Pass < len(steps) { // otherwise it is written with the publication
		if err := book.Save(ctx, svc.Journal, nil); err != nil {
			return passed, err
		}
	}
	if d.Broken {
		return passed, svc.rejectAll(ctx, r, target, attempt.TargetBrokenError(target, d.BlamedVerdict))
	}
	if d.Blamed >= 0 {
		m := itemOf(l.items, steps[d.Blamed].ID)
		m.Checks = d.BlamedVerdict.Checks
		book.Write(&m)
		if err := svc.rejectMerge(ctx, m, nil, attempt.CheckFailedError(m, d.BlamedVerdict)); err != nil {
			return passed, err
		}
	}
	return passed, svc.requeueRest(ctx, steps[d.Pass:], d.Blamed-d.Pass)
}

// requeueRest requeues the merges of a stack that are neither published nor rejected.
func (svc *Lanes) requeueRest(ctx context.Context, steps []merge.Step, blamed int) error {
	left := slices.Clone(steps)
	if blamed >= 0 && blamed < len(left) {
		left = slices.Delete(left, blamed, blamed+1)
	}
	return svc.setState(ctx, left, croft.MergeQueued)
}

func (svc *Lanes) setState(ctx context.Context, steps []merge.Step, state croft.MergeState) error {
	return svc.changeMerges(ctx, idsOf(steps, func(s merge.Step) croft.ID { return s.ID }), func(m *journal.Merge) bool {
		m.Enter(state)
		return true
	})
}

// LogsName is the directory of the output of checks, in the state directory.
const LogsName = "checks"

// ChecksDir returns the directory of the checkouts for checks. It is not in a checkout
// of the user, nor beside one.
func (svc *Lanes) ChecksDir() string { return filepath.Join(svc.Settings.Config().DataDir, "checks") }

func cachesDir(r *project.Project) string { return filepath.Join(r.Dir, "check-caches") }

// openCache opens the cache of the checks of a target. The caller holds the lane's
// lock.
func openCache(r *project.Project, target string, paths []string) *check.Cache {
	return check.OpenCache(filepath.Join(cachesDir(r), laneName(target)), paths)
}

// SweepChecks deletes checkouts of checks, of all projects, and caches of this project's
// lanes that were not used for long and that no process has locked.
func (svc *Lanes) SweepChecks(r *project.Project) {
	check.SweepTrees(svc.ChecksDir(), svc.Now())
	check.SweepCaches(cachesDir(r), svc.Now(), func(lane string) string { return laneLockPath(r, lane) })
}

// checker adapts a check.Runner to merge.Checker.
type checker struct{ *check.Runner }

var _ merge.Checker = checker{}

// NewChecker returns a checker that runs the checks of a target. rules are the rules at
// the target's tip; label begins the names of the log files. The commits and trees to
// check may be only in at; if at is nil the repository must have them. Commands that no
// person has approved are refused with ChecksUntrusted.
func (svc *Lanes) NewChecker(r *project.Project, rules config.Merge, label string, at *mergetree.Session) checker {
	_, workers := project.Parallel(1, r.Config.Checkout.Workers)
	return checker{&check.Runner{
		Git: r.Git, Project: check.Project{ID: r.ID, Name: r.Name(), Path: r.Path}, Now: svc.Now,
		Dirs:     check.Dirs{Trees: svc.ChecksDir(), Logs: filepath.Join(svc.Settings.Config().StateDir, LogsName)},
		Commands: rules.Checks, Timeout: time.Duration(rules.CheckTimeout), Environ: svc.Environ, Allowed: rules.CheckEnv,
		Workers: workers, Label: label, MergeTree: at,
		Slots:    check.Slots{Dir: filepath.Join(r.Dir, "check-slots"), N: rules.Slots},
		Approved: func(ctx context.Context) error { return svc.Rules.RequireTrusted(ctx, r, "", rules.Checks) },
	}}
}

// Check runs the commands in a checkout that has exactly the files of tree and, if there
// is a cache, its ignored paths.
func (c checker) Check(ctx context.Context, commit, tree string) (merge.Verdict, error) {
	checks, err := c.Run(ctx, commit, tree)
	return merge.Verdict{Passed: err == nil && check.HasNoFailure(checks), Checks: checks}, err
}

// rehashSteps hashes, right before a target moves, the commits of each step, and the
// trees and files that the step below does not have. It rejects a step with an object
// that is missing or has another hash, and requeues the other merges.
func (svc *Lanes) rehashSteps(ctx context.Context, r *project.Project, steps []merge.Step, items []journal.Merge) (isRejected bool, err error) {
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
	if err := svc.rejectMerge(ctx, m, nil, explain.Error("merge", m.WorkspaceName, err)); err != nil {
		return false, err
	}
	return true, svc.requeueUnfinished(ctx, r, m.Target)
}
