package trash

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/snapshot"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// mostStripped bounds the list of directories that a record names.
const mostStripped = 100

// deleteRegenerable deletes the directories of a removed workspace that can be made again.
// It records their names first, so that a restoration can tell which are missing.
func (svc *Trash) deleteRegenerable(ctx context.Context, r *project.Project, it *trashItem) error {
	if len(it.Regenerable) == 0 {
		return nil
	}
	err := svc.changeTrash(ctx, r, &it.rec, croft.EventTrashStripped, func(_ context.Context, t *journal.Trash) error {
		for _, p := range it.Regenerable {
			if len(t.Stripped) < mostStripped && !slices.Contains(t.Stripped, p.Path) {
				t.Stripped = append(t.Stripped, p.Path)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := failpoint.Hit("trash.strip.recorded"); err != nil {
		return err
	}
	var away []string
	err = svc.UnderLock(ctx, r, func() error {
		now, err := svc.Journal.Record(ctx, it.rec.Workspace.ID)
		if err != nil || now.Generation != it.rec.Generation {
			return errors.Join(err, errMoved) // it was restored meanwhile
		}
		away, err = svc.moveParts(r, it)
		return err
	})
	if err != nil {
		return err
	}
	svc.writeSurvey(it.rec.Workspace.ID, it.survey)
	for _, name := range away {
		if err := deleteAway(ctx, r, name); err != nil {
			return err
		}
	}
	return nil
}

// moveParts renames the regenerable directories of a checkout for deletion. One that cannot
// be renamed stays.
func (svc *Trash) moveParts(r *project.Project, it *trashItem) ([]string, error) {
	dir, err := project.OpenTrashDir(it.rec.Trash)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	tree, err := dir.OpenDirIs("tree", fsx.Identity(it.rec.Identity))
	if err != nil {
		return nil, err
	}
	defer tree.Close()
	trash, err := fsx.OpenDir(filepath.Dir(it.rec.Trash.Dir))
	if err != nil {
		return nil, err
	}
	defer trash.Close()
	var away []string
	var stay []part
	for _, p := range it.Regenerable {
		name, err := movePart(r, tree, p.Path, trash, string(it.rec.Workspace.ID))
		_, isRename := errors.AsType[*os.LinkError](err)
		switch {
		case errors.Is(err, os.ErrNotExist) || errors.Is(err, fsx.ErrLink): // the agent deleted it or replaced it by a link
		case isRename || errors.Is(err, fsx.ErrOther):
			stay = append(stay, p)
			continue
		case err != nil:
			return nil, err
		default:
			away = append(away, name)
			if err := failpoint.Hit("trash.strip.renamed"); err != nil {
				return nil, err
			}
		}
		it.subtract(p.amount)
		it.freed.add(p.amount)
	}
	it.Regenerable = stay
	return away, nil
}

// movePart renames one directory of a checkout for deletion. No part of the path to it may
// be a link.
func movePart(r *project.Project, tree *fsx.Dir, path string, trash *fsx.Dir, id string) (string, error) {
	part, err := tree.OpenBelow(path)
	if err != nil {
		return "", err
	}
	defer part.Close()
	want, err := part.Identity()
	if err != nil {
		return "", err
	}
	parent, err := tree.OpenBelow(filepath.Dir(filepath.FromSlash(path)))
	if err != nil {
		return "", err
	}
	defer parent.Close()
	return renameToDelete(r, parent, filepath.Base(filepath.FromSlash(path)), want, trash, id)
}

// deleteDirectory deletes the directory of a removed workspace. Unmerged work is saved
// first and can still be restored; a finished workspace is purged.
func (svc *Trash) deleteDirectory(ctx context.Context, r *project.Project, it *trashItem) error {
	dir, work, away := it.rec.Trash.Dir, "", ""
	isThere := fsx.IsThere(dir)
	if isThere != it.wasThere {
		return vanishedError(it.rec)
	}
	if isThere {
		if err := project.CheckTrashed(it.rec); err != nil {
			return err
		}
		if err := svc.mendTrashed(ctx, r, it.rec); err != nil { // an object may be damaged that a file still has
			return explainMissingInTrash(it.rec, explainVanished(it.rec, err))
		}
		now, err := svc.judgeAnew(ctx, r, it.rec) // a process may have written there since
		if err != nil {
			return err
		}
		if now.IsDirty && it.isFinished() {
			return errMoved
		}
		it.survey = now
	}
	if (it.IsDirty || !it.isFinished() && svc.hasOtherCommits(ctx, r, it.rec)) && isThere {
		defer func() {
			if fsx.IsThere(dir) { // it stays, and is saved again before it is deleted
				_ = fsx.RemoveOwn(svc.SecretsDir(r, it.rec.Workspace.ID))
			}
		}()
		saved, err := svc.saveTrashed(ctx, r, it.rec)
		if err != nil {
			return explainMissingInTrash(it.rec, explainVanished(it.rec, err))
		}
		work = saved
	}
	if isThere {
		if err := svc.keepTrashed(ctx, r, it); err != nil {
			return explainVanished(it.rec, err)
		}
	}
	if err := failpoint.Hit("trash.saved"); err != nil {
		return err
	}
	if work != "" {
		if err := restore.Verify(ctx, r.Git, work); err != nil {
			return explainUnrestorable(ctx, it.rec, err)
		}
	}
	event := croft.EventTrashReduced
	if it.isFinished() {
		event = croft.EventTrashPurged
	}
	err := svc.changeTrash(ctx, r, &it.rec, event, func(ctx context.Context, t *journal.Trash) error {
		var err error
		if away, err = svc.pinAndRename(ctx, r, it, work, isThere); err != nil {
			return err
		}
		svc.recordDirectoryGone(r, t)
		t.Purged = it.isFinished()
		return nil
	})
	if err != nil {
		return err
	}
	if err := failpoint.Hit("trash.recorded"); err != nil {
		return err
	}
	_ = os.Remove(svc.SurveyFile(it.rec.Workspace.ID))
	return deleteAway(ctx, r, away)
}

// hasOtherCommits reports whether a removed workspace had another commit checked out than the
// tip of its branch, or refs that only its worktree has: only a snapshot keeps that.
func (svc *Trash) hasOtherCommits(ctx context.Context, r *project.Project, rec journal.Record) bool {
	head, err := svc.Pinned(ctx, r, project.ArchiveRef(rec.Workspace.ID))
	if err == nil && head != rec.Trash.Tip {
		return true
	}
	tips, err := svc.Removals.AdminTips(ctx, r, rec)
	return err != nil || len(tips) > 0
}

// recordDirectoryGone sets the fields of a trash record whose directory is deleted.
func (svc *Trash) recordDirectoryGone(r *project.Project, t *journal.Trash) {
	t.Dir, t.Identity, t.Within, t.PurgeAt, t.PurgeWhy, t.Stays = "", "", "", time.Time{}, "", ""
	t.ExpiresAt = svc.Now().Add(time.Duration(r.Config.Trash.SavedFor))
}

// pinAndRename pins a snapshot and renames the directory for deletion. It fails with
// vanishedError if the directory is not as isThere says. If the process is killed after
// that, the record names a directory that is gone, and a restoration uses the snapshot and
// the commits.
func (svc *Trash) pinAndRename(ctx context.Context, r *project.Project, it *trashItem, work string, isThere bool) (away string, err error) {
	dir, ref := it.rec.Trash.Dir, project.ArchiveWorkRef(it.rec.Workspace.ID)
	if isThere != fsx.IsThere(dir) {
		return "", vanishedError(it.rec)
	}
	if work != "" {
		if err := svc.Pin(ctx, r, journal.Pin{Ref: ref, OID: work}); err != nil {
			return "", err
		}
	}
	if err := failpoint.Hit("trash.pinned"); err != nil {
		return "", err
	}
	gone := fsx.Made{Path: dir, Identity: fsx.Identity(it.rec.Trash.Identity)}
	if err := r.DeletedLedger().Put(string(it.rec.Workspace.ID), gone); err != nil {
		return "", err
	}
	if isThere {
		if away, err = renameTrashedToDelete(r, it.rec); err != nil {
			return "", explainVanished(it.rec, errors.Join(err, r.DeletedLedger().Delete(string(it.rec.Workspace.ID))))
		}
	}
	if err := fsx.SyncAll(filepath.Dir(dir)); err != nil {
		return "", err
	}
	return away, failpoint.Hit("trash.renamed")
}

// renameTrashedToDelete renames the directory of a removed workspace for deletion.
func renameTrashedToDelete(r *project.Project, rec journal.Record) (string, error) {
	trash, err := fsx.OpenDir(filepath.Dir(rec.Trash.Dir))
	if err != nil {
		return "", err
	}
	defer trash.Close()
	return renameToDelete(r, trash, filepath.Base(rec.Trash.Dir), fsx.Identity(rec.Trash.Identity), trash, string(rec.Workspace.ID))
}

// saveTrashed takes a snapshot of a directory in the trash. The caller pins it.
func (svc *Trash) saveTrashed(ctx context.Context, r *project.Project, rec journal.Record) (string, error) {
	p, err := svc.openTrashed(ctx, r, rec)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	secrets := svc.SecretsDir(r, rec.Workspace.ID)
	if err := fsx.RemoveOwn(secrets); err != nil { // of an attempt that was killed
		return "", err
	}
	saved, err := snapshot.Save(ctx, p.Worktree, snapshot.Selection{
		Identity: fsx.Identity(rec.Identity),
		Ignored:  r.Config.Snapshot.Ignored, Secrets: r.Config.Snapshot.Secrets, SecretsDir: secrets,
		Message: "Work of " + rec.Workspace.Name + ", which was removed",
		Trashed: &snapshot.Trashed{Admin: filepath.Join(rec.Trash.Dir, "admin"), Branch: p.Branch, Faults: p.Faults},
	})
	return saved.Commit, err
}

// purgeRecord marks a removed workspace as purged after its directory was deleted, and
// deletes its snapshot. Its commits stay archived.
func (svc *Trash) purgeRecord(ctx context.Context, r *project.Project, it *trashItem) error {
	err := svc.changeTrash(ctx, r, &it.rec, croft.EventTrashPurged, func(_ context.Context, t *journal.Trash) error {
		t.Purged, t.PurgeAt, t.PurgeWhy = true, time.Time{}, ""
		return nil
	})
	if err != nil {
		return err
	}
	if err := failpoint.Hit("trash.purged"); err != nil {
		return err
	}
	return svc.DeleteWork(ctx, r, it.rec.Workspace.ID)
}

// DeleteWork deletes the snapshot, with its private files, and the survey of a workspace
// that was restored, or that cannot be restored any more.
func (svc *Trash) DeleteWork(ctx context.Context, r *project.Project, id croft.ID) error {
	if err := fsx.RemoveOwn(svc.SecretsDir(r, id)); err != nil {
		return err // while the pin is there, the next gc tries again
	}
	_ = os.Remove(svc.SurveyFile(id))
	return svc.Unpin(ctx, r, project.ArchiveWorkRef(id))
}

// announceDeletion records in the trash record of a removed workspace when and why its
// work will be deleted, and emits EventTrashAnnounced.
func (svc *Trash) announceDeletion(ctx context.Context, r *project.Project, it *trashItem, a croft.Announcement) error {
	return svc.changeTrash(ctx, r, &it.rec, croft.EventTrashAnnounced, func(_ context.Context, t *journal.Trash) error {
		t.PurgeAt, t.PurgeWhy = a.At, string(a.Reason)
		return nil
	})
}

// withdrawAnnouncement clears the announced deletion from the trash record of a removed
// workspace.
func (svc *Trash) withdrawAnnouncement(ctx context.Context, r *project.Project, it *trashItem) error {
	return svc.changeTrash(ctx, r, &it.rec, "", func(_ context.Context, t *journal.Trash) error {
		t.PurgeAt, t.PurgeWhy = time.Time{}, ""
		return nil
	})
}

const (
	// portion is how many entries are deleted at a stretch.
	portion = 256
	// longestPause bounds the pause after a portion.
	longestPause = 25 * time.Millisecond
)

// renameToDelete records in the ledger that a directory entry is to be deleted, and renames
// it to a name of its own in the trash.
func renameToDelete(r *project.Project, from *fsx.Dir, name string, want fsx.Identity, trash *fsx.Dir, id string) (string, error) {
	away := id + "." + string(project.NewID()) + deletingSuffix
	if err := r.DeletingLedger().Put(away, fsx.Made{Path: filepath.Join(trash.Path(), away), Identity: want}); err != nil {
		return "", err
	}
	if err := failpoint.Hit("trash.doomed"); err != nil {
		return "", err
	}
	if err := from.Move(name, want, trash, away); err != nil {
		return "", errors.Join(err, r.DeletingLedger().Delete(away))
	}
	return away, nil
}

// deleteAway deletes a directory that was renamed for deletion, or what is left of it.
func deleteAway(ctx context.Context, r *project.Project, name string) error {
	doomed := r.DeletingLedger().Find(name)
	if doomed.Path == "" {
		return nil
	}
	trash, err := fsx.OpenDir(filepath.Dir(doomed.Path))
	if err == nil {
		defer trash.Close()
		err = trash.RemoveTree(filepath.Base(doomed.Path), doomed.Identity, pauseAfterPortions(ctx))
	}
	switch {
	case errors.Is(err, os.ErrNotExist): // it is gone, or was never renamed
	case errors.Is(err, fsx.ErrOther):
		err = project.NotOursError(doomed.Path)
	case err != nil:
		return err
	}
	if dropped := r.DeletingLedger().Delete(name); err == nil || errors.Is(err, os.ErrNotExist) {
		err = dropped
	}
	return err
}

// pauseAfterPortions returns a function that a deletion calls after each entry. After
// every portion it pauses as long as the portion took, so that other processes get at the
// disk.
func pauseAfterPortions(ctx context.Context) func() error {
	count, began := 0, time.Now()
	return func() error {
		if err := failpoint.Hit("trash.deleted"); err != nil {
			return err
		}
		if count++; count%portion != 0 {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Since(began), longestPause)):
		}
		began = time.Now()
		return ctx.Err()
	}
}

// finishDeletions deletes the directories that earlier processes had renamed for
// deletion, and those of dirs that are empty.
func finishDeletions(ctx context.Context, r *project.Project, dirs []string) error {
	names, err := r.DeletingLedger().Names()
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, deleteAway(ctx, r, name))
	}
	for _, dir := range dirs {
		project.RemoveEmpty(dir)
	}
	return errors.Join(errs...)
}
