package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/provision"
)

// restore brings a removed workspace back.
func (e *Engine) restore(ctx context.Context, s standing, req croft.RestoreRequest) (*croft.Workspace, error) {
	rec, err := e.findTrashed(ctx, s.repo, req.Ref)
	if errors.Is(err, croft.WorktreeNotFound) && isID(req.Ref) {
		snap, lost := e.findSnapshot(ctx, s.repo, req.Ref)
		if lost != nil {
			return nil, lost
		}
		if snap != nil {
			return e.restoreSnapshot(ctx, s.repo, *snap)
		}
	}
	if err != nil {
		return nil, err
	}
	was := e.left(ctx, s.repo, rec)
	if was == croft.LeftAway && req.Mode == croft.RestoreCommits && s.findTrash(ctx, rec) == "" {
		was = croft.LeftCommits
	}
	if err := e.restoreOne(ctx, s.repo, rec, req.Mode, newAct()); err != nil {
		return nil, explain.About(rec.Workspace.Name, err)
	}
	w, err := e.viewOf(ctx, s.repo, rec.Workspace.ID)
	if err == nil {
		w.Notes = restoreNotes(rec, was)
	}
	return w, explain.About(rec.Workspace.Name, err)
}

// restoreSnapshot brings a workspace back to a state that was saved.
func (e *Engine) restoreSnapshot(ctx context.Context, r *repo, snap croft.Snapshot) (*croft.Workspace, error) {
	if err := e.rewind(ctx, r, snap, newAct()); err != nil {
		return nil, explain.About(snap.Name, err)
	}
	w, err := e.viewOf(ctx, r, snap.Workspace)
	return w, explain.About(snap.Name, err)
}

// findTrashed finds what can be restored by its ID or its name; of several that
// had it, the last removed.
func (e *Engine) findTrashed(ctx context.Context, r *repo, ref string) (journal.Record, error) {
	list, err := e.journal.Removed(ctx, r.id, ref)
	if err != nil {
		return journal.Record{}, err
	}
	if list = onlyTrashed(list); len(list) > 0 {
		return list[0], nil
	}
	return journal.Record{}, &croft.Error{
		Code: croft.WorktreeNotFound, Message: fmt.Sprintf("nothing in the trash is called %q", ref), Hint: "croft trash",
	}
}

// restoreOne writes a restoration down and carries it out. What fails is taken
// back: the workspace stays in the trash.
func (e *Engine) restoreOne(ctx context.Context, r *repo, rec journal.Record, mode croft.RestoreMode, a act) error {
	op, err := e.begin(a, "restore", r)
	if err != nil {
		return err
	}
	defer op.Close()
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	if err := op.Write(ctx, nil, nil); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := failpoint.Hit("restore.journalled"); err != nil {
		return op.Failed(ctx, err)
	}
	return e.carryRestoration(ctx, r, op, rec, mode)
}

