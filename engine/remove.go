package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
)

// remove moves workspaces to the trash and answers for each.
func (e *Engine) remove(ctx context.Context, s standing, req croft.RemoveRequest) (*croft.RemoveResult, error) {
	res := &croft.RemoveResult{Removed: []croft.Removed{}}
	records, err := e.toRemove(ctx, s, req, res)
	if err != nil {
		return nil, err
	}
	how := removal{Branch: req.Branch, Event: croft.EventWorkspaceRemoved, act: newAct()}
	for _, rec := range records {
		done, err := e.removeAgreed(ctx, s.repo, rec, how, req)
		if errors.Is(err, croft.WorktreeNotFound) { // somebody else was faster
			res.Unknown = append(res.Unknown, rec.Workspace.Name)
			continue
		}
		if err != nil {
			if ctx.Err() != nil {
				return res, explain.About(rec.Workspace.Name, err)
			}
			res.Kept = append(res.Kept, kept(rec, err))
			continue
		}
		res.Removed = append(res.Removed, *done)
	}
	e.noticeTrash(ctx, s.repo)
	return res, nil
}

// removal is what a remove operation is going to do. It is written down before
// anything is done, so that another process can finish it.
type removal struct {
	Branch croft.BranchMode `json:"branch,omitempty"`
	Dir    string           `json:"dir,omitempty"` // where the workspace goes
	Event  string           `json:"event"`
	// Head is what the workspace's work is expected to end with, if that is
	// known. A workspace with later commits is kept.
	Head string `json:"head,omitempty"`

	act      act
	occupied bool // it goes although processes are at work in it
}

func (e *Engine) removeOne(ctx context.Context, r *repo, rec journal.Record, how removal, mode croft.RemoveMode) (*croft.Removed, error) {
	rec, err := e.catchUp(ctx, r, rec)
	if err != nil {
		return nil, err
	}
	if err := e.guard(ctx, r, rec, mode); err != nil {
		return nil, err
	}
	op, err := e.begin(how.act, "remove", r)
	if err != nil {
		return nil, err
	}
	defer op.Close()
	if rec.Workspace.Mode != croft.ModeLegacy {
		if how.Dir, err = trashDir(r, rec); err != nil {
			return nil, err
		}
	}
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	if err := e.beginRemoval(ctx, op, rec, how, mode); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("remove.journalled"); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	out, err := e.carryRemoval(ctx, r, op, rec, how)
	if err == nil {
		return out, nil
	}
	if fsx.IsThere(rec.Workspace.Path) && !isStowed(rec, how.Dir) {
		// Nothing was moved: the caller is told that the workspace is kept, so
		// nobody may finish the removal later.
		err = errors.Join(err, e.keep(ctx, r, op, rec, err.Error()))
	}
	return nil, err
}

// isStowed reports whether the workspace's directory was moved already.
func isStowed(rec journal.Record, dir string) bool {
	return dir != "" && fsx.Identity(rec.Identity).IsAt(filepath.Join(dir, "tree"))
}

// keep ends a removal that did not come to move anything.
func (e *Engine) keep(ctx context.Context, r *repo, op *oplog.Op, rec journal.Record, reason string) error {
	if r.git != nil && rec.Workspace.Mode != croft.ModeLegacy {
		if err := e.underLock(ctx, r, func() error { return e.dropArchive(ctx, r, rec.Workspace.ID, "") }); err != nil {
			return err // the next one finishes the removal after all
		}
	}
	var how removal
	if json.Unmarshal(op.Input, &how) == nil {
		removeEmpty(how.Dir)
	}
	return op.Undone(ctx, reason)
}

// errUnderway says that another operation on the same workspace has not ended.
var errUnderway = errors.New("another operation is under way")

// beginRemoval writes a removal down. If another one is under way, it waits
// until that has ended, and then there is nothing left to remove.
func (e *Engine) beginRemoval(ctx context.Context, op *oplog.Op, rec journal.Record, how removal, mode croft.RemoveMode) error {
	for {
		var other croft.ID
		err := op.Write(ctx, how, func(tx *journal.Tx) (err error) {
			if other, err = underway(tx, rec); err != nil {
				return err
			}
			if other != "" {
				return errUnderway
			}
			return e.withdrawMerges(tx, rec.Workspace, mode)
		})
		if !errors.Is(err, errUnderway) {
			return err
		}
		if _, err := e.ops.Await(ctx, other, e.recover); err != nil {
			return err
		}
	}
}

