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
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/progress"
	"github.com/croft-sh/croft/internal/project"
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
	for i, rec := range records {
		meter.Set(i)
		var done *croft.Removed
		err := svc.RequireShown(ctx, s.Project, rec, req.Agreed)
		if err == nil {
			done, err = svc.RemoveOrPlan(ctx, s.Project, rec, how, AgreedMode(req.Agreed, rec, req.Mode), req.DryRun)
		}
		if errors.Is(err, croft.WorktreeNotFound) { // another process removed it first
			res.Unknown = append(res.Unknown, rec.Workspace.Name)
			continue
		}
		if err != nil {
			if ctx.Err() != nil {
				return res, explain.WithWorkspace(rec.Workspace.Name, err)
			}
			res.Kept = append(res.Kept, project.KeptBecause(rec, err))
			continue
		}
		res.Removed = append(res.Removed, *done)
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
	rec, err := svc.UpdateMovedPath(ctx, r, rec)
	if err != nil {
		return nil, err
	}
	if err := svc.Guard(ctx, r, rec, mode); err != nil {
		return nil, err
	}
	notes := svc.Equipment.TearDown(ctx, r, rec)
	err = ctx.Err()
	if err == nil && rec.HasTeardown { // which took its time
		err = svc.Guard(ctx, r, rec, mode)
	}
	if err != nil {
		return nil, err
	}
	op, err := svc.Begin(ctx, how.Act, "remove", r)
	if err != nil {
		return nil, err
	}
	defer op.Close()
	if rec.Workspace.Mode != croft.ModeLegacy {
		if how.Dir, err = project.ChooseTrashDir(r, rec); err != nil {
			return nil, err
		}
	}
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	if err := svc.beginRemoval(ctx, op, rec, how, mode); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("remove.journalled"); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	out, err := svc.ApplyRemoval(ctx, r, op, rec, how)
	if err == nil {
		out.Notes = notes
		return out, nil
	}
	if fsx.IsThere(rec.Workspace.Path) && !isMovedToTrash(rec, how.Dir) {
		// Nothing was moved and the caller is told that the workspace is kept, so recovery
		// must not finish the removal later.
		err = errors.Join(err, svc.cancelRemoval(ctx, r, op, rec, err.Error()))
	}
	return nil, err
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

// errUnderway says that another operation on the same workspace has not ended.
var errUnderway = errors.New("another operation is under way")

// beginRemoval records a removal in the journal. If another operation on the workspace is
// under way it waits for it; if that removed the workspace it fails with WorktreeNotFound.
func (svc *Removals) beginRemoval(ctx context.Context, op *oplog.Op, rec journal.Record, how Spec, mode croft.RemoveMode) error {
	for {
		var other croft.ID
		err := op.Write(ctx, how, func(tx *journal.Tx) (err error) {
			if other, err = findUnderway(tx, rec); err != nil {
				return err
			}
			if other != "" {
				return errUnderway
			}
			return svc.cancelWaitingMerges(tx, rec.Workspace, mode)
		})
		if !errors.Is(err, errUnderway) {
			return err
		}
		if _, err := svc.Ops.Await(ctx, other, svc.Recover); err != nil {
			return err
		}
	}
}

// ApplyRemoval carries out a removal that the journal has as running. It asks no guard
// but Spec.Head, and can be repeated. Of a legacy workspace, or if the repository is
// gone, it only marks the record as purged. The caller has set how.Dir with
// project.ChooseTrashDir (not for a legacy workspace) and does not hold the project's
// lock.
func (svc *Removals) ApplyRemoval(ctx context.Context, r *project.Project, op *oplog.Op, rec journal.Record, how Spec) (*croft.Removed, error) {
	if rec.Workspace.Mode == croft.ModeLegacy || r.Git == nil {
		return svc.deleteRecord(ctx, op, rec, how)
	}
	// The record changes under the same lock as the disk, so that the next holder of the
	// lock sees both.
	l, err := r.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Unlock()
	if rec, err = svc.Journal.Record(ctx, rec.Workspace.ID); err != nil {
		return nil, err
	}
	w := rec.Workspace
	out := &croft.Removed{ID: w.ID, Name: w.Name}
	if w.State == croft.Trashed { // another process was faster
		return out, svc.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.End(op.ID, journal.OpDone, "", svc.Now()) })
	}
	live := rec
	rec.Workspace.State = croft.Trashed
	rec.Trash = &journal.Trash{RemovedAt: svc.Now(), ExpiresAt: svc.Now().Add(time.Duration(r.Config.Trash.Retention)), As: how.As}
	if err := svc.moveToTrash(ctx, r, live, how, &rec); err != nil {
		return nil, err
	}
	if rec.Trash.Dir != "" {
		out.Trash = w.ID
	}
	if rec.Trash.BranchGone {
		out.Branch = w.Branch
	}
	return out, svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error { return svc.endRemoval(tx, op, rec, how) })
}