// carryRestoration does what the journal says. Every step may have been done
// before, by a process that died.
func (e *Engine) carryRestoration(ctx context.Context, r *repo, op *oplog.Op, rec journal.Record, mode croft.RestoreMode) error {
	l, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if rec, err = e.journal.Record(ctx, rec.Workspace.ID); err != nil {
		return err
	}
	if rec.Workspace.State != croft.Trashed { // another process was faster
		return op.Done(ctx)
	}
	begun := op.IsRecovered() // by the process that died
	if err := e.locateStowed(ctx, r, &rec, mode); err != nil {
		return op.Failed(ctx, err)
	}
	how := restoration{startedAt: op.StartedAt}
	how.before, _ = fsx.IdentityOf(rec.Workspace.Path)
	_, err = r.git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch)
	how.madeBranch = errors.Is(err, git.ErrNoRef) || begun && rec.Trash.BranchGone
	if err = e.vacant(ctx, r, rec); err == nil {
		begun = true
		err = e.bringBack(ctx, r, op, &rec)
	}
	if err != nil {
		if begun {
			if back := e.stowAgain(ctx, r, rec, how); back != nil {
				return errors.Join(err, back) // the journal still says what was begun
			}
		}
		return op.Failed(ctx, err)
	}
	rec.Workspace.State = croft.Ready
	rec.Identity = string(r.trees.At(specOf(rec)).Made())
	rec.Wake(proc.Here().Boot)
	if rec.Workspace.MergeStatus == croft.MergeDiscarded { // whoever brings it back wants it
		rec.Workspace.MergeStatus = croft.MergePending // where the record does not say what it was
		if rec.Undiscarded != nil {
			rec.Workspace.MergeStatus = *rec.Undiscarded
		}
	}
	rec.Undiscarded = nil
	trash := rec.Trash
	rec.Trash = nil
	err = e.saveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(tx.Emit(e.event(croft.EventWorkspaceRestored, rec)), tx.End(op.ID, journal.OpDone, "", e.now()))
	})
	if err == nil {
		clearTrashDir(r, trash)
		_ = e.forgetWork(ctx, r, rec.Workspace.ID) // else the next gc does it
	}
	return err
}

// dropArchive releases what a removed workspace was kept by. What its branch was at
// when it was deleted stays, if the commit that is restored does not lead there.
func (e *Engine) dropArchive(ctx context.Context, r *repo, id croft.ID, restored string) error {
	refs := []string{archiveRef(id), archiveStateRef(id), archiveOwnRef(id)}
	kept, err := e.pinned(ctx, r, archiveBranchRef(id))
	if err != nil && !errors.Is(err, git.ErrNoRef) {
		return err
	}
	isBack := err == nil
	if isBack && restored != "" && kept != restored {
		if isBack, err = r.git.IsAncestor(ctx, kept, restored); err != nil {
			return err
		}
	}
	if isBack {
		refs = append(refs, archiveBranchRef(id))
	}
	if err := e.unpin(ctx, r, refs...); err != nil {
		return err
	}
	return failpoint.Hit("restore.archive")
}

// vacant says what occupies the place of a workspace that is to come back.
func (e *Engine) vacant(ctx context.Context, r *repo, rec journal.Record) error {
	w := rec.Workspace
	if other, err := e.journal.LiveByName(ctx, r.id, w.Name); err == nil {
		return &croft.Error{
			Code: croft.WorktreeExists, Message: "another workspace has its name now", Details: other.Workspace.Path,
			Hint: "croft remove " + w.Name + ", then restore " + string(w.ID),
		}
	} else if !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	if !r.isFree(rec) {
		return r.occupied(rec)
	}
	tip, err := r.git.ReadRef(ctx, "refs/heads/"+w.Branch)
	switch {
	case w.Branch == "":
		return nil
	case errors.Is(err, git.ErrNoRef):
		by, err := r.git.Blocking(ctx, w.Branch)
		if err != nil || by == "" {
			return err
		}
		return e.restoreBlocked(ctx, r, blocked{workspace: w.Name, branch: w.Branch, by: by})
	case err != nil:
		return err
	case tip != rec.Trash.Tip && rec.Trash.Tip != "":
		message := fmt.Sprintf("branch %q has moved since; the files are those of %.7s", w.Branch, rec.Trash.Tip)
		if rec.Trash.BranchGone {
			message = fmt.Sprintf("branch %q is another one now", w.Branch)
		}
		return &croft.Error{
			Code: croft.BranchExists, Message: message, Details: tip,
			Hint: fmt.Sprintf("git branch -m %s %s-2, then restore again", w.Branch, w.Branch),
		}
	}
	if used := r.git.CheckedOut(w.Branch, r.trees.At(specOf(rec)).Admin); len(used) > 0 {
		return &croft.Error{
			Code: croft.BranchInUse, Message: fmt.Sprintf("branch %q is checked out elsewhere", w.Branch), Details: used[0], Hint: "git worktree list",
		}
	}
	return nil
}

