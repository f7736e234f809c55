package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
)

// discardEach moves workspaces to the trash whose work is not wanted.
func (e *Engine) discardEach(ctx context.Context, s standing, req croft.DiscardRequest) ([]croft.Merge, error) {
	if req.DryRun == croft.DryRunOn {
		return e.planDiscard(ctx, s, req)
	}
	call, err := e.discardCall(ctx, s, req)
	if err != nil {
		return nil, err
	}
	records, err := e.toDiscard(ctx, s, call.left(req))
	if err != nil {
		return nil, err
	}
	out := call.before
	for _, rec := range records {
		m, err := e.discard(ctx, s.repo, rec, call, agreedMode(req.Agreed, rec, croft.RemoveForce))
		if err != nil {
			return out, explain.About(rec.Workspace.Name, err)
		}
		out = append(out, *m)
	}
	return out, e.endDiscard(ctx, call)
}

// planDiscard tells what a call would answer.
func (e *Engine) planDiscard(ctx context.Context, s standing, req croft.DiscardRequest) ([]croft.Merge, error) {
	records, err := e.toDiscard(ctx, s, req)
	plan := []croft.Merge{}
	for _, rec := range records {
		m := e.discarded(s.repo, rec, newAct())
		if err := e.guardDiscard(ctx, s.repo, rec, agreedMode(req.Agreed, rec, croft.RemoveForce)); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			keepUndiscarded(&m.Merge, rec, err)
		}
		plan = append(plan, m.Merge)
	}
	return plan, err
}

// discarding is one call of Discard, which may have been made before.
type discarding struct {
	act
	key    journal.Key   // without a Key: nobody can repeat the call
	isNew  bool          // the key was not used yet
	ended  bool          // the call that used it came to its end
	before []croft.Merge // what it discarded
}

// discardEnd is the verb under which a key says that its call came to its end.
const discardEnd = "discarded"

// discardCall finds out whether a call was made before, and finishes what was
// begun then.
func (e *Engine) discardCall(ctx context.Context, s standing, req croft.DiscardRequest) (*discarding, error) {
	d := &discarding{act: newAct(), before: []croft.Merge{}, isNew: true}
	if req.Key == "" {
		return d, nil
	}
	if err := layout.CheckKey(req.Key); err != nil {
		return nil, err
	}
	d.key = journal.Key{Repo: s.id, Verb: "discard", Key: req.Key, Operation: d.id}
	req.Repo, req.Agreed = "", nil // a call that is repeated shows what is left of it
	d.key.Request = digestOf(req)
	used, err := e.journal.FindKey(ctx, s.id, d.key.Verb, req.Key)
	if errors.Is(err, journal.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if used.Request != d.key.Request {
		return nil, keyConflict(req.Key)
	}
	d.id, d.isNew = used.Operation, false
	if _, err := e.journal.FindKey(ctx, s.id, discardEnd, req.Key); err == nil {
		d.ended = true
	} else if !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	done, err := e.journal.MergesOfAct(ctx, s.id, d.id)
	if err != nil {
		return nil, err
	}
	for _, m := range done {
		rec, err := e.journal.Record(ctx, m.WorkspaceID)
		if err == nil && rec.Workspace.State != croft.Trashed && rec.Workspace.MergeStatus == croft.MergeDiscarded && !d.ended {
			err = e.putAway(ctx, s.repo, rec, d.act)
		}
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return nil, err
		}
		d.before = append(d.before, m.Merge)
	}
	return d, nil
}

// left is what of a request is still to be done.
func (d *discarding) left(req croft.DiscardRequest) croft.DiscardRequest {
	if d.ended {
		req.All = croft.ScopeNamed
	}
	done := func(ref string) bool {
		return slices.ContainsFunc(d.before, func(m croft.Merge) bool { return ref == m.Workspace || ref == string(m.WorkspaceID) })
	}
	req.Workspaces = slices.DeleteFunc(slices.Clone(req.Workspaces), done)
	return req
}

