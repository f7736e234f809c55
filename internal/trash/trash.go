// Package trash keeps removed workspaces, restores them, and deletes them when their
// time is over.
//
// A removed workspace lies whole in a directory beside its project's workspaces. It can
// be restored until it is purged: after its retention, or earlier if the trash is
// larger than its budget, the least costly first. The deletion of work that is in no
// target is announced before. A directory that cannot be read, has moved or was
// replaced is never deleted by its path: directories are known by their identity, and a
// directory is renamed and recorded in a ledger before it is deleted.
//
// The package owns the trash directories, the ledgers of what is being deleted there,
// and the surveys of the trash. It never touches a live workspace.
package trash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/workspace"
)

// Trash keeps removed workspaces.
type Trash struct {
	*project.Projects
	Removals   *removal.Removals     // required
	Workspaces *workspace.Workspaces // required: roles are placed again
	Ports      Ports                 // required
}

// Ports gives restored workspaces ports that are nobody else's. Package equip implements it.
type Ports interface {
	ReclaimPorts(ctx context.Context, r *project.Project, rec *journal.Record) error
	RequireOwnPorts(tx *journal.Tx, rec journal.Record) error
}

// A removed workspace lies in the trash as <trash>/<id>/{tree,admin}. It is deleted in
// steps, each of which can be repeated after a crash:
//
//	strip    regenerable directories are deleted
//	reduce   the directory is deleted; commits and a snapshot of the rest are left
//	purge    it can no longer be restored
//
// A directory is first renamed to <trash>/<id>.<random>.deleting, and its identity is
// recorded in a ledger. The next gc deletes all that the ledger has.

// deletingSuffix ends the names of directories in a trash that are being deleted.
const deletingSuffix = ".deleting"

// List lists the workspaces that can be restored, the last removed first.
func (svc *Trash) List(ctx context.Context, s project.Location, _ croft.TrashRequest) ([]croft.TrashItem, error) {
	records, err := svc.Records(ctx, s.Project)
	if err != nil {
		return nil, err
	}
	items := make([]croft.TrashItem, len(records))
	for i, rec := range records {
		w, t := rec.Workspace, rec.Trash
		items[i] = croft.TrashItem{
			ID: w.ID, Name: w.Name, RepoID: rec.RepoID, Branch: w.Branch, Path: w.Path, Left: svc.WhatIsLeft(ctx, s.Project, rec), As: removedAs(rec),
			RemovedAt: t.RemovedAt, ExpiresAt: t.ExpiresAt, Stripped: t.Stripped, PurgeAt: t.PurgeAt, Stays: t.Stays,
		}
		if items[i].Left == croft.LeftDirectory {
			size, err := svc.measureDirectory(ctx, rec)
			if err != nil && !errors.Is(err, os.ErrNotExist) { // it is being restored
				return nil, explain.WithWorkspace(w.Name, err)
			}
			items[i].Bytes, items[i].Inodes = size.Bytes, size.Inodes
		}
	}
	return items, nil
}

// removedAs says why a workspace was removed, as its condition does.
func removedAs(rec journal.Record) croft.Condition {
	switch rec.Workspace.MergeStatus {
	case croft.MergeMerged:
		return croft.ConditionMerged
	case croft.MergeReverted:
		return croft.ConditionReverted
	case croft.MergeDiscarded:
		return croft.ConditionDiscarded
	}
	return cmp.Or(rec.Trash.As, croft.ConditionRemoved)
}