// bringBack makes the branch, the registration and the files again.
func (e *Engine) bringBack(ctx context.Context, r *repo, op *oplog.Op, rec *journal.Record) error {
	w := rec.Workspace
	updates := []git.RefUpdate{}
	add := func(ref, oid string) {
		if _, err := r.git.ReadRef(ctx, ref); errors.Is(err, git.ErrNoRef) && oid != "" {
			updates = append(updates, git.RefUpdate{Ref: ref, New: oid})
		}
	}
	add(baseRef(w.ID), w.Base)
	if w.Branch != "" {
		add("refs/heads/"+w.Branch, rec.Trash.Tip)
	}
	if err := r.git.UpdateRefs(ctx, updates...); err != nil {
		return err
	}
	if err := failpoint.Hit("restore.refs"); err != nil {
		return err
	}
	spec := specOf(*rec)
	spec.Inherit = op.Inherit()
	err := checkout.ErrGone
	if rec.Trash.Dir != "" || fsx.Identity(rec.Identity).IsAt(w.Path) {
		err = r.trees.Unstow(spec, rec.Trash.Dir)
	}
	if errors.Is(err, checkout.ErrGone) {
		err = e.makeAgain(ctx, r, rec, spec)
	}
	if err != nil {
		return err
	}
	if err := failpoint.Hit("restore.unstowed"); err != nil {
		return err
	}
	if err := r.trees.At(spec).Sync(); err != nil {
		return err
	}
	if err := r.trees.Release(spec); err != nil {
		return err
	}
	if err := r.harvestAgain(ctx, spec); err != nil {
		return err
	}
	// From here on branch and registration hold the commits.
	return e.dropArchive(ctx, r, w.ID, rec.Trash.Tip)
}

// equipAgain copies role files into a workspace that was made again, if the role
// still has them. The caller holds the repository's lock.
func (e *Engine) equipAgain(ctx context.Context, r *repo, rec *journal.Record) error {
	if rec.Workspace.Role == "" || len(rec.RoleFiles) == 0 {
		return nil
	}
	role, err := findRole(r, rec.Workspace.Role)
	if errors.Is(err, croft.RoleNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	untracked, err := e.placeRole(ctx, r, rec, role, provision.Fresh)
	if err != nil || len(untracked) == 0 {
		return err
	}
	return r.hideRoles(ctx, r.trees.At(specOf(*rec)))
}

// clearTrashDir removes the directory that a workspace was stowed in, if there
// is nothing left in it but a registration.
func clearTrashDir(r *repo, t *journal.Trash) {
	if t.Dir == "" {
		return
	}
	if dir, err := openTrashDir(t); err == nil {
		if !dir.Has("tree") {
			_ = dir.RemoveAll("admin")
		}
		_ = dir.Close()
		removeEmpty(t.Dir)
	}
	if !fsx.IsThere(t.Dir) {
		_ = r.trashDirs().Drop(filepath.Base(t.Dir))
	}
	removeEmpty(filepath.Dir(t.Dir))
}

// recoverRestore finishes a restoration whose process died.
func (e *Engine) recoverRestore(ctx context.Context, r *repo, op *oplog.Op) error {
	for _, id := range op.Workspaces {
		rec, err := e.journal.Record(ctx, id)
		if err != nil {
			return err
		}
		if r.git == nil {
			return op.Undone(ctx, "the repository is gone")
		}
		r.git.DropRemains(op.StartedAt, baseRef(id), heldRef(id), archiveRef(id), archiveBranchRef(id), archiveStateRef(id), archiveOwnRef(id), archiveWorkRef(id), "refs/heads/"+rec.Workspace.Branch)
		err = e.carryRestoration(ctx, r, op, rec, croft.RestoreWhole)
		if _, typed := errors.AsType[*croft.Error](err); err != nil && !typed {
			return err
		}
	}
	return nil
}
