package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/check"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// reject ends a merge that cannot be: it stays pending, with the reason.
func (e *Engine) reject(ctx context.Context, r *repo, m journal.Merge, conflicts []croft.ConflictedPath, reason error) error {
	why := croft.AsError("merge", reason)
	m.Reject(why, conflicts, e.now())
	rec, err := e.journal.Record(ctx, m.WorkspaceID)
	if m.Kind != croft.KindMerge || errors.Is(err, journal.ErrNotFound) || err == nil && rec.Workspace.State == croft.Trashed {
		return e.journal.Update(ctx, func(tx *journal.Tx) error {
			return errors.Join(tx.PutMerge(m), tx.Emit(e.mergeEvent(croft.EventMergePending, m)))
		})
	}
	if err != nil {
		return err
	}
	rec.Workspace.MergeStatus = croft.MergePending
	return e.saveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(tx.PutMerge(m), tx.Emit(e.mergeEvent(croft.EventMergePending, m)))
	})
}

// unlanded decides what becomes of items that could not be landed, for a reason
// that was not foreseen. Where the machine is the reason, they go back to where
// they were and whoever drives the lane is told. Else one of them is: they are
// taken one by one, and the one that fails by itself is turned away with the
// reason, so that no item stops a lane.
func (e *Engine) unlanded(ctx context.Context, r *repo, target string, items []journal.Merge, cause error) error {
	why, _ := errors.AsType[*croft.Error](explain.Error("merge", "", cause))
	if err := e.release(context.WithoutCancel(ctx), r, target); err != nil || ctx.Err() != nil || slices.Contains(ofTheMachine, why.Code) {
		return errors.Join(cause, err)
	}
	if len(items) > 1 {
		return e.takeApart(ctx, items)
	}
	m, err := e.journal.Merge(ctx, items[0].ID)
	if err != nil || m.State == croft.MergeDone {
		return errors.Join(cause, err)
	}
	if why.Details == "" {
		why.Details = cause.Error()
	}
	return e.reject(ctx, r, m, nil, why)
}

// ofTheMachine are the reasons that are no item's: the next one would fail too.
var ofTheMachine = []croft.Code{
	croft.Canceled, croft.NoSpace, croft.DiskError, croft.StateUnavailable, croft.GitNotFound, croft.GitTooOld, croft.GitUnsafe, croft.ConfigChanged,
	croft.ConfigInvalid,
}

// takeApart has items tried one by one, each by itself.
func (e *Engine) takeApart(ctx context.Context, items []journal.Merge) error {
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, it := range items {
			m, err := tx.Merge(it.ID)
			if err != nil {
				return err
			}
			if m.State == croft.MergeDone {
				continue
			}
			m.RequeueAlone()
			if err := tx.PutMerge(m); err != nil {
				return err
			}
		}
		return nil
	})
}

// rejectAll ends everything that waits in a lane which cannot be driven.
func (e *Engine) rejectAll(ctx context.Context, r *repo, target string, reason error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	waiting, err := e.journal.Waiting(ctx, r.id, target, -1)
	if err != nil {
		return err
	}
	for _, m := range waiting {
		if err := e.reject(ctx, r, m, nil, explain.Error("merge", m.Workspace, reason)); err != nil {
			return err
		}
	}
	return nil
}

// endEmpty ends a merge of work that the target has already: by an attempt
// whose end was not known, or because there was nothing to bring.
func (e *Engine) endEmpty(ctx context.Context, r *repo, tip string, m journal.Merge) error {
	m.EndMerged("nothing to merge", e.now())
	if m.Tried != "" {
		if in, err := r.git.IsAncestor(ctx, m.Tried, tip); err != nil {
			return err
		} else if in {
			m.Commit, m.Message = m.Tried, ""
		}
	}
	m.Tried = ""
	if m.Kind == croft.KindRevert && m.Commit == "" {
		return e.reject(ctx, r, m, nil, nothingToRevert(m.Merge))
	}
	rec, err := e.journal.Record(ctx, m.WorkspaceID)
	if m.Part || err != nil || rec.Workspace.State == croft.Trashed {
		return e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.PutMerge(m) })
	}
	rec.Workspace.MergeStatus = croft.MergeMerged
	if m.Commit != "" {
		rec.Workspace.MergeCommit = m.Commit
	}
	return e.saveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(tx.PutMerge(m), tx.Emit(e.mergeEvent(croft.EventMergeMerged, m)))
	})
}

// passing is what of a stack may be published, and what its checks said.
type passing struct {
	steps  []merge.Step
	checks []croft.Check
	cache  *check.Cache // with what the checks left, or nil
}

