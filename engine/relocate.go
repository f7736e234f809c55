package engine

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/croft-sh/croft"
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
		old := rec.Workspace.Repo
		if old == r.path || rec.Workspace.Mode == croft.ModeLegacy {
			continue
		}
		moved := rec
		moved.Workspace.Repo = r.path
		moved.Workspace.Path = follow(rec.Workspace.Path, old, r.path)
		moved.BaseDir = follow(rec.BaseDir, old, r.path)
		if rec.Trash != nil {
			trash := *rec.Trash
			trash.Dir = follow(trash.Dir, old, r.path)
			moved.Trash = &trash
		}
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
