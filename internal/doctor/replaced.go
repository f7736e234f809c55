package doctor

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// findReplacedRepository looks for another repository that was recorded at this path. A
// project that was copied back from a backup has another inode; only a person can tell
// whether it is the same project.
func (d *examination) findReplacedRepository(ctx context.Context) error {
	known, err := d.Journal.ReposAt(ctx, d.r.CommonDir)
	if err != nil {
		return err
	}
	for _, was := range known {
		records, err := d.Journal.Records(ctx, was.ID)
		if err != nil {
			return err
		}
		if was.ID == d.r.ID || len(records) == 0 {
			continue
		}
		if d.imports == croft.ImportNothing {
			d.Notice("another repository was known at this path, with %d workspaces; if this is the same project, copied back, croft doctor --import gives them to it", len(records))
			continue
		}
		d.offerImport(findRecordLost, d.r.Path, fmt.Sprintf("Another repository was known at this path, with %d workspaces.", len(records)), string(was.ID)+" "+string(d.r.Identity), func() error {
			return d.adoptRepository(ctx, was, records)
		})
	}
	return nil
}

// adoptRepository makes this repository the one that was recorded at its path, and
// binds its records to the directories that are at their paths now.
func (d *examination) adoptRepository(ctx context.Context, was journal.Repo, records []journal.Record) error {
	own, err := d.Journal.Records(ctx, d.r.ID)
	if err != nil {
		return err
	}
	if len(own) > 0 {
		return fmt.Errorf("this one has %d workspaces of its own by now", len(own))
	}
	old := &project.Project{ID: was.ID, Path: d.r.Path, CommonDir: d.r.CommonDir, Dir: d.DirOf(was.ID), Config: d.r.Config, Git: git.At(d.Git, d.r.Git.Place, d.DirOf(was.ID))}
	old.Trees = project.TreesOf(old.Git)
	defer old.Git.Close()
	for i := range records {
		if err := bindAgain(old, &records[i]); err != nil {
			return err
		}
	}
	return d.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, rec := range records {
			if err := tx.PutRecord(rec); err != nil {
				return err
			}
		}
		now := was
		now.Path, now.Identity = d.r.Path, string(d.r.Identity)
		if err := tx.DeleteRepo(d.r.ID); err != nil {
			return err
		}
		return tx.PutRepo(now, d.Now())
	})
}

// bindAgain records the identities of the directories that are at the paths of a record
// now.
func bindAgain(r *project.Project, rec *journal.Record) error {
	if dir, err := fsx.OpenDir(rec.Workspace.Path); err == nil && rec.Workspace.State != croft.Trashed && r.Trees.At(project.SpecOf(*rec)).IsRegistered() {
		made, err := dir.Identity()
		_ = dir.Close()
		if err != nil {
			return err
		}
		rec.Identity = string(made)
		return r.Git.Made().Put(rec.Admin, fsx.Made{Path: rec.Workspace.Path, Identity: made})
	}
	if rec.Trash == nil || rec.Trash.Dir == "" {
		return nil
	}
	dir, err := fsx.OpenDir(rec.Trash.Dir)
	if err != nil {
		return nil // there is no directory
	}
	defer dir.Close()
	now, err := dir.Identity()
	if err != nil {
		return err
	}
	rec.Trash.Identity = string(now)
	if tree, err := dir.IdentityOf("tree"); err == nil {
		rec.Identity = string(tree)
		if err := r.Git.Made().Put(rec.Admin, fsx.Made{Path: rec.Workspace.Path, Identity: tree}); err != nil {
			return err
		}
	}
	return r.TrashDirLedger().Put(filepath.Base(rec.Trash.Dir), fsx.Made{Path: rec.Trash.Dir, Identity: now})
}

// reportReplaced reports a workspace with a copy of it at its path. A backup restores
// such a copy, and an agent may make one so that Croft takes another directory for the
// workspace; only a person can tell.
func (d *examination) reportReplaced(ctx context.Context, rec journal.Record) {
	w := rec.Workspace
	message := "Its directory was replaced by another: what lies at " + w.Path + " is a copy, and nothing is committed from it or removed. "
	if d.imports == croft.ImportNothing {
		d.reportFinding(findReplaced, w.Name, message+"If it was copied back, croft doctor --import takes it for the workspace; else move it away.", nil)
		return
	}
	found, err := fsx.IdentityOf(w.Path)
	if err != nil {
		return // the directory was removed meanwhile
	}
	d.offerImport(findReplaced, w.Name, message+"If it was copied back, it can be the workspace from now on.", string(found), func() error {
		return d.UnderLock(ctx, d.r, func() error { return d.adoptCopy(ctx, w.ID, found) })
	})
}

// adoptCopy binds a workspace to the copy at its path. The caller holds the repository's
// lock.
func (d *examination) adoptCopy(ctx context.Context, id croft.ID, found fsx.Identity) error {
	rec, err := d.Journal.Record(ctx, id)
	if err != nil || rec.Workspace.State != croft.Ready || d.r.Trees.Health(project.SpecOf(rec)) != checkout.Replaced {
		return err
	}
	dir, err := fsx.OpenDirIs(rec.Workspace.Path, found)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := d.saveBound(ctx, &rec, found); err != nil {
		return err
	}
	return d.registerAgain(ctx, id)
}
