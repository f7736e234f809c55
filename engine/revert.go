package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// showRevert says what a revert would meet.
func (e *Engine) showRevert(ctx context.Context, s standing, req croft.RevertRequest) (*croft.RevertPlan, error) {
	plan, _, err := e.planRevert(ctx, s.repo, req)
	return plan, err
}

func nothingToRevert(m croft.Merge) error {
	return &croft.Error{
		Code: croft.NotMerged, Workspace: m.Workspace,
		Message: fmt.Sprintf("taking it back would change nothing: %s has none of its changes, or had them before it", m.Target),
		Hint:    "croft queue --all",
	}
}

// planRevert refuses a revert that would change nothing.
func (e *Engine) planRevert(ctx context.Context, r *repo, req croft.RevertRequest) (*croft.RevertPlan, journal.Merge, error) {
	m, err := e.findMerge(ctx, r, req)
	if err != nil {
		return nil, m, err
	}
	plan := &croft.RevertPlan{Merge: m.Merge, Branch: m.Target}
	if plan.Target, err = r.git.ReadRef(ctx, "refs/heads/"+m.Target); err != nil {
		return nil, m, targetNotFound(m.Target, err)
	}
	if m.Commit == "" || m.Status != croft.MergeMerged {
		return nil, m, e.notMerged(ctx, r, m)
	}
	if in, err := r.git.IsAncestor(ctx, m.Commit, plan.Target); err != nil || !in {
		return nil, m, errors.Join(err, e.notMerged(ctx, r, m))
	}
	if plan.Later, err = e.journal.MergedAfter(ctx, m); err != nil {
		return nil, m, err
	}
	attempts, err := r.git.Attempts(git.InMemory)
	if err != nil {
		return nil, m, err
	}
	defer attempts.Close()
	merged, err := attempts.MergeOver(ctx, m.Commit, plan.Target, m.Before)
	if err != nil {
		return nil, m, err
	}
	at, err := attempts.ReadCommit(ctx, plan.Target)
	if err == nil && merged.Clean() && merged.Tree == at.Tree {
		err = nothingToRevert(m.Merge)
	}
	if err != nil {
		return nil, m, err
	}
	for _, c := range merged.Conflicts {
		plan.Conflicts = append(plan.Conflicts, croft.ConflictedPath{Path: c.Path, Kind: c.Kind})
	}
	return plan, m, nil
}

// notMerged says of a merge that it cannot be taken back, and which earlier ones
// of the same workspace can.
func (e *Engine) notMerged(ctx context.Context, r *repo, m journal.Merge) error {
	why := &croft.Error{
		Code: croft.NotMerged, Workspace: m.Workspace, Message: fmt.Sprintf("it is not in %s: it is %s", m.Target, cmp.Or(string(m.Status), "not merged")),
		Hint: "croft queue --all",
	}
	if m.Status == croft.MergeMerged { // and is not in the history of the target
		why.Message = fmt.Sprintf("it is not in %s any more: the branch was set to another commit", m.Target)
	}
	all, err := e.journal.MergesOf(ctx, m.WorkspaceID)
	if err != nil {
		return err
	}
	var earlier []string
	for _, other := range all {
		if other.Target != m.Target || other.Published >= m.Published {
			continue
		}
		if in, err := e.canRevert(ctx, r, other); err != nil {
			return err
		} else if in {
			earlier = append(earlier, string(other.ID))
		}
	}
	switch len(earlier) {
	case 0:
		return why
	case 1:
		why.Message = fmt.Sprintf("the last merge of %s into %s is %s; an earlier one is still in it", m.Workspace, m.Target, m.Status)
	default:
		why.Message = fmt.Sprintf("the last merge of %s into %s is %s; earlier ones are still in it", m.Workspace, m.Target, m.Status)
		why.Details = strings.Join(earlier, "\n")
	}
	why.Hint = "croft revert " + earlier[0]
	return why
}

// canRevert reports whether a merge brought changes to its target, and is in it.
func (e *Engine) canRevert(ctx context.Context, r *repo, m journal.Merge) (bool, error) {
	if m.Kind == croft.KindRevert || m.Commit == "" || m.Status != croft.MergeMerged {
		return false, nil
	}
	if isEmpty, err := e.broughtNothing(ctx, r, m); err != nil || isEmpty {
		return false, err
	}
	tip, err := r.git.ReadRef(ctx, "refs/heads/"+m.Target)
	if err != nil {
		return false, targetNotFound(m.Target, err)
	}
	return r.git.IsAncestor(ctx, m.Commit, tip)
}

// broughtNothing reports whether a merge left the files of its target as they
// were: its commits came, and what they change was there already.
func (e *Engine) broughtNothing(ctx context.Context, r *repo, m journal.Merge) (bool, error) {
	if m.Before == "" {
		return false, nil
	}
	before, err := r.git.ReadCommit(ctx, m.Before)
	if err != nil {
		return false, err
	}
	after, err := r.git.ReadCommit(ctx, m.Commit)
	return err == nil && before.Tree == after.Tree, err
}

