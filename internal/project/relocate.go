package project

import (
	"context"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

// Relocate follows a repository that was moved: workspaces inside it moved
// along, those beside it stayed, and the paths that link both with the repository are
// wrong. A directory that lies where it is expected and provably is the workspace is
// registered again; the rest is left as it is. The caller holds the repository's lock.
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

// relocateRecord is a record after its repository was moved: what lay inside moved
// along, what lay beside may have, too.
func (r *Project) relocateRecord(ctx context.Context, rec journal.Record) journal.Record {
	old := rec.Workspace.Repo
	moved := rec
	moved.Workspace.Repo = r.Path
	moved.Workspace.Path = FollowMove(rec.Workspace.Path, old, r.Path)
	moved.BaseDir = FollowMove(rec.BaseDir, old, r.Path)
	if rec.Trash != nil {
		trash := *rec.Trash
		trash.Dir = FollowMove(trash.Dir, old, r.Path)
		moved.Trash = &trash
		if IsTrashAway(&trash) {
			if to := r.FindTrash(ctx, rec); to != "" {
				trash.Dir = to
				from, into := MovedBy(rec.Trash.Dir, to)
				moved.Workspace.Path = FollowMove(moved.Workspace.Path, from, into)
				moved.BaseDir = FollowMove(moved.BaseDir, from, into)
			}
		}
		return moved
	}
	if fsx.Identity(rec.Identity).IsAt(moved.Workspace.Path) {
		return moved
	}
	if to := seekDirectories(ctx, []sought{r.soughtOf(rec)})[0]; to != "" && !IsTrashedAt(rec, to) {
		moved.BaseDir = baseAfter(moved, to)
		moved.Workspace.Path = to
	}
	return moved
}

// FollowMove is where a path is after a directory was moved, if it lay inside.
func FollowMove(path, from, to string) string {
	if path == "" || !IsWithin(path, from) {
		return path
	}
	rel, err := filepath.Rel(from, path)
	if err != nil {
		return path
	}
	return filepath.Join(to, rel)
}
