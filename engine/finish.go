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

func (e *Engine) finish(ctx context.Context, req croft.FinishRequest) (*croft.Merge, error) {
	req.Outcome = cmp.Or(req.Outcome, croft.Succeeded)
	s, err := e.finishingIn(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := e.recover(ctx, s.id); err != nil {
		return nil, err
	}
	// The request is told by its words: what they name may be gone when it comes
	// for the second time.
	words := struct {
		Workspace string
		Outcome   croft.Outcome
		Policy    croft.MergePolicy
	}{cmp.Or(req.Workspace, s.place.WorkDir), req.Outcome, req.Policy}
	if req.Lease != nil {
		words.Workspace = string(req.Lease.Workspace)
	}
	key := journal.Key{Repo: s.id, Verb: "finish", Key: req.Key}
	return e.once(ctx, &key, words, func() (*croft.Merge, error) { return e.finishNew(ctx, s, req, key) })
}

// finishingIn finds the repository of the workspace whose agent has ended.
func (e *Engine) finishingIn(ctx context.Context, req croft.FinishRequest) (standing, error) {
	if req.Lease == nil {
		return e.standing(ctx, req.Repo)
	}
	rec, err := e.journal.Record(ctx, req.Lease.Workspace)
	if errors.Is(err, journal.ErrNotFound) {
		return standing{}, notFound("", string(req.Lease.Workspace))
	}
	if err != nil {
		return standing{}, err
	}
	r, err := e.repoByID(ctx, rec.RepoID)
	return standing{repo: r}, err
}

func (e *Engine) finishNew(ctx context.Context, s standing, req croft.FinishRequest, key journal.Key) (*croft.Merge, error) {
	r, rec, err := e.toFinish(ctx, s, req)
	if err != nil {
		return nil, err
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

func (e *Engine) toFinish(ctx context.Context, s standing, req croft.FinishRequest) (*repo, journal.Record, error) {
	if req.Lease != nil {
		return e.byID(ctx, req.Lease.Workspace)
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
	return m, e.journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(tx.Emit(e.event(croft.EventWorkspaceFinished, rec)), e.note(tx, "finish", r.id, rec))
	})
}

// leavePending commits the work and leaves it to a person to merge or discard.
func (e *Engine) leavePending(ctx context.Context, r *repo, rec journal.Record, req croft.FinishRequest, key journal.Key) (*croft.Merge, error) {
	w := rec.Workspace
	m := journal.Merge{
		Merge: croft.Merge{
			ID: newID(), Kind: croft.KindMerge, Workspace: w.Name, WorkspaceID: w.ID, Target: w.Target, State: croft.MergeDone,
			Status: croft.MergePending, Message: "waits for croft merge or croft discard", Hint: "croft merge " + w.Name,
			SubmittedAt: e.now(), EndedAt: e.now(),
		},
		RepoID: r.id, Act: newID(),
	}
	e.sign(&m.Merge)
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
		return errors.Join(tx.PutMerge(m), tx.Emit(e.event(croft.EventWorkspaceFinished, rec)), tx.Emit(e.mergeEvent(croft.EventMergePending, m)),
			e.note(tx, "finish", r.id, rec))
	})
}
