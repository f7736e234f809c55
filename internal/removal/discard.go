package removal

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/progress"
	"github.com/croft-sh/croft/internal/project"
)

// DiscardEach marks workspaces as discarded, withdraws their queued merges and moves them
// to the trash. Uncommitted work goes along; a lock, a lease or a process keeps a
// workspace, and the reason is in its Merge. On an error it also returns what was
// discarded before. A process that dies between mark and move leaves a live workspace
// that is marked discarded: recovery does not move it, the same request again does. A Key
// makes the request repeatable. With ScopeAll it takes the pending workspaces only. With
// DryRunOn it only asks the guards.
func (svc *Removals) DiscardEach(ctx context.Context, s project.Location, req croft.DiscardRequest) (*croft.DiscardResult, error) {
	if req.DryRun == croft.DryRunOn {
		return svc.planDiscard(ctx, s, req)
	}
	call, err := svc.discardCall(ctx, s, req)
	if err != nil {
		return nil, err
	}
	if call.isNew {
		if err := svc.ClaimRevision(ctx, s, req.Workspaces, req.IfRevision, once.Name(call.key)); err != nil {
			return nil, err
		}
	}
	records, err := svc.recordsToDiscard(ctx, s, call.stillToDiscard(req))
	if err != nil {
		return nil, err
	}
	out := &croft.DiscardResult{Merges: call.before}
	meter := progress.Begin(ctx, svc.Journal, progress.Act{Repo: s.ID, Operation: call.ID, Kind: "discard", Unit: "workspaces", Total: len(records)})
	defer meter.End()
	for i, rec := range records {
		meter.Set(i)
		m, err := svc.discardOne(ctx, s.Project, rec, call, req.Agreed)
		if err != nil {
			return out, explain.WithWorkspace(rec.Workspace.Name, err)
		}
		out.Merges = append(out.Merges, *m)
	}
	meter.Set(len(records))
	return out, svc.endDiscard(ctx, call)
}

// planDiscard returns the answer that DiscardEach would give.
func (svc *Removals) planDiscard(ctx context.Context, s project.Location, req croft.DiscardRequest) (*croft.DiscardResult, error) {
	records, err := svc.recordsToDiscard(ctx, s, req)
	plan := []croft.Merge{}
	for _, rec := range records {
		m := svc.discardedRecord(ctx, s.Project, rec, project.NewAct())
		if err := svc.guardDiscard(ctx, s.Project, rec, req.Agreed); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			setKeptReason(&m.Merge, rec, err)
		}
		plan = append(plan, m.Merge)
	}
	return &croft.DiscardResult{Merges: plan}, err
}

// discarding is one call of DiscardEach, which may have been made before.
type discarding struct {
	project.Act
	key    journal.Key   // its Key is empty if the request has none
	isNew  bool          // the key was not used yet
	ended  bool          // the call that used it came to its end
	before []croft.Merge // what it discarded
}

// discardEnd is the verb under which a key records that its call has ended.
const discardEnd = "discarded"

// discardCall finds out whether a call was made before, and finishes the removals that it
// began.
func (svc *Removals) discardCall(ctx context.Context, s project.Location, req croft.DiscardRequest) (*discarding, error) {
	d := &discarding{Act: project.NewAct(), before: []croft.Merge{}, isNew: true}
	if req.Key == "" {
		return d, nil
	}
	if err := layout.CheckKey(req.Key); err != nil {
		return nil, err
	}
	d.key = journal.Key{Repo: s.ID, Verb: "discard", Key: req.Key, Operation: d.ID}
	req.Repo, req.Agreed = "", nil // a call that is repeated shows what is left of it
	d.key.Request = once.DigestOf(req)
	used, err := svc.Journal.FindKey(ctx, s.ID, d.key.Verb, req.Key)
	if errors.Is(err, journal.ErrNotFound) {
		return d, nil
	}
	if err != nil {
		return nil, err
	}
	if used.Request != d.key.Request {
		return nil, once.KeyConflictError(req.Key)
	}
	d.ID, d.isNew = used.Operation, false
	if _, err := svc.Journal.FindKey(ctx, s.ID, discardEnd, req.Key); err == nil {
		d.ended = true
	} else if !errors.Is(err, journal.ErrNotFound) {
		return nil, err
	}
	done, err := svc.Journal.MergesOfAct(ctx, s.ID, d.ID)
	if err != nil {
		return nil, err
	}
	for _, m := range done {
		rec, err := svc.Journal.Record(ctx, m.Workspace)
		if err == nil && rec.Workspace.State != croft.Trashed && rec.Workspace.MergeStatus == croft.MergeDiscarded && !d.ended {
			err = svc.trashDiscarded(ctx, s.Project, rec, d.Act)
		}
		if err != nil && !errors.Is(err, journal.ErrNotFound) {
			return nil, err
		}
		d.before = append(d.before, m.Merge)
	}
	return d, nil
}

// stillToDiscard returns the part of a request that is still to be done.
func (d *discarding) stillToDiscard(req croft.DiscardRequest) croft.DiscardRequest {
	if d.ended {
		req.All, req.Workspaces = croft.ScopeNamed, nil
	}
	done := func(ref croft.Ref) bool {
		return slices.ContainsFunc(d.before, func(m croft.Merge) bool { return croft.RefNames(ref, m.Workspace, m.WorkspaceName) })
	}
	req.Workspaces = slices.DeleteFunc(slices.Clone(req.Workspaces), done)
	return req
}

