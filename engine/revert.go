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

// PlanRevert says what a revert would meet.
func (e *Engine) PlanRevert(ctx context.Context, req croft.RevertRequest) (*croft.RevertPlan, error) {
	ctx, leave, err := e.enter(ctx, "revert", req)
	if err != nil {
		return nil, err
	}
	defer leave()
	s, err := e.at(ctx, req.Repo)
	if err != nil {
		return nil, explain("revert", req.Ref, err)
	}
	plan, _, err := e.planRevert(ctx, s.repo, req)
	return plan, explain("revert", req.Ref, err)
}

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
		return nil, m, notMerged(m)
	}
	if in, err := r.git.IsAncestor(ctx, m.Commit, plan.Target); err != nil || !in {
		return nil, m, errors.Join(err, notMerged(m))
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
	for _, c := range merged.Conflicts {
		plan.Conflicts = append(plan.Conflicts, croft.ConflictedPath{Path: c.Path, Kind: c.Kind})
	}
	return plan, m, err
}

func notMerged(m journal.Merge) error {
	return &croft.Error{
		Code: croft.NotMerged, Workspace: m.Workspace, Message: fmt.Sprintf("it is not in %s: it is %s", m.Target, cmp.Or(string(m.Status), "not merged")),
		Hint: "croft queue --all",
	}
}

// findMerge finds the merge that a request means: by its ID, by the commit that
// it made, or by the name of its workspace, of which the last counts.
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
	for _, m := range named {
		if m.Kind != croft.KindRevert && m.Commit != "" {
			return m, nil
		}
	}
	if len(named) > 0 {
		return m, notMerged(named[0])
	}
	return m, mergeNotFound(ref)
}

// Revert takes a merge back, through its lane.
func (e *Engine) Revert(ctx context.Context, req croft.RevertRequest) (*croft.Merge, error) {
	ctx, leave, err := e.enter(ctx, "revert", req)
	if err != nil {
		return nil, err
	}
	defer leave()
	s, err := e.at(ctx, req.Repo)
	if err != nil {
		return nil, explain("revert", req.Ref, err)
	}
	if err := e.recover(ctx, s.id); err != nil {
		return nil, explain("revert", req.Ref, err)
	}
	m, err := e.submitRevert(ctx, s.repo, req, newAct())
	if err != nil {
		return nil, explain("revert", req.Ref, err)
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
	text, err := e.revertMessage(ctx, r, was, req.Message)
	if err != nil {
		return nil, err
	}
	m := &journal.Merge{
		Merge: croft.Merge{
			ID: newID(), Kind: croft.KindRevert, Workspace: was.Workspace, WorkspaceID: was.WorkspaceID, Target: was.Target,
			Status: croft.MergePending, State: croft.MergeQueued, Head: was.Commit, Reverts: was.ID, Later: plan.Later,
			Actor: e.actor(), SubmittedAt: e.now(),
		},
		RepoID: r.id, Act: a.id, Undoes: a.undoes, Base: was.Before, Text: text, Again: was.Kind == croft.KindRevert && !was.Again,
		Part: was.Part,
	}
	return m, e.journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(tx.PutMerge(*m), tx.Emit(e.mergeEvent(croft.EventMergeQueued, *m)))
	})
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