// carryRemoval does what the journal says. Every step may have been done
// before, by a process that died.
func (e *Engine) carryRemoval(ctx context.Context, r *repo, op *oplog.Op, rec journal.Record, how removal) (*croft.Removed, error) {
	if rec.Workspace.Mode == croft.ModeLegacy || r.git == nil {
		return e.forget(ctx, op, rec, how)
	}
	// The record changes under the same lock as the disk: whoever holds it next
	// sees that the path is free, or that the workspace is gone.
	l, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer l.Unlock()
	if rec, err = e.journal.Record(ctx, rec.Workspace.ID); err != nil {
		return nil, err
	}
	w := rec.Workspace
	out := &croft.Removed{ID: w.ID, Name: w.Name}
	if w.State == croft.Trashed { // another process was faster
		return out, e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.End(op.ID, journal.OpDone, "", e.now()) })
	}
	live := rec
	rec.Workspace.State = croft.Trashed
	rec.Trash = &journal.Trash{RemovedAt: e.now(), ExpiresAt: e.now().Add(time.Duration(r.cfg.Trash.Retention))}
	if err := e.stow(ctx, r, live, how, &rec); err != nil {
		return nil, err
	}
	if rec.Trash.Dir != "" {
		out.Trash = w.ID
	}
	if rec.Trash.BranchGone {
		out.Branch = w.Branch
	}
	return out, e.saveRecord(ctx, &rec, func(tx *journal.Tx) error { return e.endRemoval(tx, op, rec, how) })
}

// forget removes a workspace that has nothing of its own on disk: the record.
func (e *Engine) forget(ctx context.Context, op *oplog.Op, rec journal.Record, how removal) (*croft.Removed, error) {
	rec.Workspace.State = croft.Trashed
	rec.Trash = &journal.Trash{RemovedAt: e.now(), ExpiresAt: e.now(), Purged: true}
	rec.Generation++
	return &croft.Removed{ID: rec.Workspace.ID, Name: rec.Workspace.Name}, e.journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(tx.Put(rec), e.endRemoval(tx, op, rec, how))
	})
}

func (e *Engine) endRemoval(tx *journal.Tx, op *oplog.Op, rec journal.Record, how removal) error {
	return errors.Join(
		tx.DropLeases(rec.Workspace.ID),
		tx.Emit(e.event(how.Event, rec)),
		tx.End(op.ID, journal.OpDone, "", e.now()),
	)
}

