package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// moved looks whether the records speak of another place than the one that the
// repository is at now.
func (d *doctor) moved(ctx context.Context) error {
	if d.r.movedFrom == "" {
		return nil
	}
	d.find(findMoved, d.r.path, fmt.Sprintf("The repository was at %s when it was last seen.", d.r.movedFrom), func() error {
		return d.underLock(ctx, d.r, func() error { return d.relocate(ctx, d.r) })
	})
	return nil
}

// relocate follows a repository that was moved: workspaces inside it moved
// along, those beside it stayed, and both have lost their way to it. What lies
// where it is expected and is provably the workspace is joined again; the rest
// is left as it is. The caller holds the repository's lock.
func (e *Engine) relocate(ctx context.Context, r *repo) error {
	records, err := e.journal.Records(ctx, r.id)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Workspace.Repo == r.path || rec.Workspace.Mode == croft.ModeLegacy {
			continue
		}
		moved := r.relocated(ctx, rec)
		if moved.Workspace.State != croft.Trashed {
			if err := r.trees.At(specOf(moved)).Rejoin(); err != nil {
				return err
			}
		}
		if err := e.saveRecord(ctx, &moved, nil); err != nil {
			return err
		}
	}
	err = e.journal.Update(ctx, func(tx *journal.Tx) error {
		return tx.PutRepo(journal.Repo{ID: r.id, CommonDir: r.common, Path: r.path, Identity: string(r.identity)}, e.now())
	})
	if err == nil {
		r.movedFrom = ""
	}
	return err
}

// relocated is a record after its repository was moved: what lay inside moved
// along, what lay beside may have, too.
func (r *repo) relocated(ctx context.Context, rec journal.Record) journal.Record {
	old := rec.Workspace.Repo
	moved := rec
	moved.Workspace.Repo = r.path
	moved.Workspace.Path = follow(rec.Workspace.Path, old, r.path)
	moved.BaseDir = follow(rec.BaseDir, old, r.path)
	if rec.Trash != nil {
		trash := *rec.Trash
		trash.Dir = follow(trash.Dir, old, r.path)
		moved.Trash = &trash
		if isTrashAway(&trash) {
			if to := r.findTrash(ctx, rec); to != "" {
				trash.Dir = to
				from, into := movedBy(rec.Trash.Dir, to)
				moved.Workspace.Path = follow(moved.Workspace.Path, from, into)
				moved.BaseDir = follow(moved.BaseDir, from, into)
			}
		}
		return moved
	}
	if fsx.Identity(rec.Identity).IsAt(moved.Workspace.Path) {
		return moved
	}
	if to := seek(ctx, []sought{r.soughtOf(rec)})[0]; to != "" && !isStowedAt(rec, to) {
		moved.BaseDir = baseAfter(moved, to)
		moved.Workspace.Path = to
	}
	return moved
}

// movedWorkspace tells of a workspace that was moved, and has its record follow.
func (d *doctor) movedWorkspace(ctx context.Context, rec journal.Record, to string) {
	w := rec.Workspace
	if isStowedAt(rec, to) {
		d.find(findElsewhere, w.Name, "Its directory lies in the trash, at "+to+", and no removal of it is known: an older state was put back.", nil)
		return
	}
	d.find(findElsewhere, w.Name, fmt.Sprintf("Its directory was moved from %s to %s.", w.Path, to), func() error {
		return d.underLock(ctx, d.r, func() error {
			if err := d.followTo(ctx, d.r, w.ID, to); err != nil {
				return err
			}
			return d.registerAgain(ctx, w.ID)
		})
	})
}

// registerAgain makes git know a directory again whose registration was pruned
// while it was away.
func (d *doctor) registerAgain(ctx context.Context, id croft.ID) error {
	rec, err := d.journal.Record(ctx, id)
	if err != nil || d.r.trees.Health(specOf(rec)) != checkout.Unregistered {
		return err
	}
	w := rec.Workspace
	return d.r.trees.At(specOf(rec)).Register(ctx, git.AddSpec{Admin: rec.Admin, Path: w.Path, Branch: w.Branch, Head: w.Base})
}

// follow is where a path is after a directory was moved, if it lay inside.
func follow(path, from, to string) string {
	if path == "" || !isWithin(path, from) {
		return path
	}
	rel, err := filepath.Rel(from, path)
	if err != nil {
		return path
	}
	return filepath.Join(to, rel)
}
