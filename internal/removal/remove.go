package removal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/progress"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// RemoveRequested removes the workspaces of a request, each by itself. One that is
// refused is in Kept with its reason; one that does not exist, or that another process
// removed, is in Unknown. It fails only if a workspace cannot be looked up or ctx ends;
// when ctx ends while it removes, it returns what was done as well. With DryRunOn it only
// asks the guards, see RemoveOrPlan.
func (svc *Removals) RemoveRequested(ctx context.Context, s project.Location, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	res := &croft.RemoveResult{Removed: []croft.Removed{}}
	act, records, err := svc.begin(ctx, s, req, res)
	if err != nil {
		return nil, err
	}
	how := Spec{Branch: req.Branch, Event: croft.EventWorkspaceRemoved, Act: act}
	meter := progress.Begin(ctx, svc.Journal, progress.Act{Repo: s.ID, Operation: act.ID, Kind: "remove", Unit: "workspaces", Total: len(records)})
	defer meter.End()
	all, shown := make([]*Leaving, len(records)), []*Leaving(nil)
	for i, rec := range records {
		all[i] = &Leaving{Record: rec, How: how, Mode: AgreedMode(req.Agreed, rec, req.Mode)}
		if all[i].Err = svc.RequireShown(ctx, s.Project, rec, req.Agreed); all[i].Err == nil {
			shown = append(shown, all[i])
		}
	}
	if req.DryRun == croft.DryRunOn {
		for i, l := range shown {
			meter.Set(i)
			l.Removed, l.Err = svc.RemoveOrPlan(ctx, s.Project, l.Record, how, l.Mode, req.DryRun)
		}
	} else {
		svc.RemoveEach(ctx, s.Project, shown, func(n int) { meter.Set(len(records) - len(shown) + n) })
	}
	for _, l := range all {
		switch {
		case l.Err == nil:
			res.Removed = append(res.Removed, *l.Removed)
		case errors.Is(l.Err, croft.WorktreeNotFound): // another process removed it first
			res.Unknown = append(res.Unknown, l.Record.Workspace.Name)
		case ctx.Err() != nil:
			return res, explain.WithWorkspace(l.Record.Workspace.Name, l.Err)
		default:
			res.Kept = append(res.Kept, project.KeptBecause(l.Record, l.Err))
		}
	}
	meter.Set(len(records))
	if len(res.Kept) > 0 {
		once.KeepOpen(ctx)
	}
	svc.NoticeTrash(ctx, s.Project)
	return res, nil
}

// Spec specifies a remove operation. The fields with a JSON name are in the journal, so
// that another process can finish it.
type Spec struct {
	Branch croft.BranchMode `json:"branch,omitempty"` // zero: the branch is deleted if Croft made it
	Dir    string           `json:"dir,omitempty"`    // in the trash; RemoveOne sets it, callers of ApplyRemoval must
	Event  string           `json:"event"`            // kind of the event that is emitted; required
	// Head is the last commit that is known to be safe; empty: not checked. If the branch
	// or HEAD is anywhere else, the workspace is kept with WorkspaceDirty.
	Head string `json:"head,omitempty"`
	// As is the condition of the removed workspace, if that is not ConditionRemoved.
	As croft.Condition `json:"as,omitempty"`

	Act project.Act `json:"-"` // of the call; RemoveOne reads it
}

// RemoveOne asks Guard and removes the workspace; the caller need not call Guard. It
// chooses how.Dir itself. It waits for another removal or rewind of the workspace, and
// fails with WorktreeNotFound if that removed it. Once the removal is in the journal, the
// end of ctx does not stop it. If it fails before the directory is moved, the workspace
// stays and the operation is ended as undone. If it fails later, recovery finishes it.
func (svc *Removals) RemoveOne(ctx context.Context, r *project.Project, rec journal.Record, how Spec, mode croft.RemoveMode) (*croft.Removed, error) {
	l := &Leaving{Record: rec, How: how, Mode: mode}
	svc.RemoveEach(ctx, r, []*Leaving{l}, nil)
	return l.Removed, l.Err
}

// isMovedToTrash reports whether the workspace's directory is in the trash already.
func isMovedToTrash(rec journal.Record, dir string) bool {
	return dir != "" && fsx.Identity(rec.Identity).IsAt(filepath.Join(dir, "tree"))
}

// cancelRemoval ends a removal that has moved nothing as undone.
func (svc *Removals) cancelRemoval(ctx context.Context, r *project.Project, op *oplog.Op, rec journal.Record, reason string) error {
	if r.Git != nil && rec.Workspace.Mode != croft.ModeLegacy {
		if err := svc.UnderLock(ctx, r, func() error { return svc.UnpinArchive(ctx, r, rec.Workspace.ID, "") }); err != nil {
			return err // recovery finishes the removal after all
		}
	}
	var how Spec
	if json.Unmarshal(op.Input, &how) == nil {
		project.RemoveEmpty(how.Dir)
	}
	return op.EndUndone(ctx, reason)
}