// stow pins the commits, moves the directory away and ends the registration;
// then the branch goes. The caller holds the repository's lock.
func (e *Engine) stow(ctx context.Context, r *repo, live journal.Record, how removal, trashed *journal.Record) error {
	tree, trash := r.trees.At(specOf(live)), trashed.Trash
	tip, pinned, err := e.archive(ctx, r, live, tree)
	if err == nil && how.Head != "" && !isStowed(live, how.Dir) {
		err = e.guardLate(ctx, r, live, how.Head, tip)
	}
	if err != nil {
		return err
	}
	trash.Tip = tip
	if err := failpoint.Hit("remove.archived"); err != nil {
		return err
	}
	into, err := r.makeTrashDir(how.Dir)
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
	spec := specOf(live)
	spec.StowedIn = into
	var dropped []string
	err = r.trees.StowWhile(spec, how.Dir, func() error {
		// The directory is in its place, and its commits are pinned, before the
		// branch goes.
		err := fsx.SyncAll(append(pinned, how.Dir, filepath.Dir(how.Dir), filepath.Dir(filepath.Dir(how.Dir)), filepath.Dir(live.Workspace.Path))...)
		if err == nil {
			err = failpoint.Hit("remove.moved")
		}
		if err == nil {
			trash.BranchGone, dropped, err = e.dropRefs(ctx, r, live, how, tip)
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
	if dir, err := openTrashDir(&journal.Trash{Dir: how.Dir, Identity: trash.Identity}); err == nil {
		isEmpty := dir.IsEmpty()
		_ = dir.Close()
		if isEmpty { // the workspace was gone
			trash.Dir, trash.Identity, trash.Within = "", "", ""
			removeEmpty(how.Dir)
		}
	}
	return failpoint.Hit("remove.stowed")
}

// dropRefs deletes the refs that only a live workspace has: the pin of its
// base, and its branch if that is wanted and may be. It reports whether the
// branch is gone, and what the caller has to sync.
func (e *Engine) dropRefs(ctx context.Context, r *repo, rec journal.Record, how removal, tip string) (gone bool, unsynced []string, err error) {
	var updates []git.RefUpdate
	for _, ref := range []string{baseRef(rec.Workspace.ID), heldRef(rec.Workspace.ID)} {
		oid, err := r.git.ReadRef(ctx, ref)
		if err == nil {
			updates = append(updates, git.RefUpdate{Ref: ref, Old: oid})
		} else if !errors.Is(err, git.ErrNoRef) {
			return false, nil, err
		}
	}
	if how.Branch == croft.BranchDelete && rec.OwnsBranch {
		var branch []git.RefUpdate
		if branch, gone, err = branchDeletion(ctx, r, rec, tip); err != nil {
			return false, nil, err
		}
		unsynced, err = r.git.MoveRefs(ctx, append(branch, updates...)...)
		if !errors.Is(err, git.KindRefStale) {
			return gone && err == nil, unsynced, err
		}
		// The branch moved: somebody is using it.
	}
	unsynced, err = r.git.MoveRefs(ctx, updates...)
	return false, unsynced, err
}

// deleteBranch deletes the branch of a removed workspace if it is still at the
// tip that was archived and nobody else has it checked out.
func deleteBranch(ctx context.Context, r *repo, rec journal.Record, tip string) (bool, error) {
	updates, gone, err := branchDeletion(ctx, r, rec, tip)
	if err != nil || len(updates) == 0 {
		return gone, err
	}
	err = r.git.UpdateRefs(ctx, updates...)
	if errors.Is(err, git.KindRefStale) {
		return false, nil // it moved: somebody is using it
	}
	return err == nil, err
}

// branchDeletion is what deletes the branch of a workspace, and whether it is
// gone after that. Both are empty if it has to stay.
func branchDeletion(ctx context.Context, r *repo, rec journal.Record, tip string) ([]git.RefUpdate, bool, error) {
	ref := "refs/heads/" + rec.Workspace.Branch
	now, err := r.git.ReadRef(ctx, ref)
	if errors.Is(err, git.ErrNoRef) {
		return nil, true, nil
	}
	// The workspace's own registration may still be on its way out.
	if err != nil || now != tip || len(r.git.CheckedOut(rec.Workspace.Branch, r.trees.At(specOf(rec)).Admin)) > 0 {
		return nil, false, err
	}
	return []git.RefUpdate{{Ref: ref, Old: tip}}, true, nil
}

func dropRef(ctx context.Context, r *repo, ref string) error {
	oid, err := r.git.ReadRef(ctx, ref)
	if errors.Is(err, git.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.git.UpdateRefs(ctx, git.RefUpdate{Ref: ref, Old: oid})
}

// recoverRemove finishes a removal: the workspace was allowed to go, and half
// a removal is worse than a whole one.
func (e *Engine) recoverRemove(ctx context.Context, r *repo, op *oplog.Op) error {
	var how removal
	if err := json.Unmarshal(op.Input, &how); err != nil {
		return err
	}
	for _, id := range op.Workspaces {
		rec, err := e.journal.Record(ctx, id)
		if err != nil {
			return err
		}
		if r.git == nil && rec.Workspace.Mode != croft.ModeLegacy {
			return nil // the repository is not there, and may come back
		}
		if r.git != nil {
			refs := []string{archiveRef(id), archiveBranchRef(id), archiveStateRef(id), archiveOwnRef(id), baseRef(id), heldRef(id)}
			if rec.OwnsBranch && rec.Workspace.Branch != "" {
				refs = append(refs, "refs/heads/"+rec.Workspace.Branch)
			}
			r.git.DropRemains(op.StartedAt, refs...)
		}
		_, err = e.carryRemoval(ctx, r, op, rec, how)
		kept := errors.Is(err, checkout.ErrOther) || errors.Is(err, croft.WorkspaceDirty)
		if kept && !isStowed(rec, how.Dir) { // whoever asked finds it when they ask again
			err = e.keep(ctx, r, op, rec, err.Error())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trashDir chooses where a removed workspace lies: beside the other workspaces
// of the repository, on the same file system, so that moving it there is one
// rename.
func trashDir(r *repo, rec journal.Record) (string, error) {
	parent := filepath.Dir(rec.Workspace.Path)
	candidates := []string{
		filepath.Join(filepath.Dir(r.path), r.name()+".croft", ".trash"),
		filepath.Join(r.common, "croft", "trash"),
		filepath.Join(parent, ".croft-trash"),
	}
	// What an agent had in an earlier round is not left in its home.
	if rec.Home == "" && rec.BaseDir != "" && rec.BaseDir != filepath.Dir(r.path) && !isWithin(rec.BaseDir, r.path) {
		candidates = append([]string{filepath.Join(rec.BaseDir, ".trash")}, candidates...)
	}
	if !fsx.IsThere(rec.Workspace.Path) { // nor may be what it lay in: a registration goes where registrations are
		candidates = append([]string{filepath.Join(r.common, "croft", "trash")}, candidates...)
	}
	var errs []error
	for _, c := range candidates {
		dir, err := fsx.MakeDir(c, 0o700)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_ = dir.Close()
		place := filepath.Join(c, string(rec.Workspace.ID))
		if r.isTaken(place) {
			errs = append(errs, notOurs(place))
			continue
		}
		if _, err := os.Lstat(rec.Workspace.Path); err != nil || sameDevice(parent, c) {
			return place, nil
		}
	}
	return "", errors.Join(append(errs, errors.New("no place for the trash on the workspace's file system"))...)
}

func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(os.PathSeparator))
}
