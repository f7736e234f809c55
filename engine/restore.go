package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/proc"
)

// Trash lists what can be restored, the most recently removed first.
func (e *Engine) Trash(ctx context.Context, dir string) ([]croft.TrashItem, error) {
	s, err := e.standing(ctx, dir)
	if err != nil {
		return nil, explain("trash", "", err)
	}
	records, err := e.trashed(ctx, s.repo)
	if err != nil {
		return nil, explain("trash", "", err)
	}
	items := make([]croft.TrashItem, len(records))
	for i, rec := range records {
		w, t := rec.Workspace, rec.Trash
		items[i] = croft.TrashItem{
			ID: w.ID, Name: w.Name, Branch: w.Branch, Path: w.Path, RemovedAt: t.RemovedAt, ExpiresAt: t.ExpiresAt,
		}
		if t.Dir != "" {
			items[i].Bytes = treeSize(t.Dir)
		}
	}
	return items, nil
}

// trashed lists the records that can be restored, the last removed first.
func (e *Engine) trashed(ctx context.Context, r *repo) ([]journal.Record, error) {
	all, err := e.journal.Records(ctx, r.id)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all, func(rec journal.Record) bool {
		return rec.Workspace.State != croft.Trashed || rec.Trash == nil || rec.Trash.Purged || rec.Workspace.Mode == croft.ModeLegacy
	})
	slices.SortStableFunc(list, func(a, b journal.Record) int { return b.Trash.RemovedAt.Compare(a.Trash.RemovedAt) })
	return list, nil
}

// Restore brings a removed workspace back.
func (e *Engine) Restore(ctx context.Context, req croft.RestoreRequest) (*croft.Workspace, error) {
	s, err := e.at(ctx, req.Repo)
	if err != nil {
		return nil, explain("restore", req.Ref, err)
	}
	if err := e.recover(ctx, s.id); err != nil {
		return nil, explain("restore", req.Ref, err)
	}
	snap, err := e.findSnapshot(ctx, s.repo, req.Ref)
	if err != nil {
		return nil, explain("restore", req.Ref, err)
	}
	if snap != nil {
		if err := e.rewind(ctx, s.repo, *snap, newAct()); err != nil {
			return nil, explain("restore", snap.Name, err)
		}
		w, err := e.viewOf(ctx, s.repo, snap.Workspace)
		return w, explain("restore", snap.Name, err)
	}
	rec, err := e.findTrashed(ctx, s, req.Ref)
	if err != nil {
		return nil, explain("restore", req.Ref, err)
	}
	if err := e.restoreOne(ctx, s.repo, rec, newAct()); err != nil {
		return nil, explain("restore", rec.Workspace.Name, err)
	}
	w, err := e.viewOf(ctx, s.repo, rec.Workspace.ID)
	return w, explain("restore", rec.Workspace.Name, err)
}

func (e *Engine) findTrashed(ctx context.Context, s standing, ref string) (journal.Record, error) {
	list, err := e.trashed(ctx, s.repo)
	if err != nil {
		return journal.Record{}, err
	}
	for _, rec := range list {
		if string(rec.Workspace.ID) == ref || rec.Workspace.Name == ref {
			return rec, nil
		}
	}
	return journal.Record{}, &croft.Error{
		Code: croft.WorktreeNotFound, Message: fmt.Sprintf("nothing in the trash is called %q", ref), Hint: "croft trash",
	}
}

// restoreOne writes a restoration down and carries it out. What fails is taken
// back: the workspace stays in the trash.
func (e *Engine) restoreOne(ctx context.Context, r *repo, rec journal.Record, a act) error {
	op, err := e.begin(a, "restore", r)
	if err != nil {
		return err
	}
	defer op.close()
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	if err := e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.Begin(op.Operation) }); err != nil {
		return err
	}
	if err := failpoint.Hit("restore.journalled"); err != nil {
		return err
	}
	return e.carryRestoration(context.WithoutCancel(ctx), r, op, rec)
}