// endDiscard records that a call has ended: workspaces that become pending later are not
// its concern.
func (svc *Removals) endDiscard(ctx context.Context, d *discarding) error {
	if d.key.Key == "" || d.ended {
		return nil
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		if err := d.writeKey(tx); err != nil {
			return err
		}
		end := d.key
		end.Verb = discardEnd
		return tx.PutKey(end)
	})
}

// writeKey records the key once.
func (d *discarding) writeKey(tx *journal.Tx) error {
	if d.key.Key == "" || !d.isNew {
		return nil
	}
	return tx.PutKey(d.key)
}

// trashDiscarded moves a discarded workspace to the trash.
func (svc *Removals) trashDiscarded(ctx context.Context, r *project.Project, rec journal.Record, a project.Act) error {
	_, err := svc.RemoveOne(ctx, r, rec, Spec{Event: croft.EventWorkspaceRemoved, As: croft.ConditionDiscarded, Act: a}, croft.RemoveForce)
	return err
}

func (svc *Removals) recordsToDiscard(ctx context.Context, s project.Location, req croft.DiscardRequest) ([]journal.Record, error) {
	if req.All == croft.ScopeAll {
		live, err := svc.Journal.Live(ctx, s.ID)
		pending := slices.DeleteFunc(live, func(rec journal.Record) bool { return rec.Workspace.MergeStatus != croft.MergePending })
		return AgreedOf(req.Agreed, pending), err
	}
	var records []journal.Record
	for _, ref := range req.Workspaces {
		rec, err := svc.Find(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		records = append(records, rec)
	}
	return AgreedOf(req.Agreed, records), nil
}

// discardOne marks a workspace as discarded, takes its merges out of the queue and moves it
// to the trash. If a guard keeps the workspace, the answer has the reason; that is no
// error.
func (svc *Removals) discardOne(ctx context.Context, r *project.Project, rec journal.Record, d *discarding, agreed *croft.Agreed) (*croft.Merge, error) {
	w := rec.Workspace
	m := svc.discardedRecord(ctx, r, rec, d.Act)
	if err := svc.guardDiscard(ctx, r, rec, agreed); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		setKeptReason(&m.Merge, rec, err)
		return &m.Merge, nil
	}
	if w.Mode != croft.ModeLegacy { // that has no commits of its own, and may be in no repository
		_, m.Head, _ = r.Trees.At(project.SpecOf(rec)).Head(ctx)
	}
	if w.MergeStatus != croft.MergeDiscarded { // else it was marked before, by a process that died
		rec.Undiscarded = &w.MergeStatus
	}
	rec.Workspace.MergeStatus = croft.MergeDiscarded
	err := svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
		waiting, err := tx.WaitingOf(w.ID)
		if err != nil {
			return err
		}
		for _, old := range waiting {
			if !svc.isCancelable(r, old) {
				return landingError(old, w)
			}
			old.Discard(svc.Now())
			if err := tx.PutMerge(&old); err != nil {
				return err
			}
		}
		return errors.Join(d.writeKey(tx), tx.PutMerge(&m), tx.Emit(svc.MergeEvent(croft.EventMergeDiscarded, m)))
	})
	if errors.Is(err, croft.WorkspaceBusy) { // a driver has begun with it since
		rec.Workspace.MergeStatus = w.MergeStatus
		setKeptReason(&m.Merge, rec, err)
		return &m.Merge, nil
	}
	if err != nil {
		return nil, err
	}
	d.isNew = false
	if err := failpoint.Hit("discard.marked"); err != nil {
		return nil, err
	}
	return &m.Merge, svc.trashDiscarded(ctx, r, rec, d.Act)
}

// guardDiscard refuses a workspace that is in use or locked by a person. Uncommitted work
// does not stop a discard, unless a person was shown other work.
func (svc *Removals) guardDiscard(ctx context.Context, r *project.Project, rec journal.Record, agreed *croft.Agreed) error {
	if err := svc.RequireShown(ctx, r, rec, agreed); err != nil {
		return err
	}
	if err := svc.Guard(ctx, r, rec, AgreedMode(agreed, rec, croft.RemoveForce)); err != nil {
		return err
	}
	waiting, err := svc.Journal.WaitingOf(ctx, rec.Workspace.ID)
	if err != nil {
		return err
	}
	for _, m := range waiting { // also a part that is being applied
		if !svc.isCancelable(r, m) {
			return landingError(m, rec.Workspace)
		}
	}
	return r.GuardLock(rec)
}

// discardedRecord is the merge that records a discard.
func (svc *Removals) discardedRecord(ctx context.Context, r *project.Project, rec journal.Record, a project.Act) journal.Merge {
	w := rec.Workspace
	m := journal.Merge{
		Merge: croft.Merge{
			ID: project.NewID(), RepoID: r.ID, Kind: croft.KindMerge, WorkspaceName: w.Name, Workspace: w.ID, Target: w.Target, State: croft.MergeDone,
			Status: croft.MergeDiscarded, SubmittedAt: svc.Now(), EndedAt: svc.Now(),
		},
		Act: a.ID,
	}
	svc.SetActor(ctx, &m)
	return m
}

// setKeptReason sets in an answer why a workspace was kept.
func setKeptReason(m *croft.Merge, rec journal.Record, err error) {
	why := croft.AsError("discard", explain.Error("discard", rec.Workspace.Name, err))
	m.Status, m.Reason, m.Message, m.Details, m.Hint = rec.Workspace.MergeStatus, why.Code, why.Message, why.Details, why.Hint
}