// pass has a stack checked by the target's own checks. Whoever breaks it is
// turned away; those above wait for the next turn.
func (e *Engine) pass(ctx context.Context, r *repo, target, tip string, rules config.Merge, attempts *git.Attempts, steps []merge.Step, items []journal.Merge) (passing, error) {
	if len(rules.Checks) == 0 {
		return passing{steps: steps}, nil
	}
	hash, trusted, err := e.checksTrusted(ctx, r, rules.Checks)
	if err != nil {
		return passing{}, err
	}
	if !trusted {
		return passing{}, e.rejectAll(ctx, r, target, checksUntrusted(r, target, hash, rules.Checks))
	}
	if err := e.checking(ctx, steps); err != nil {
		return passing{}, err
	}
	at, err := attempts.ReadCommit(ctx, tip)
	if err != nil {
		return passing{}, err
	}
	checker := e.newChecker(r, rules, string(steps[0].ID), attempts)
	checker.Cache = r.openCache(target, rules.CheckCache)
	gate := merge.Gate{Checker: checker, Slots: rules.Slots}
	d, err := gate.Decide(ctx, tip, at.Tree, steps)
	if err != nil {
		checker.Cache.Discard()
		return passing{}, err
	}
	checker.Cache.Adopt(at.Tree) // what the target itself passed with, if that was tried
	passed := passing{steps: steps[:d.Pass], checks: d.Verdict.Checks, cache: checker.Cache}
	if d.Broken {
		return passed, e.rejectAll(ctx, r, target, targetBroken(target, d.BlamedVerdict))
	}
	if d.Blamed >= 0 {
		m := itemOf(items, steps[d.Blamed].ID)
		m.Checks = d.BlamedVerdict.Checks
		if err := e.reject(ctx, r, m, nil, checkFailed(m, d.BlamedVerdict)); err != nil {
			return passed, err
		}
	}
	return passed, e.putBack(ctx, steps[d.Pass:], d.Blamed-d.Pass)
}

// checking says of the items of a stack that they are being checked.
func (e *Engine) checking(ctx context.Context, steps []merge.Step) error {
	return e.setState(ctx, steps, croft.MergeChecking)
}

// putBack lets the items that are neither published nor blamed wait again.
func (e *Engine) putBack(ctx context.Context, steps []merge.Step, blamed int) error {
	left := slices.Clone(steps)
	if blamed >= 0 && blamed < len(left) {
		left = slices.Delete(left, blamed, blamed+1)
	}
	return e.setState(ctx, left, croft.MergeQueued)
}

func (e *Engine) setState(ctx context.Context, steps []merge.Step, state croft.MergeState) error {
	if len(steps) == 0 {
		return nil
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, step := range steps {
			m, err := tx.Merge(step.ID)
			if err != nil {
				return err
			}
			m.Enter(state)
			if err := tx.PutMerge(m); err != nil {
				return err
			}
		}
		return nil
	})
}

func checkFailed(m journal.Merge, v merge.Verdict) error {
	command, tail := failedCheck(v)
	return &croft.Error{
		Code: croft.CheckFailed, Message: fmt.Sprintf("merged with %s, the check %q fails", m.Target, command), Details: tail,
		Hint: "croft sh " + m.Workspace,
	}
}

func targetBroken(target string, v merge.Verdict) error {
	command, tail := failedCheck(v)
	return &croft.Error{
		Code: croft.TargetBroken, Message: fmt.Sprintf("the check %q fails on %s itself", command, target), Details: tail,
		Hint: "git log " + target,
	}
}

func failedCheck(v merge.Verdict) (command, tail string) {
	for _, c := range v.Checks {
		if !c.Passed {
			return c.Command, c.Tail
		}
	}
	return "", ""
}

// tidyUp puts the workspaces away whose work was merged, if they are idle.
func (e *Engine) tidyUp(ctx context.Context, r *repo) error {
	untidy, err := e.journal.Untidy(ctx, r.id)
	if err != nil {
		return err
	}
	for _, m := range untidy {
		if err := e.tidy(ctx, r, m); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) tidy(ctx context.Context, r *repo, m journal.Merge) error {
	rec, err := e.journal.Record(ctx, m.WorkspaceID)
	var kept *croft.Error
	if err == nil && rec.Workspace.State != croft.Trashed {
		how := removal{Event: croft.EventWorkspaceRemoved, Head: m.Head, act: act{id: m.Act, actor: actorOf(m.Merge)}}
		_, err = e.removeOne(ctx, r, rec, how, croft.RemoveSafe)
		if ctx.Err() != nil {
			return err
		}
		if err != nil && !errors.Is(err, croft.WorktreeNotFound) {
			kept = croft.AsError("merge", explain.Error("merge", rec.Workspace.Name, err))
		}
	}
	// One that cannot go, because somebody is at work in it, something in it is
	// not committed or came while checks ran, stays and is shown as merged.
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Merge(m.ID)
		if err != nil {
			return err
		}
		now.Untidy, now.Kept = false, kept
		return tx.PutMerge(now)
	})
}