// Records lists the records of the workspaces that can be restored, the last removed first.
func (svc *Trash) Records(ctx context.Context, r *project.Project) ([]journal.Record, error) {
	all, err := svc.Journal.Records(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return project.OnlyTrashed(all), nil
}

// WhatIsLeft says which part of a removed workspace is left: its directory, a snapshot,
// or commits; or that its directory is not at its path in the trash and may still exist.
func (svc *Trash) WhatIsLeft(ctx context.Context, r *project.Project, rec journal.Record) croft.TrashLeft {
	if rec.Trash.Dir != "" && fsx.IsThere(filepath.Join(rec.Trash.Dir, "tree")) || fsx.Identity(rec.Identity).IsAt(rec.Workspace.Path) {
		return croft.LeftDirectory
	}
	if project.IsTrashAway(rec.Trash) && (!IsTrashGone(r, rec) || r.FindTrash(ctx, rec) != "") {
		return croft.LeftAway
	}
	if r.Git != nil {
		if _, err := svc.Pinned(ctx, r, project.ArchiveWorkRef(rec.Workspace.ID)); err == nil {
			return croft.LeftSnapshot
		}
	}
	return croft.LeftCommits
}

// errMoved says that a removed workspace has changed since its record was read: it was
// restored, or another process tidied it.
var errMoved = errors.New("the trash has changed meanwhile")

// changeTrash changes the trash record of a removed workspace under the repository's lock,
// after the effects that change performs. It fails with errMoved, without calling change,
// if the record has changed.
func (svc *Trash) changeTrash(ctx context.Context, r *project.Project, rec *journal.Record, event string, change func(ctx context.Context, t *journal.Trash) error) error {
	l, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	now, err := svc.Journal.Record(ctx, rec.Workspace.ID)
	if err != nil {
		return err
	}
	then := rec.Trash
	if now.Workspace.State != croft.Trashed || now.Trash == nil || now.Trash.Purged || now.Trash.Dir != then.Dir || !now.Trash.RemovedAt.Equal(then.RemovedAt) {
		return errMoved
	}
	ctx = context.WithoutCancel(ctx)
	if err := change(ctx, now.Trash); err != nil {
		return err
	}
	*rec = now
	return svc.SaveRecord(ctx, rec, func(tx *journal.Tx) error {
		if event == "" {
			return nil
		}
		return tx.Emit(svc.WorkspaceEvent(event, *rec))
	})
}

// RestoreNotes lists the files and directories that a restored workspace lacks, in
// sentences. last is its newest snapshot, or nil.
func RestoreNotes(rec journal.Record, was croft.TrashLeft, last *croft.Snapshot) []string {
	var gone []string
	for _, dir := range rec.Trash.Stripped {
		if !fsx.IsThere(filepath.Join(rec.Workspace.Path, filepath.FromSlash(dir))) {
			gone = append(gone, dir)
		}
	}
	var notes []string
	switch was {
	case croft.LeftSnapshot:
		notes = append(notes, "its directory was gone; files that git ignores did not come back")
	case croft.LeftCommits:
		without := "what was neither committed nor staged"
		if rec.Workspace.Mode == croft.ModeIsolated {
			without += ", what was committed after Croft last looked"
		}
		snapshot := ", and there is no snapshot of it"
		if last != nil {
			snapshot = ""
		}
		notes = append(notes, "its directory was gone"+snapshot+"; "+without+", and files that git ignores, did not come back")
		if last != nil {
			notes = append(notes, fmt.Sprintf("there is a snapshot of %s: croft restore %s", last.CreatedAt.Format(time.RFC3339), last.ID))
		}
	}
	if len(gone) > 0 {
		notes = append(notes, fmt.Sprintf("gone from the trash, to be made again: %s", SomeOf(gone)))
	}
	return notes
}

// SomeOf joins the first few elements of a list, and says how many more there are.
func SomeOf(list []string) string {
	const few = 5
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}

// TrashDirs lists the directories in which removed workspaces of a repository lie or may
// lie.
func TrashDirs(r *project.Project, records []journal.Record) []string {
	dirs := []string{
		filepath.Join(filepath.Dir(r.Path), r.Name()+".croft", ".trash"),
		filepath.Join(r.CommonDir, "croft", "trash"),
	}
	for _, rec := range records {
		if rec.Trash != nil && rec.Trash.Dir != "" {
			dirs = append(dirs, filepath.Dir(rec.Trash.Dir))
		}
		if rec.BaseDir != "" {
			dirs = append(dirs, filepath.Join(rec.BaseDir, ".trash"))
		}
		if rec.Workspace.Mode != croft.ModeLegacy {
			dirs = append(dirs, filepath.Join(filepath.Dir(rec.Workspace.Path), ".croft-trash"))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
