package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
)

// Finish says that an agent has ended.
func (e *Engine) Finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	m, err := e.finish(ctx, req)
	return m, explain("finish", req.Workspace, err)
}

func (e *Engine) finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	req.Outcome = cmp.Or(req.Outcome, croft.Succeeded)
	switch req.Outcome {
	case croft.Succeeded, croft.Failed, croft.Killed:
	default:
		return nil, &croft.Error{Code: croft.InvalidRequest, Message: fmt.Sprintf("there is no outcome %q", req.Outcome), Details: "succeeded, failed, killed"}
	}
	r, rec, err := e.toFinish(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := e.recover(ctx, r.id); err != nil {
		return nil, err
	}
	key := journal.Key{Repo: r.id, Verb: "finish", Key: req.Key}
	if m, done, err := e.mergedBefore(ctx, &key, struct {
		Workspace croft.ID
		Outcome   croft.Outcome
		Policy    croft.MergePolicy
	}{rec.Workspace.ID, req.Outcome, req.Policy}); err != nil || done {
		return m, err
	}
	if req.Lease != nil {
		if err := e.Release(ctx, req.Lease.ID); err != nil && !errors.Is(err, croft.LeaseLost) {
			return nil, err
		}
	}
	if rec.Workspace.Mode == croft.ModeLegacy {
		return e.finishDirect(ctx, r, rec)
	}
	if req.Outcome == croft.Succeeded && merges(r, rec, req.Policy) {
		return e.submit(ctx, r, rec, submission{key: key, message: req.Message})
	}
	return e.leavePending(ctx, r, rec, req, key)
}

func (e *Engine) toFinish(ctx context.Context, req croft.FinishRequest) (*repo, journal.Record, error) {
	if req.Lease != nil {
		return e.byID(ctx, req.Lease.Workspace)
	}
	s, err := e.standing(ctx, req.Repo)
	if err != nil {
		return nil, journal.Record{}, err
	}
	rec, err := e.find(ctx, s, req.Workspace)
	return s.repo, rec, err
}

// merges reports whether finishing well means merging.
func merges(r *repo, rec journal.Record, policy croft.MergePolicy) bool {
	switch policy {
	case croft.MergeAlways:
		return true
	case croft.MergeNever:
		return false
	}
	l, err := layout.Preset(cmp.Or(rec.Workspace.Layout, r.cfg.Layout))
	return err == nil && l.Finish == layout.FinishMerge
}

// finishDirect ends an agent that wrote in the project itself: there is nothing
// to bring back.
func (e *Engine) finishDirect(ctx context.Context, r *repo, rec journal.Record) (*croft.Merge, error) {
	w := rec.Workspace
	m := &croft.Merge{
		Kind: croft.KindMerge, Workspace: w.Name, WorkspaceID: w.ID, State: croft.MergeDone, Message: "the agent wrote in the project itself",
		SubmittedAt: e.now(), EndedAt: e.now(),
	}
	return m, e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.Emit(e.event(croft.EventWorkspaceFinished, rec)) })
}

// leavePending commits the work and leaves it to a person to merge or discard.
func (e *Engine) leavePending(ctx context.Context, r *repo, rec journal.Record, req croft.FinishRequest, key journal.Key) (*croft.Merge, error) {
	w := rec.Workspace
	m := journal.Merge{
		Merge: croft.Merge{
			ID: newID(), Kind: croft.KindMerge, Workspace: w.Name, WorkspaceID: w.ID, Target: w.Target, State: croft.MergeDone,
			Status: croft.MergePending, Message: "waits for croft merge or croft discard", Hint: "croft merge " + w.Name,
			Actor: e.actor(), SubmittedAt: e.now(), EndedAt: e.now(),
		},
		RepoID: r.id, Act: newID(),
	}
	if req.Outcome != croft.Succeeded {
		m.Message = fmt.Sprintf("the agent %s; %s", map[croft.Outcome]string{croft.Failed: "failed", croft.Killed: "was killed"}[req.Outcome], m.Message)
	}
	var err error
	if m.Head, m.HeldBack, err = e.commitWork(ctx, r, rec, req.Message); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("finish.committed"); err != nil {
		return nil, err
	}
	if rec, err = e.journal.Record(ctx, w.ID); err != nil {
		return nil, err
	}
	rec.Workspace.MergeStatus = croft.MergePending
	return &m.Merge, e.saveRecord(ctx, &rec, func(tx *journal.Tx) error {
		if key.Key != "" {
			key.Operation = m.ID
			if err := tx.PutKey(key); err != nil {
				return err
			}
		}
		return errors.Join(tx.PutMerge(m), tx.Emit(e.event(croft.EventWorkspaceFinished, rec)), tx.Emit(e.mergeEvent(croft.EventMergePending, m)))
	})
}