// ApplyRemoval carries out a removal that the journal has as running. It asks no guard
// but Spec.Head, and can be repeated. Of a legacy workspace, or if the repository is
// gone, it only marks the record as purged. The caller has set how.Dir with
// project.ChooseTrashDir (not for a legacy workspace) and does not hold the project's
// lock.
func (svc *Removals) ApplyRemoval(ctx context.Context, r *project.Project, op *oplog.Op, rec journal.Record, how Spec) (*croft.Removed, error) {
	l := &leaving{Leaving: &Leaving{Record: rec, How: how}, op: op}
	svc.applyRemovals(ctx, r, []*leaving{l})
	return l.Removed, l.Err
}

// deleteRecord removes a workspace that has nothing of its own on disk: it marks the record
// as purged.
func (svc *Removals) deleteRecord(ctx context.Context, l *leaving) (*croft.Removed, error) {
	rec := l.Record
	rec.Workspace.State = croft.Trashed
	rec.Trash = &journal.Trash{RemovedAt: svc.Now(), ExpiresAt: svc.Now(), Purged: true, As: l.How.As}
	return &croft.Removed{ID: rec.Workspace.ID, Name: rec.Workspace.Name}, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(tx.PutRecord(rec), svc.endRemoval(tx, l, rec))
	})
}

func (svc *Removals) endRemoval(tx *journal.Tx, l *leaving, rec journal.Record) error {
	err := errors.Join(
		tx.DeleteLeases(rec.Workspace.ID),
		tx.Emit(svc.WorkspaceEvent(l.How.Event, rec)),
		l.op.EndIn(tx, journal.OpDone, ""),
	)
	if err == nil && l.Also != nil {
		err = l.Also(tx)
	}
	return err
}

// deleteRefs deletes the refs that only a live workspace has: the pins of its base, and
// its branch if how and project.BranchDeletion allow it. It reports whether the branch
// is deleted, and what the caller has to sync.
func (svc *Removals) deleteRefs(ctx context.Context, r *project.Project, rec journal.Record, how Spec, tip string) (gone bool, unsynced []string, err error) {
	updates, gone, err := svc.refsToDelete(ctx, r, r.Git.ReadHeads, rec, how, tip)
	if err != nil {
		return false, nil, err
	}
	unsynced, err = r.Git.UpdateRefsUnsynced(ctx, updates...)
	if !errors.Is(err, gitcmd.KindRefStale) {
		return gone && err == nil, unsynced, err
	}
	// The branch moved: it is in use.
	how.Branch = croft.BranchKeep
	if updates, _, err = svc.refsToDelete(ctx, r, r.Git.ReadHeads, rec, how, tip); err == nil {
		unsynced, err = r.Git.UpdateRefsUnsynced(ctx, updates...)
	}
	return false, unsynced, err
}

// refsToDelete returns the updates of deleteRefs, and whether the branch is deleted with them. heads
// returns what is checked out.
func (svc *Removals) refsToDelete(ctx context.Context, r *project.Project, heads func() *refs.Heads, rec journal.Record, how Spec, tip string) (updates []refs.Update, gone bool, err error) {
	if how.Branch == croft.BranchDelete && rec.OwnsBranch {
		if updates, gone, err = project.BranchDeletion(ctx, r, heads, rec, tip); err != nil {
			return nil, false, err
		}
	}
	for _, ref := range []string{project.BaseRef(rec.Workspace.ID), project.HeldRef(rec.Workspace.ID)} {
		oid, err := r.Git.ReadRef(ctx, ref)
		if err == nil {
			updates = append(updates, refs.Update{Ref: ref, Old: oid})
		} else if !errors.Is(err, refs.ErrNoRef) {
			return nil, false, err
		}
	}
	return updates, gone, nil
}

