package engine

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
)

// Discard moves workspaces to the trash whose work is not wanted.
func (e *Engine) Discard(ctx context.Context, req croft.DiscardRequest) ([]croft.Merge, error) {
	s, err := e.standing(ctx, req.Repo)
	if err != nil {
		return nil, explain("discard", "", err)
	}
	if err := e.recover(ctx, s.id); err != nil {
		return nil, explain("discard", "", err)
	}
	records, err := e.toDiscard(ctx, s, req)
	if err != nil {
		return nil, explain("discard", "", err)
	}
	out := []croft.Merge{}
	a := newAct()
	for _, rec := range records {
		m, err := e.discard(ctx, s.repo, rec, a)
		if err != nil {
			return out, explain("discard", rec.Workspace.Name, err)
		}
		out = append(out, *m)
	}
	return out, nil
}

func (e *Engine) toDiscard(ctx context.Context, s standing, req croft.DiscardRequest) ([]journal.Record, error) {
	if req.All == croft.ScopeAll {
		live, err := e.journal.Live(ctx, s.id)
		if err != nil {
			return nil, err
		}
		var pending []journal.Record
		for _, rec := range live {
			if rec.Workspace.MergeStatus == croft.MergePending {
				pending = append(pending, rec)
			}
		}
		return pending, nil
	}
	var records []journal.Record
	for _, ref := range req.Workspaces {
		rec, err := e.find(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return records, nil
}

// discard takes a workspace out of its queue and moves it to the trash. What
// keeps it is the reason in the answer, not an error.
func (e *Engine) discard(ctx context.Context, r *repo, rec journal.Record, a act) (*croft.Merge, error) {
	w := rec.Workspace
	m := journal.Merge{
		Merge: croft.Merge{
			ID: newID(), Kind: croft.KindMerge, Workspace: w.Name, WorkspaceID: w.ID, Target: w.Target, State: croft.MergeDone,
			Status: croft.MergeDiscarded, Actor: e.actor(), SubmittedAt: e.now(), EndedAt: e.now(),
		},
		RepoID: r.id, Act: a.id,
	}
	if err := e.guard(ctx, r, rec, croft.RemoveForce); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		why := croft.AsError("discard", explain("discard", w.Name, err))
		m.Status, m.Reason, m.Message, m.Details, m.Hint = w.MergeStatus, why.Code, why.Message, why.Details, why.Hint
		return &m.Merge, nil
	}
	if w.Mode != croft.ModeLegacy { // that has no commits of its own, and may be in no repository
		_, m.Head, _ = r.trees.At(specOf(rec)).Head(ctx)
	}
	rec.Workspace.MergeStatus = croft.MergeDiscarded
	err := e.saveRecord(ctx, &rec, func(tx *journal.Tx) error {
		waiting, err := tx.WaitingOf(w.ID)
		if err != nil {
			return err
		}
		for _, old := range waiting {
			if old.State != croft.MergeQueued {
				continue
			}
			old.State, old.Status, old.EndedAt = croft.MergeDone, croft.MergeDiscarded, e.now()
			if err := tx.PutMerge(old); err != nil {
				return err
			}
		}
		return errors.Join(tx.PutMerge(m), tx.Emit(e.mergeEvent(croft.EventMergeDiscarded, m)))
	})
	if err != nil {
		return nil, err
	}
	if err := failpoint.Hit("discard.marked"); err != nil {
		return nil, err
	}
	_, err = e.removeOne(ctx, r, rec, removal{Event: croft.EventWorkspaceRemoved, act: a}, croft.RemoveForce)
	return &m.Merge, err
}
