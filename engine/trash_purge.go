package engine

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/snapshot"
)

// mostStripped bounds the list of directories that a record names.
const mostStripped = 100

// strip deletes the directories of a removed workspace that can be made again.
// They are written down first: one that is there nevertheless is found again.
func (e *Engine) strip(ctx context.Context, r *repo, it *trashItem) error {
	if len(it.Regenerable) == 0 {
		return nil
	}
	dir := it.rec.Trash.Dir
	err := e.changeTrash(ctx, r, &it.rec, croft.EventTrashStripped, func(_ context.Context, t *journal.Trash) error {
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
	err = e.underLock(ctx, r, func() error {
		now, err := e.journal.Record(ctx, it.rec.Workspace.ID)
		if err != nil || now.Generation != it.rec.Generation {
			return errors.Join(err, errMoved) // it was restored meanwhile
		}
		away, err = e.moveParts(dir, it)
		return err
	})
	if err != nil {
		return err
	}
	e.remember(it.rec.Workspace.ID, it.survey)
	for _, dir := range away {
		if err := deleteAway(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// moveParts renames the regenerable directories of a checkout away. Those that
// cannot be renamed stay.
func (e *Engine) moveParts(dir string, it *trashItem) ([]string, error) {
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var away []string
	var stay []part
	for _, p := range it.Regenerable {
		from := filepath.Join(filepath.Base(dir), "tree", filepath.FromSlash(p.Path))
		to := filepath.Base(deletingName(dir))
		info, err := root.Lstat(from)
		if err == nil && info.IsDir() && !leadsThroughLink(root, from) {
			if err := root.Rename(from, to); err != nil {
				stay = append(stay, p)
				continue
			}
			away = append(away, filepath.Join(filepath.Dir(dir), to))
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

// leadsThroughLink reports whether a path leads through something that is not a
// directory.
func leadsThroughLink(root *os.Root, path string) bool {
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return true
		}
	}
	return false
}

// drop deletes the directory of a removed workspace. Work that is not in its
// target can still be restored afterwards; the rest cannot.
func (e *Engine) drop(ctx context.Context, r *repo, it *trashItem) error {
	dir, work := it.rec.Trash.Dir, ""
	if isThere(dir) {
		now, err := e.examine(ctx, r, it.rec) // somebody may have written there after all
		if err != nil {
			return err
		}
		if now.IsDirty && it.isFinished() {
			return errMoved
		}
		it.survey = now
	}
	if it.IsDirty && isThere(dir) {
		defer func() {
			if isThere(dir) { // it stays, and is saved anew when it goes
				_ = os.RemoveAll(e.secretsDir(r, it.rec.Workspace.ID))
			}
		}()
		saved, err := e.saveStowed(ctx, r, it.rec)
		if err != nil {
			return err
		}
		work = saved
	}
	if err := failpoint.Hit("trash.saved"); err != nil {
		return err
	}
	away, event := deletingName(dir), croft.EventTrashReduced
	if it.isFinished() {
		event = croft.EventTrashPurged
	}
	err := e.changeTrash(ctx, r, &it.rec, event, func(ctx context.Context, t *journal.Trash) error {
		if err := e.leave(ctx, r, it, work, away); err != nil {
			return err
		}
		e.reduce(r, t)
		t.Purged = it.isFinished()
		return nil
	})
	if err != nil {
		return err
	}
	if err := failpoint.Hit("trash.recorded"); err != nil {
		return err
	}
	_ = os.Remove(e.surveyFile(it.rec.Workspace.ID))
	return deleteAway(ctx, away)
}

// reduce says of a removed workspace that its directory went.
func (e *Engine) reduce(r *repo, t *journal.Trash) {
	t.Dir, t.PurgeAt, t.PurgeWhy = "", time.Time{}, ""
	t.ExpiresAt = e.now().Add(time.Duration(r.cfg.Trash.SavedFor))
}

// leave pins a snapshot and renames the directory away. Who is killed after
// that leaves a record that names a directory which is gone; then the snapshot
// and the commits count.
func (e *Engine) leave(ctx context.Context, r *repo, it *trashItem, work, away string) error {
	dir, ref := it.rec.Trash.Dir, archiveWorkRef(it.rec.Workspace.ID)
	if work != "" {
		if err := e.pin(ctx, r, journal.Pin{Ref: ref, OID: work}); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("trash.pinned"); err != nil {
		return err
	}
	if err := os.Rename(dir, away); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := git.SyncDirs(filepath.Dir(dir)); err != nil {
		return err
	}
	return failpoint.Hit("trash.renamed")
}

// saveStowed takes a snapshot of a directory in the trash. It is not pinned yet.
func (e *Engine) saveStowed(ctx context.Context, r *repo, rec journal.Record) (string, error) {
	p, err := e.peek(ctx, r, rec)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	secrets := e.secretsDir(r, rec.Workspace.ID)
	if err := os.RemoveAll(secrets); err != nil { // of an attempt that was killed
		return "", err
	}
	saved, err := snapshot.Save(ctx, p.Worktree, snapshot.Selection{
		Ignored: r.cfg.Snapshot.Ignored, Secrets: r.cfg.Snapshot.Secrets, SecretsDir: secrets,
		Message: "Work of " + rec.Workspace.Name + ", which was removed",
		Stowed:  &snapshot.Stowed{Admin: filepath.Join(rec.Trash.Dir, "admin"), Branch: p.Branch},
	})
	return saved.Commit, err
}

// purge lets go of a removed workspace whose directory went before. Its commits
// stay archived; the snapshot goes.
func (e *Engine) purge(ctx context.Context, r *repo, it *trashItem) error {
	err := e.changeTrash(ctx, r, &it.rec, croft.EventTrashPurged, func(_ context.Context, t *journal.Trash) error {
		t.Purged, t.PurgeAt, t.PurgeWhy = true, time.Time{}, ""
		return nil
	})
	if err != nil {
		return err
	}
	if err := failpoint.Hit("trash.purged"); err != nil {
		return err
	}
	return e.forgetWork(ctx, r, it.rec.Workspace.ID)
}

// forgetWork lets go of the snapshot of a workspace that was restored, or that
// cannot be restored any more.
func (e *Engine) forgetWork(ctx context.Context, r *repo, id croft.ID) error {
	if err := os.RemoveAll(e.secretsDir(r, id)); err != nil {
		return err // while the ref is there, it is tried again
	}
	return e.unpin(ctx, r, archiveWorkRef(id))
}

// announce says that work is going to be deleted.
func (e *Engine) announce(ctx context.Context, r *repo, it *trashItem, at time.Time, why croft.TrashReason) (croft.Announcement, error) {
	a := croft.Announcement{
		ID: it.rec.Workspace.ID, Name: it.rec.Workspace.Name, Left: e.left(ctx, r, it.rec), At: at, Reason: why,
	}
	err := e.changeTrash(ctx, r, &it.rec, croft.EventTrashAnnounced, func(_ context.Context, t *journal.Trash) error {
		t.PurgeAt, t.PurgeWhy = at, string(why)
		return nil
	})
	return a, err
}

// withdraw takes an announcement back.
func (e *Engine) withdraw(ctx context.Context, r *repo, it *trashItem) error {
	return e.changeTrash(ctx, r, &it.rec, "", func(_ context.Context, t *journal.Trash) error {
		t.PurgeAt, t.PurgeWhy = time.Time{}, ""
		return nil
	})
}

// sweepArchive lets go of what was archived of workspaces that cannot be
// restored any more: what their index needed, and commits that a branch has.
// Other commits stay for good.
func (e *Engine) sweepArchive(ctx context.Context, r *repo, records []journal.Record, pins []journal.Pin) error {
	isPurged := map[croft.ID]bool{}
	for _, rec := range records {
		isPurged[rec.Workspace.ID] = rec.Workspace.State == croft.Trashed && rec.Trash != nil && rec.Trash.Purged
	}
	pins = slices.DeleteFunc(slices.Clone(pins), func(p journal.Pin) bool {
		id, what := pinOwner(p.Ref, archiveRefs)
		return !isPurged[id] || what == "work"
	})
	var tips []string
	for _, p := range pins {
		if path.Base(p.Ref) != "state" {
			tips = append(tips, p.OID)
		}
	}
	alone, err := r.git.OnNoBranch(ctx, tips)
	if err != nil {
		return err
	}
	var gone []string
	for _, p := range pins {
		if !alone[p.OID] {
			gone = append(gone, p.Ref)
		}
	}
	return e.unpin(ctx, r, gone...)
}
