package doctor

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/trash"
)

// A trash directory that is absent may be on a drive that is not mounted, or may have been
// moved. It counts as deleted only if IsTrashGone says so.

// findMovedTrash looks for removed workspaces whose trash directory was moved, is absent,
// or was replaced by a copy.
func (d *examination) findMovedTrash(ctx context.Context) error {
	records, err := d.Trash.Records(ctx, d.r)
	if err != nil {
		return err
	}
	for _, rec := range records {
		to := ""
		if project.IsTrashAway(rec.Trash) {
			to = d.r.FindTrash(ctx, rec)
		}
		if to == "" && d.findTrashCopies(ctx, rec) || !project.IsTrashAway(rec.Trash) {
			continue
		}
		if to != "" {
			d.reportFinding(findTrashMoved, rec.Workspace.Name, "It was removed, and its directory was moved from "+rec.Trash.Dir+" to "+to+".", func() error {
				return d.UnderLock(ctx, d.r, func() error { return d.followTrashNow(ctx, rec.Workspace.ID, to) })
			})
			continue
		}
		if trash.IsTrashGone(d.r, rec) {
			continue
		}
		d.reportFinding(findTrashMissing, rec.Workspace.Name, "It was removed, and its directory in the trash is neither at "+rec.Trash.Dir+
			" nor near there. If it was moved or its drive is not mounted, bring it back. croft restore --commits does without.", nil)
	}
	return nil
}

// followTrashNow calls Trash.FollowTrash, if the workspace is still in the trash.
func (d *examination) followTrashNow(ctx context.Context, id croft.ID, to string) error {
	rec, err := d.Journal.Record(ctx, id)
	if err != nil || rec.Trash == nil || !project.IsTrashAway(rec.Trash) {
		return err
	}
	return d.Trash.FollowTrash(ctx, d.r, &rec, to)
}

// findUnknownTrash adds notices of trash directories without a record: the state was
// lost, an older one was restored, or they are another user's.
func (d *examination) findUnknownTrash(ctx context.Context) error {
	records, err := d.Journal.Records(ctx, d.r.ID)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, rec := range records {
		known[string(rec.Workspace.ID)] = true
	}
	for _, trash := range trash.TrashDirs(d.r, records) {
		dir, err := fsx.OpenDir(trash)
		if err != nil {
			continue
		}
		names, _ := dir.SomeNames(project.SeekWidth)
		_ = dir.Close()
		for _, name := range names {
			if strings.HasSuffix(name, project.AsideSuffix) {
				for _, kept := range rewind.KeptIn(filepath.Join(trash, name)) {
					d.Rewinds.NoticeKept(kept)
				}
			}
			if path := filepath.Join(trash, name); project.IsID(name) && !known[name] && fsx.IsThere(filepath.Join(path, "tree")) {
				d.Notice("a removed workspace lies in %s, and has no record; it is left alone: croft doctor --import binds it, if git still has its commits", path)
			}
		}
	}
	return nil
}

// A copy of a removed workspace, in the trash or at its old path, has another inode and
// birth time. It is restored only after a person has confirmed it: a backup may have
// made it, or an agent.

// findTrashCopies offers copies of a removed workspace, in the trash or at its old
// path, for import. It reports whether one is in the trash.
func (d *examination) findTrashCopies(ctx context.Context, rec journal.Record) (isInTrash bool) {
	w := rec.Workspace
	if found, isCopy := trash.CopyAtPath(d.r, rec); isCopy {
		d.offerCopy(ctx, rec, findReplaced, "It was removed, and what lies at its old path, "+w.Path+", is a copy of it.", project.TrashedIdentity{Tree: found})
	}
	found, isCopy := project.CopyInTrash(rec)
	if isCopy {
		d.offerCopy(ctx, rec, findTrashReplaced, "It was removed, and its directory in the trash, "+rec.Trash.Dir+", was replaced by another, which is left alone.", found)
	}
	return isCopy
}

func (d *examination) offerCopy(ctx context.Context, rec journal.Record, code, message string, found project.TrashedIdentity) {
	w := rec.Workspace
	if d.imports == croft.ImportNothing {
		d.reportFinding(code, w.Name, message+" If it was copied back, croft doctor --import takes it for the workspace, which croft restore "+string(w.ID)+" brings back then; else move it away.", nil)
		return
	}
	d.offerImport(code, w.Name, message+" If it was copied back, it can be what croft restore "+string(w.ID)+" brings back.", string(found.Dir)+" "+string(found.Tree), func() error {
		return d.UnderLock(ctx, d.r, func() error { return d.adoptRemoved(ctx, w.ID, found) })
	})
}

// adoptRemoved binds a removed workspace to a copy of it, so that the copy can be restored.
// The caller holds the repository's lock.
func (d *examination) adoptRemoved(ctx context.Context, id croft.ID, found project.TrashedIdentity) error {
	rec, err := d.Journal.Record(ctx, id)
	if err != nil {
		return err
	}
	if rec.Workspace.State != croft.Trashed || rec.Trash == nil || rec.Trash.Purged {
		return errors.New("it is not in the trash any more")
	}
	at := rec.Workspace.Path
	if found.Dir != "" {
		t := *rec.Trash
		t.Identity = string(found.Dir)
		if within, err := fsx.IdentityOf(filepath.Dir(t.Dir)); err == nil {
			t.Within = string(within)
		}
		dir, err := project.OpenTrashDir(&t)
		if err != nil {
			return err
		}
		defer dir.Close()
		if err := d.r.TrashDirLedger().Put(filepath.Base(t.Dir), fsx.Made{Path: t.Dir, Identity: found.Dir}); err != nil {
			return err
		}
		at, rec.Trash = filepath.Join(t.Dir, "tree"), &t
	}
	tree, err := fsx.OpenDirIs(at, found.Tree)
	if err != nil {
		return err
	}
	defer tree.Close()
	return d.saveBound(ctx, &rec, found.Tree)
}