// deleteRecord removes a workspace that has nothing of its own on disk: it marks the record
// as purged.
func (svc *Removals) deleteRecord(ctx context.Context, op *oplog.Op, rec journal.Record, how Spec) (*croft.Removed, error) {
	rec.Workspace.State = croft.Trashed
	rec.Trash = &journal.Trash{RemovedAt: svc.Now(), ExpiresAt: svc.Now(), Purged: true, As: how.As}
	return &croft.Removed{ID: rec.Workspace.ID, Name: rec.Workspace.Name}, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(tx.PutRecord(rec), svc.endRemoval(tx, op, rec, how))
	})
}

func (svc *Removals) endRemoval(tx *journal.Tx, op *oplog.Op, rec journal.Record, how Spec) error {
	return errors.Join(
		tx.DeleteLeases(rec.Workspace.ID),
		tx.Emit(svc.WorkspaceEvent(how.Event, rec)),
		tx.End(op.ID, journal.OpDone, "", svc.Now()),
	)
}

// moveToTrash pins the commits, moves the directory and the registration to the trash, and
// then deletes the branch. The caller holds the repository's lock.
func (svc *Removals) moveToTrash(ctx context.Context, r *project.Project, live journal.Record, how Spec, trashed *journal.Record) error {
	tree, trash := r.Trees.At(project.SpecOf(live)), trashed.Trash
	tip, pinned, err := svc.Archive(ctx, r, live, tree)
	if err == nil && how.Head != "" && !isMovedToTrash(live, how.Dir) {
		err = svc.guardLate(ctx, r, live, how.Head, tip)
	}
	if err != nil {
		return err
	}
	trash.Tip = tip
	if err := failpoint.Hit("remove.archived"); err != nil {
		return err
	}
	into, err := r.MakeTrashDir(how.Dir)
	if err != nil {
		return err
	}
	if err := failpoint.Hit("remove.trash"); err != nil {
		return err
	}
	trash.Identity = string(into)
	if within, err := fsx.IdentityOf(filepath.Dir(how.Dir)); err == nil {
		trash.Within = string(within)
	}
	spec := project.SpecOf(live)
	spec.TrashedIn = into
	var dropped []string
	err = r.Trees.MoveToTrashWhile(spec, how.Dir, func() error {
		// The directory is in its place, and its commits are pinned, before the
		// branch goes.
		err := fsx.SyncAll(append(pinned, how.Dir, filepath.Dir(how.Dir), filepath.Dir(filepath.Dir(how.Dir)), filepath.Dir(live.Workspace.Path))...)
		if err == nil {
			err = failpoint.Hit("remove.moved")
		}
		if err == nil {
			trash.BranchGone, dropped, err = svc.deleteRefs(ctx, r, live, how, tip)
		}
		if err == nil {
			trash.Dir = how.Dir
		}
		return err
	})
	if err == nil {
		err = fsx.SyncAll(append(dropped, how.Dir, filepath.Join(how.Dir, "admin"), filepath.Dir(tree.Admin))...)
	}
	if err != nil {
		return err
	}
	if dir, err := project.OpenTrashDir(&journal.Trash{Dir: how.Dir, Identity: trash.Identity}); err == nil {
		isEmpty := dir.IsEmpty()
		_ = dir.Close()
		if isEmpty { // the workspace was gone
			trash.Dir, trash.Identity, trash.Within = "", "", ""
			project.RemoveEmpty(how.Dir)
		}
	}
	return failpoint.Hit("remove.stowed")
}