// carryRestoration does what the journal says. Every step may have been done
// before, by a process that died.
func (e *Engine) carryRestoration(ctx context.Context, r *repo, op *operation, rec journal.Record) error {
	l, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if rec, err = e.journal.Record(ctx, rec.Workspace.ID); err != nil {
		return err
	}
	if rec.Workspace.State != croft.Trashed { // another process was faster
		return e.end(ctx, op.Operation, journal.OpDone, "")
	}
	err = e.vacant(ctx, r, rec)
	if err == nil {
		err = e.bringBack(ctx, r, op, rec)
	}
	if err != nil {
		return errors.Join(err, e.stowAgain(ctx, r, rec), e.end(ctx, op.Operation, journal.OpUndone, err.Error()))
	}
	rec.Workspace.State, rec.Boot = croft.Ready, proc.Here().Boot
	rec.Trash = nil
	err = e.saveRecord(ctx, r, &rec, func(tx *journal.Tx) error {
		return errors.Join(tx.Emit(e.event(croft.EventWorkspaceRestored, rec)), tx.End(op.ID, journal.OpDone, "", e.now()))
	})
	if err != nil {
		return err
	}
	for _, ref := range []string{archiveRef(rec.Workspace.ID), archiveBranchRef(rec.Workspace.ID), archiveStateRef(rec.Workspace.ID)} {
		if err := dropRef(ctx, r, ref); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) end(ctx context.Context, op journal.Operation, state journal.OpState, reason string) error {
	return e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.End(op.ID, state, reason, e.now()) })
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
	if _, err := os.Lstat(w.Path); err == nil && !r.trees.At(specOf(rec)).Owns(w.Path) {
		return &croft.Error{
			Code: croft.WorktreeExists, Message: "something is at its path now", Details: w.Path, Hint: "move it away, then restore again",
		}
	}
	tip, err := r.git.ReadRef(ctx, "refs/heads/"+w.Branch)
	switch {
	case errors.Is(err, git.ErrNoRef):
		return nil
	case err != nil:
		return err
	case rec.Trash.BranchGone && tip != rec.Trash.Tip:
		return &croft.Error{
			Code: croft.BranchExists, Message: fmt.Sprintf("branch %q is another one now", w.Branch), Details: tip,
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
func (e *Engine) bringBack(ctx context.Context, r *repo, op *operation, rec journal.Record) error {
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
	spec := specOf(rec)
	spec.Inherit = op.inherit()
	err := checkout.ErrGone
	if rec.Trash.Dir != "" {
		err = r.trees.Unstow(spec, rec.Trash.Dir)
	}
	if errors.Is(err, checkout.ErrGone) {
		err = e.checkOutAgain(ctx, r, spec)
	}
	if err != nil {
		return err
	}
	if err := failpoint.Hit("restore.unstowed"); err != nil {
		return err
	}
	if rec.Trash.Dir != "" {
		_ = os.Remove(rec.Trash.Dir)
		_ = os.Remove(filepath.Dir(rec.Trash.Dir))
	}
	return r.trees.Release(spec)
}

// checkOutAgain is for a workspace of which nothing was left on disk: its
// commits come back.
func (e *Engine) checkOutAgain(ctx context.Context, r *repo, spec checkout.Spec) error {
	if err := os.MkdirAll(filepath.Dir(spec.Path), 0o777); err != nil {
		return err
	}
	if r.trees.Health(spec) != checkout.Intact {
		if err := r.trees.Discard(spec); err != nil {
			return err
		}
		if err := r.trees.Prepare(ctx, spec); err != nil {
			return err
		}
	}
	return r.trees.Fill(ctx, spec)
}

// stowAgain puts a workspace back into the trash whose restoration failed.
func (e *Engine) stowAgain(ctx context.Context, r *repo, rec journal.Record) error {
	if !r.trees.At(specOf(rec)).Owns(rec.Workspace.Path) {
		return nil
	}
	if rec.Trash.Dir == "" {
		return r.trees.Discard(specOf(rec))
	}
	if err := os.MkdirAll(rec.Trash.Dir, 0o700); err != nil {
		return err
	}
	if err := r.trees.Stow(specOf(rec), rec.Trash.Dir); err != nil {
		return err
	}
	if rec.Trash.BranchGone {
		_, err := deleteBranch(ctx, r, rec, rec.Trash.Tip)
		return err
	}
	return nil
}

// recoverRestore finishes a restoration whose process died.
func (e *Engine) recoverRestore(ctx context.Context, r *repo, op journal.Operation) error {
	for _, id := range op.Workspaces {
		rec, err := e.journal.Record(ctx, id)
		if err != nil {
			return err
		}
		if r.git == nil {
			return e.end(ctx, op, journal.OpUndone, "the repository is gone")
		}
		r.git.DropRemains(op.StartedAt, baseRef(id), recordRef(id), archiveRef(id), archiveBranchRef(id), archiveStateRef(id), "refs/heads/"+rec.Workspace.Branch)
		err = e.carryRestoration(ctx, r, &operation{Operation: op}, rec)
		if _, typed := errors.AsType[*croft.Error](err); err != nil && !typed {
			return err
		}
	}
	return nil
}