// RecoverRemove finishes the removal of a process that died. Guards are not asked again.
// The workspace is kept, and the operation undone, if its directory was not moved and
// something else lies at its path or commits came after Spec.Head. If the repository is
// not there, it returns nil and leaves the operation for later.
func (svc *Removals) RecoverRemove(ctx context.Context, r *project.Project, op *oplog.Op) error {
	var how Spec
	if err := json.Unmarshal(op.Input, &how); err != nil {
		return err
	}
	for _, id := range op.Workspaces {
		rec, err := svc.Journal.Record(ctx, id)
		if err != nil {
			return err
		}
		if r.Git == nil && rec.Workspace.Mode != croft.ModeLegacy {
			return nil // the repository is not there, and may come back
		}
		if r.Git != nil {
			refs := []string{project.ArchiveRef(id), project.ArchiveBranchRef(id), project.ArchiveStateRef(id), project.ArchiveOwnRef(id), project.BaseRef(id), project.HeldRef(id)}
			if rec.OwnsBranch && rec.Workspace.Branch != "" {
				refs = append(refs, "refs/heads/"+rec.Workspace.Branch)
			}
			r.Git.SweepRefLocks(op.StartedAt, refs...)
		}
		_, err = svc.ApplyRemoval(ctx, r, op, rec, how)
		kept := errors.Is(err, checkout.ErrOther) || errors.Is(err, croft.WorkspaceDirty)
		if kept && !isMovedToTrash(rec, how.Dir) { // the workspace is live, and can be removed again
			err = svc.cancelRemoval(ctx, r, op, rec, err.Error())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// NoticeTrash adds a notice for every removed workspace whose unmerged work is about to
// be deleted from the trash. It never fails.
func (svc *Removals) NoticeTrash(ctx context.Context, r *project.Project) {
	records, err := svc.Journal.Announced(ctx, r.ID)
	if err != nil {
		return
	}
	for _, rec := range records {
		t := rec.Trash
		if t == nil || t.Purged || t.PurgeAt.IsZero() || t.Stays != "" {
			continue
		}
		when := "at " + t.PurgeAt.Local().Format(time.DateTime)
		if !t.PurgeAt.After(svc.Now()) {
			when = "with the next croft gc"
		}
		svc.Notice("%s goes from the trash %s, and is not in its target; before that: croft restore %s", rec.Workspace.Name, when, rec.Workspace.ID)
	}
}

// cancelWaitingMerges keeps work from landing after its workspace was removed: a waiting
// merge refuses the removal, and a forced removal cancels it. A merge that is being checked
// or published is not canceled, unless its driver died before it published anything.
func (svc *Removals) cancelWaitingMerges(tx *journal.Tx, r *project.Project, w croft.Workspace, mode croft.RemoveMode) (refused, err error) {
	waiting, err := tx.WaitingOf(w.ID)
	if err != nil {
		return nil, err
	}
	if refused = svc.guardMerges(r, waiting, w, mode); refused != nil {
		return refused, nil
	}
	for _, m := range waiting {
		if !isWholeMerge(m) || !svc.isCancelable(r, m) {
			continue
		}
		m.Cancel("its workspace was removed", "croft restore "+shellword.Quote(w.Name), svc.Now())
		if err := errors.Join(tx.PutMerge(&m), tx.Emit(svc.MergeEvent(croft.EventMergeCanceled, m))); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// guardMerges refuses to remove a workspace whose merge has not ended. In a forced mode one that waits is canceled with
// the workspace; one that is being merged cannot be.
func (svc *Removals) guardMerges(r *project.Project, waiting []journal.Merge, w croft.Workspace, mode croft.RemoveMode) error {
	switch mode {
	case RemoveOccupied:
		return nil
	case croft.RemoveForce:
		return svc.guardLanding(r, waiting, w)
	}
	for _, m := range waiting {
		switch {
		case !isWholeMerge(m):
		case m.State == croft.MergeQueued, svc.Queues.IsUnrun(r, m.Target):
			waits := "waits"
			if m.State != croft.MergeQueued {
				waits = "was interrupted and waits"
			}
			return &croft.Error{
				Code: croft.WorkspaceBusy, Workspace: w.Name, Message: fmt.Sprintf("its merge into %s %s; the work would land although the workspace was removed", m.Target, waits),
				Details: string(m.ID), Hint: "croft queue run, or croft queue cancel " + shellword.Quote(w.Name),
			}
		default:
			return landingError(m, w)
		}
	}
	return nil
}

// guardLanding refuses to remove a workspace whose work a driver is merging or checking: it would land all the same.
func (svc *Removals) guardLanding(r *project.Project, waiting []journal.Merge, w croft.Workspace) error {
	for _, m := range waiting {
		if isWholeMerge(m) && !svc.isCancelable(r, m) {
			return landingError(m, w)
		}
	}
	return nil
}

// isCancelable reports whether a merge waits, or was interrupted before it could be published.
func (svc *Removals) isCancelable(r *project.Project, m journal.Merge) bool {
	return m.State == croft.MergeQueued || m.Tried == "" && svc.Queues.IsUnrun(r, m.Target)
}

func landingError(m journal.Merge, w croft.Workspace) error {
	return &croft.Error{
		Code: croft.WorkspaceBusy, Workspace: w.Name, Message: "its work is being merged into " + m.Target, Details: string(m.ID), Hint: "croft queue",
	}
}

// isWholeMerge reports whether a merge brings all of a workspace's work. A part that was
// applied from a review is not canceled with the workspace.
func isWholeMerge(m journal.Merge) bool { return m.Kind == croft.KindMerge && !m.Part }
