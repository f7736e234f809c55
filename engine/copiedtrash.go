package engine

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

// A copy of a removed workspace, in the trash or at its old path, is another directory
// by its inode and birth, and is not restored by itself. A backup brings such a one
// back; somebody else may have made it. Whoever has seen it can say what it is.

// stowed is what lies where a removed workspace was put.
type stowed struct{ dir, tree fsx.Identity }

// copyInTrash finds another directory in the place of one in the trash, with a
// checkout in it.
func copyInTrash(rec journal.Record) (found stowed, isCopy bool) {
	if rec.Trash == nil || rec.Trash.Dir == "" {
		return stowed{}, false
	}
	dir, err := fsx.OpenDir(rec.Trash.Dir)
	if err != nil {
		return stowed{}, false
	}
	defer dir.Close()
	found.dir, err = dir.Identity()
	if err == nil {
		found.tree, err = dir.IdentityOf("tree")
	}
	isOther := func(recorded string, now fsx.Identity) bool { return recorded != "" && now != fsx.Identity(recorded) }
	return found, err == nil && (isOther(rec.Trash.Identity, found.dir) || isOther(rec.Identity, found.tree))
}

// copyAtPath finds a copy of a removed workspace at its old path, if its directory is
// known not to be in the trash: what is called .git in it names the workspace.
func (r *repo) copyAtPath(rec journal.Record) (found fsx.Identity, isCopy bool) {
	t := rec.Trash
	if t == nil || isTrashAway(t) && !r.isTrashGone(rec) || t.Dir != "" && fsx.IsThere(filepath.Join(t.Dir, "tree")) {
		return "", false
	}
	if r.isFree(rec) || !r.trees.At(specOf(rec)).Owns(rec.Workspace.Path) {
		return "", false
	}
	found, err := fsx.IdentityOf(rec.Workspace.Path)
	return found, err == nil
}

// copyStowed refuses to restore or delete a copy that lies in the trash. What to do if
// nobody copied it back, the caller says.
func copyStowed(rec journal.Record, orElse string) error {
	return &croft.Error{
		Code: croft.WorkspaceBroken, Details: rec.Trash.Dir,
		Message: "its directory in the trash was replaced by another: what lies there may be a copy",
		Hint:    "croft doctor --import, if it was copied back, then croft restore " + string(rec.Workspace.ID) + "; " + orElse,
	}
}

// occupied refuses to restore a workspace at whose path something lies.
func (r *repo) occupied(rec journal.Record) error {
	e := &croft.Error{
		Code: croft.WorktreeExists, Message: "something is at its path now", Details: rec.Workspace.Path, Hint: "move it away, then restore again",
	}
	if _, isCopy := r.copyAtPath(rec); isCopy {
		e.Message = "a copy of it is at its path now"
		e.Hint = "croft doctor --import, if it was copied back, then croft restore " + string(rec.Workspace.ID) + "; else move it away, then restore again"
	}
	return e
}

// copiedTrash names the copies of removed workspaces that lie in the trash or at their
// old paths. It reports whether it found one of this workspace in the trash.
func (d *doctor) copiedTrash(ctx context.Context, rec journal.Record) (isInTrash bool) {
	w := rec.Workspace
	if found, isCopy := d.r.copyAtPath(rec); isCopy {
		d.offerCopy(ctx, rec, findReplaced, "It was removed, and what lies at its old path, "+w.Path+", is a copy of it.", stowed{tree: found})
	}
	found, isCopy := copyInTrash(rec)
	if isCopy {
		d.offerCopy(ctx, rec, findTrashReplaced, "It was removed, and its directory in the trash, "+rec.Trash.Dir+", was replaced by another, which is left alone.", found)
	}
	return isCopy
}

func (d *doctor) offerCopy(ctx context.Context, rec journal.Record, code, message string, found stowed) {
	w := rec.Workspace
	if d.imports == croft.ImportNothing {
		d.find(code, w.Name, message+" If it was copied back, croft doctor --import takes it for the workspace, which croft restore "+string(w.ID)+" brings back then; else move it away.", nil)
		return
	}
	d.offer(code, w.Name, message+" If it was copied back, it can be what croft restore "+string(w.ID)+" brings back.", string(found.dir)+" "+string(found.tree), func() error {
		return d.underLock(ctx, d.r, func() error { return d.adoptRemoved(ctx, w.ID, found) })
	})
}

// adoptRemoved makes a copy of a removed workspace what is restored. The caller holds
// the repository's lock.
func (d *doctor) adoptRemoved(ctx context.Context, id croft.ID, found stowed) error {
	rec, err := d.journal.Record(ctx, id)
	if err != nil {
		return err
	}
	if rec.Workspace.State != croft.Trashed || rec.Trash == nil || rec.Trash.Purged {
		return errors.New("it is not in the trash any more")
	}
	at := rec.Workspace.Path
	if found.dir != "" {
		t := *rec.Trash
		t.Identity = string(found.dir)
		if within, err := fsx.IdentityOf(filepath.Dir(t.Dir)); err == nil {
			t.Within = string(within)
		}
		dir, err := openTrashDir(&t)
		if err != nil {
			return err
		}
		defer dir.Close()
		if err := d.r.trashDirs().Put(filepath.Base(t.Dir), fsx.Made{Path: t.Dir, Identity: found.dir}); err != nil {
			return err
		}
		at, rec.Trash = filepath.Join(t.Dir, "tree"), &t
	}
	tree, err := fsx.OpenDirIs(at, found.tree)
	if err != nil {
		return err
	}
	defer tree.Close()
	rec.Identity = string(found.tree)
	if err := d.r.git.Made().Put(rec.Admin, fsx.Made{Path: rec.Workspace.Path, Identity: found.tree}); err != nil {
		return err
	}
	return d.saveRecord(ctx, &rec, func(tx *journal.Tx) error { return tx.Emit(d.event(croft.EventWorkspaceRebuilt, rec)) })
}