// endDiscard notes that a call came to its end: what is pending later is none of
// its business.
func (e *Engine) endDiscard(ctx context.Context, d *discarding) error {
	if d.key.Key == "" || d.ended {
		return nil
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		if err := d.use(tx); err != nil {
			return err
		}
		end := d.key
		end.Verb = discardEnd
		return tx.PutKey(end)
	})
}

// use writes the key down, once.
func (d *discarding) use(tx *journal.Tx) error {
	if d.key.Key == "" || !d.isNew {
		return nil
	}
	return tx.PutKey(d.key)
}

// putAway moves a discarded workspace to the trash.
func (e *Engine) putAway(ctx context.Context, r *repo, rec journal.Record, a act) error {
	_, err := e.removeOne(ctx, r, rec, removal{Event: croft.EventWorkspaceRemoved, act: a}, croft.RemoveForce)
	return err
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
		return agreedOf(req.Agreed, pending), nil
	}
	var records []journal.Record
	for _, ref := range req.Workspaces {
		rec, err := e.find(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return agreedOf(req.Agreed, records), nil
}

// discard takes a workspace out of its queue and moves it to the trash. What
// keeps it is the reason in the answer, not an error.
func (e *Engine) discard(ctx context.Context, r *repo, rec journal.Record, d *discarding, mode croft.RemoveMode) (*croft.Merge, error) {
	w := rec.Workspace
	m := e.discarded(r, rec, d.act)
	if err := e.guardDiscard(ctx, r, rec, mode); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		keepUndiscarded(&m.Merge, rec, err)
		return &m.Merge, nil
	}
	if w.Mode != croft.ModeLegacy { // that has no commits of its own, and may be in no repository
		_, m.Head, _ = r.trees.At(specOf(rec)).Head(ctx)
	}
	if w.MergeStatus != croft.MergeDiscarded { // else it was marked before, by a process that died
		rec.Undiscarded = &w.MergeStatus
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
			old.Discard(e.now())
			if err := tx.PutMerge(old); err != nil {
				return err
			}
		}
		return errors.Join(d.use(tx), tx.PutMerge(m), tx.Emit(e.mergeEvent(croft.EventMergeDiscarded, m)))
	})
	if err != nil {
		return nil, err
	}
	d.isNew = false
	if err := failpoint.Hit("discard.marked"); err != nil {
		return nil, err
	}
	return &m.Merge, e.putAway(ctx, r, rec, d.act)
}

// guardDiscard refuses what would take something away from somebody. Uncommitted
// work is what a discard is about; a lock is a person's word.
func (e *Engine) guardDiscard(ctx context.Context, r *repo, rec journal.Record, mode croft.RemoveMode) error {
	if err := e.guard(ctx, r, rec, mode); err != nil {
		return err
	}
	return r.guardLock(rec)
}

// discarded is the record of a workspace that is discarded.
func (e *Engine) discarded(r *repo, rec journal.Record, a act) journal.Merge {
	w := rec.Workspace
	m := journal.Merge{
		Merge: croft.Merge{
			ID: newID(), Kind: croft.KindMerge, Workspace: w.Name, WorkspaceID: w.ID, Target: w.Target, State: croft.MergeDone,
			Status: croft.MergeDiscarded, SubmittedAt: e.now(), EndedAt: e.now(),
		},
		RepoID: r.id, Act: a.id,
	}
	e.sign(&m.Merge)
	return m
}

// keepUndiscarded says in an answer why a workspace stays as it is.
func keepUndiscarded(m *croft.Merge, rec journal.Record, err error) {
	why := croft.AsError("discard", explain.Error("discard", rec.Workspace.Name, err))
	m.Status, m.Reason, m.Message, m.Details, m.Hint = rec.Workspace.MergeStatus, why.Code, why.Message, why.Details, why.Hint
}