// deleteRefs deletes the refs that only a live workspace has: the pins of its base, and
// its branch if how and project.BranchDeletion allow it. It reports whether the branch
// is deleted, and what the caller has to sync.
func (svc *Removals) deleteRefs(ctx context.Context, r *project.Project, rec journal.Record, how Spec, tip string) (gone bool, unsynced []string, err error) {
	var updates []refs.Update
	for _, ref := range []string{project.BaseRef(rec.Workspace.ID), project.HeldRef(rec.Workspace.ID)} {
		oid, err := r.Git.ReadRef(ctx, ref)
		if err == nil {
			updates = append(updates, refs.Update{Ref: ref, Old: oid})
		} else if !errors.Is(err, refs.ErrNoRef) {
			return false, nil, err
		}
	}
	if how.Branch == croft.BranchDelete && rec.OwnsBranch {
		var branch []refs.Update
		if branch, gone, err = project.BranchDeletion(ctx, r, rec, tip); err != nil {
			return false, nil, err
		}
		unsynced, err = r.Git.UpdateRefsUnsynced(ctx, append(branch, updates...)...)
		if !errors.Is(err, gitcmd.KindRefStale) {
			return gone && err == nil, unsynced, err
		}
		// The branch moved: it is in use.
	}
	unsynced, err = r.Git.UpdateRefsUnsynced(ctx, updates...)
	return false, unsynced, err
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
// or published is not canceled.
func (svc *Removals) cancelWaitingMerges(tx *journal.Tx, w croft.Workspace, mode croft.RemoveMode) error {
	waiting, err := tx.WaitingOf(w.ID)
	if err != nil {
		return err
	}
	if err := guardMerges(waiting, w, mode); err != nil {
		return err
	}
	for _, m := range waiting {
		if !isWholeMerge(m) || m.State != croft.MergeQueued {
			continue
		}
		m.Cancel("its workspace was removed", "croft restore "+w.Name, svc.Now())
		if err := errors.Join(tx.PutMerge(&m), tx.Emit(svc.MergeEvent(croft.EventMergeCanceled, m))); err != nil {
			return err
		}
	}
	return nil
}

// guardMerges refuses to remove a workspace whose merge has not ended, unless mode is a
// forced one.
func guardMerges(waiting []journal.Merge, w croft.Workspace, mode croft.RemoveMode) error {
	if mode == croft.RemoveForce || mode == RemoveOccupied {
		return nil
	}
	for _, m := range waiting {
		switch {
		case !isWholeMerge(m):
		case m.State == croft.MergeQueued:
			return &croft.Error{
				Code: croft.WorkspaceBusy, Workspace: w.Name, Message: fmt.Sprintf("its merge into %s waits; the work would land although the workspace was removed", m.Target),
				Details: string(m.ID), Hint: "croft queue run, or croft queue cancel " + w.Name,
			}
		default:
			return &croft.Error{
				Code: croft.WorkspaceBusy, Workspace: w.Name, Message: "its work is being merged into " + m.Target, Details: string(m.ID), Hint: "croft queue",
			}
		}
	}
	return nil
}

// isWholeMerge reports whether a merge brings all of a workspace's work. A part that was
// applied from a review is not canceled with the workspace.
func isWholeMerge(m journal.Merge) bool { return m.Kind == croft.KindMerge && !m.Part }
