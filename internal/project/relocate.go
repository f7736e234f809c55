package project

import (
	"context"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

// Relocate updates the records of a repository that was moved. Workspaces inside it
// moved along, workspaces beside it stayed, and the paths in git's registrations are
// wrong for either. Relocate registers a directory again if its identity shows that it
// is the workspace, and leaves other directories alone. The caller holds the
// repository's lock.
func (p *Projects) Relocate(ctx context.Context, r *Project) error {
	records, err := p.Journal.Records(ctx, r.ID)
	if err != nil {
		return err
	}
	for _, rec := range records {
		if rec.Workspace.Repo == r.Path || rec.Workspace.Mode == croft.ModeLegacy {
			continue
		}
		moved := r.relocateRecord(ctx, rec)
		if moved.Workspace.State != croft.Trashed {
			if err := r.Trees.At(SpecOf(moved)).Rejoin(); err != nil {
				return err
			}
		}
		if err := p.SaveRecord(ctx, &moved, nil); err != nil {
			return err
		}
	}
	err = p.Journal.Update(ctx, func(tx *journal.Tx) error {
		return tx.PutRepo(journal.Repo{ID: r.ID, CommonDir: r.CommonDir, Path: r.Path, Identity: string(r.Identity)}, p.Now())
	})
	if err == nil {
		r.MovedFrom = ""
	}
	return err
}

// relocateRecord returns a record with the paths after its repository was moved: those
// inside the repository follow it, and directories elsewhere are looked for.
func (r *Project) relocateRecord(ctx context.Context, rec journal.Record) journal.Record {
	old := rec.Workspace.Repo
	moved := rec
	moved.Workspace.Repo = r.Path
	moved.Workspace.Path = PathAfterMove(rec.Workspace.Path, old, r.Path)
	moved.BaseDir = PathAfterMove(rec.BaseDir, old, r.Path)
	if rec.Trash != nil {
		trash := *rec.Trash
		trash.Dir = PathAfterMove(trash.Dir, old, r.Path)
		moved.Trash = &trash
		if IsTrashAway(&trash) {
			if to := r.FindTrash(ctx, rec); to != "" {
				trash.Dir = to
				from, into := MovedAncestors(rec.Trash.Dir, to)
				moved.Workspace.Path = PathAfterMove(moved.Workspace.Path, from, into)
				moved.BaseDir = PathAfterMove(moved.BaseDir, from, into)
			}
		}
		return moved
	}
	if fsx.Identity(rec.Identity).IsAt(moved.Workspace.Path) {
		return moved
	}
	if to := seekDirectories(ctx, []sought{r.soughtOf(rec)})[0]; to != "" && !IsTrashedAt(rec, to) {
		moved.BaseDir = baseDirAfterMove(moved, to)
		moved.Workspace.Path = to
	}
	return moved
}

// PathAfterMove returns the path after a directory was moved from one path to another.
// A path outside of that directory stays as it is.
func PathAfterMove(path, from, to string) string {
	if path == "" || !IsWithin(path, from) {
		return path
	}
	rel, err := filepath.Rel(from, path)
	if err != nil {
		return path
	}
	return filepath.Join(to, rel)
}