// findMerge finds the merge that a request means: by its ID, by the commit that
// it made, or by the name of its workspace, of which the last counts that brought
// anything.
func (e *Engine) findMerge(ctx context.Context, r *repo, req croft.RevertRequest) (journal.Merge, error) {
	ref := cmp.Or(string(req.Merge), req.Ref)
	m, err := e.journal.Merge(ctx, croft.ID(ref))
	if err == nil && m.RepoID == r.id {
		return m, nil
	}
	if m, err = e.journal.MergeByCommit(ctx, r.id, ref); err == nil {
		return m, nil
	}
	named, err := e.journal.MergesNamed(ctx, r.id, ref)
	if err != nil {
		return m, err
	}
	if len(named) == 0 {
		if named, err = e.journal.MergesOf(ctx, croft.ID(ref)); err != nil {
			return m, err
		}
	}
	if len(named) == 0 {
		return m, mergeNotFound(ref)
	}
	return e.lastThatBrought(ctx, r, named)
}

// lastThatBrought finds the merge to take back among those of one name, the
// last of which comes first.
func (e *Engine) lastThatBrought(ctx context.Context, r *repo, named []journal.Merge) (journal.Merge, error) {
	var empty *journal.Merge
	for _, m := range named {
		if m.Kind == croft.KindRevert || m.Commit == "" {
			continue
		}
		isEmpty, err := e.broughtNothing(ctx, r, m)
		if err != nil {
			return m, err
		}
		if !isEmpty {
			return m, nil
		}
		if empty == nil {
			empty = &m
		}
	}
	if empty != nil {
		return *empty, nil
	}
	return named[0], e.notMerged(ctx, r, named[0])
}

// revert takes a merge back, through its lane.
func (e *Engine) revert(ctx context.Context, s standing, req croft.RevertRequest) (*croft.Merge, error) {
	m, err := e.submitRevert(ctx, s.repo, req, newAct())
	if err != nil {
		return nil, err
	}
	return e.WaitMerge(ctx, m.ID)
}

func (e *Engine) submitRevert(ctx context.Context, r *repo, req croft.RevertRequest, a act) (*journal.Merge, error) {
	plan, was, err := e.planRevert(ctx, r, req)
	if err != nil {
		return nil, err
	}
	if req.Target != "" && req.Target != plan.Target {
		return nil, &croft.Error{
			Code: croft.TargetMoved, Workspace: was.Workspace, Message: fmt.Sprintf("%s has moved since you looked", was.Target), Details: plan.Target,
			Hint: "croft revert " + was.Workspace,
		}
	}
	if m, err := e.waitingRevert(ctx, r, was, a); m != nil || err != nil {
		return m, err
	}
	text, err := e.revertMessage(ctx, r, was, req.Message)
	if err != nil {
		return nil, err
	}
	m := &journal.Merge{
		Merge: croft.Merge{
			ID: newID(), Kind: croft.KindRevert, Workspace: was.Workspace, WorkspaceID: was.WorkspaceID, Target: was.Target,
			Status: croft.MergePending, State: croft.MergeQueued, Head: was.Commit, Reverts: was.ID, Later: plan.Later,
			SubmittedAt: e.now(),
		},
		RepoID: r.id, Act: a.id, Undoes: a.undoes, Base: was.Before, Text: text, Again: was.Kind == croft.KindRevert && !was.Again,
		Part: was.Part,
	}
	e.sign(&m.Merge)
	return m, e.journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(tx.PutMerge(*m), tx.Emit(e.mergeEvent(croft.EventMergeQueued, *m)))
	})
}

// waitingRevert finds a revert of the same merge that waits already: whoever asked
// for it may have died, and asks again.
func (e *Engine) waitingRevert(ctx context.Context, r *repo, was journal.Merge, a act) (*journal.Merge, error) {
	waiting, err := e.journal.Waiting(ctx, r.id, was.Target, -1)
	if err != nil {
		return nil, err
	}
	for _, m := range waiting {
		if m.Kind == croft.KindRevert && m.Reverts == was.ID && m.Undoes == a.undoes {
			return &m, nil
		}
	}
	return nil, nil
}

// revertMessage is like git's.
func (e *Engine) revertMessage(ctx context.Context, r *repo, was journal.Merge, asked string) (string, error) {
	if asked != "" {
		return asked, nil
	}
	c, err := r.git.ReadCommit(ctx, was.Commit)
	if err != nil {
		return "", err
	}
	subject, _, _ := strings.Cut(c.Message, "\n")
	return fmt.Sprintf("Revert \"%s\"\n\nThis reverts commit %s.\n", subject, was.Commit), nil
}
