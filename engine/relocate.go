package engine

import (
	"context"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// isElsewhere reports whether a record belongs to another repository that is
// still where the record says: then this one is a copy of it.
func isElsewhere(r *repo, rec journal.Record) bool {
	place, err := git.Discover(rec.Workspace.Repo)
	if err != nil || place.CommonDir == r.common {
		return false
	}
	id, err := readID(place.CommonDir)
	return err == nil && id == rec.RepoID
}

// relocate follows a repository that was moved: workspaces inside it moved
// along, those beside it stayed, and both have lost their way to it. What lies
// where it is expected and is provably the workspace is joined again; the rest
// is left to the doctor. The caller holds the repository's lock.
func (e *Engine) relocate(ctx context.Context, r *repo) error {
	records, err := e.journal.Records(ctx, r.id)
	if err != nil {
		return err
	}
	for _, rec := range records {
		old := rec.Workspace.Repo
		if old == r.path || rec.Workspace.Mode == croft.ModeLegacy || isElsewhere(r, rec) {
			continue
		}
		if place, err := git.Discover(old); err == nil && place.CommonDir == r.common {
			continue // it is still found from there: nothing was moved
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
		if err := e.saveRecord(ctx, r, &moved, func(*journal.Tx) error { return nil }); err != nil {
			return err
		}
	}
	return nil
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
