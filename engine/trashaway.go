package engine

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// A directory of the trash that is not where it was put may be on a drive that is
// not mounted, or may have been moved with the directory that it lay in. It counts
// as gone only if that is known.

// isTrashAway reports whether the directory that a removed workspace lies in is not
// at its place.
func isTrashAway(t *journal.Trash) bool {
	return t.Dir != "" && !fsx.Identity(t.Identity).IsAt(t.Dir)
}

// deleted is the ledger of the directories of the trash that Croft itself has
// deleted, by the ids of the workspaces, until their records say so.
func (r *repo) deleted() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.dir, "deleted")} }

// isTrashGone reports whether the directory that a removed workspace lay in is
// known to be deleted: by Croft, or by somebody else from a trash that is still
// the same.
func (r *repo) isTrashGone(rec journal.Record) bool {
	t := rec.Trash
	if !isTrashAway(t) {
		return false
	}
	if r.deleted().Find(string(rec.Workspace.ID)).Identity == fsx.Identity(t.Identity) {
		return true
	}
	return !fsx.IsThere(t.Dir) && fsx.Identity(t.Within).IsAt(filepath.Dir(t.Dir))
}

// vanishedStowed says that the directory that a removed workspace lies in came or went
// while it was to be deleted. What was saved of it meanwhile does not count.
func vanishedStowed(rec journal.Record) error {
	return &croft.Error{
		Code: croft.WorkspaceBroken, Workspace: rec.Workspace.Name,
		Message: "its directory in the trash was not there all the time while it was saved; nothing was deleted",
		Details: rec.Trash.Dir, Hint: "croft doctor",
	}
}

// orVanished is an error, or says that the directory is why.
func orVanished(rec journal.Record, err error) error {
	if isTrashAway(rec.Trash) && !fsx.IsThere(rec.Trash.Dir) {
		return vanishedStowed(rec)
	}
	return err
}

// findTrash looks for the directory that a removed workspace lies in. One that is
// being deleted is not found: what is to be restored of it was saved before.
func (r *repo) findTrash(ctx context.Context, rec journal.Record) string {
	w, t := rec.Workspace, rec.Trash
	found := seek(ctx, []sought{{
		identity: fsx.Identity(t.Identity), last: t.Dir, near: []string{filepath.Dir(r.path)},
		hints: []string{follow(t.Dir, w.Repo, r.path), follow(t.Dir, filepath.Dir(w.Repo), filepath.Dir(r.path))},
		isIt:  func(path string) bool { return filepath.Base(path) == string(w.ID) },
	}})[0]
	if r.deleting().Find(filepath.Base(found)).Identity == fsx.Identity(t.Identity) {
		return ""
	}
	return found
}

// followTrash writes down where a removed workspace lies now. If the directory
// that it was made in was moved along, it comes back there.
func (e *Engine) followTrash(ctx context.Context, r *repo, rec *journal.Record, to string) error {
	t, w := *rec.Trash, &rec.Workspace
	from, into := movedBy(t.Dir, to)
	if !fsx.IsThere(filepath.Dir(w.Path)) {
		w.Path = follow(w.Path, from, into)
	}
	if rec.BaseDir != "" && !fsx.IsThere(rec.BaseDir) {
		rec.BaseDir = follow(rec.BaseDir, from, into)
	}
	t.Dir = to
	if within, err := fsx.IdentityOf(filepath.Dir(to)); err == nil {
		t.Within = string(within)
	}
	rec.Trash = &t
	if err := r.trashDirs().Put(string(w.ID), fsx.Made{Path: to, Identity: fsx.Identity(t.Identity)}); err != nil {
		return err
	}
	return e.saveRecord(ctx, rec, nil)
}

// mayComeBack reports whether the directory that a removed workspace lies in is not
// there, and is not known to be gone. One that nobody has seen for as long as what
// is saved is kept counts as gone.
func (t *tidying) mayComeBack(ctx context.Context, rec journal.Record) bool {
	if !isTrashAway(rec.Trash) || fsx.IsThere(rec.Trash.Dir) || !t.now.Before(rec.Trash.ExpiresAt.Add(time.Duration(t.r.cfg.Trash.SavedFor))) {
		return false
	}
	return !t.r.isTrashGone(rec) || t.r.findTrash(ctx, rec) != ""
}

// movedBy returns the directories whose move explains that of a path: what is left
// of the two without the end that they have in common.
func movedBy(from, to string) (was, now string) {
	for filepath.Base(from) == filepath.Base(to) && filepath.Dir(from) != from && filepath.Dir(to) != to {
		from, to = filepath.Dir(from), filepath.Dir(to)
	}
	return from, to
}

// locateStowed makes sure that what is going to be restored is where the record
// says: the record follows a directory of the trash that was moved, forgets one
// that was deleted, and else the restoration is refused, unless it is wanted
// without. The caller holds the repository's lock.
func (e *Engine) locateStowed(ctx context.Context, r *repo, rec *journal.Record, mode croft.RestoreMode) error {
	_, isCopy := copyInTrash(*rec)
	isBack := fsx.Identity(rec.Identity).IsAt(rec.Workspace.Path)
	if !isTrashAway(rec.Trash) {
		if !isCopy || isBack {
			return nil
		}
	} else if to := r.findTrash(ctx, *rec); to != "" {
		return e.followTrash(ctx, r, rec, to)
	}
	switch {
	case r.isTrashGone(*rec):
	case isBack || mode == croft.RestoreCommits:
		if err := e.keepApart(ctx, r, rec.Workspace.ID); err != nil {
			return err
		}
	case isCopy:
		return copyStowed(*rec, "else croft restore --commits "+string(rec.Workspace.ID)+", which leaves it alone")
	case fsx.IsThere(rec.Trash.Dir):
		return notOurs(rec.Trash.Dir)
	default:
		return &croft.Error{
			Code: croft.WorkspaceBroken, Message: "its directory in the trash is not there: it was moved or deleted, or its drive is not mounted",
			Details: rec.Trash.Dir, Hint: "bring it back; or, for what git has of it: croft restore --commits " + string(rec.Workspace.ID),
		}
	}
	e.reduce(r, rec.Trash)
	return e.saveRecord(ctx, rec, nil)
}

// keepApart keeps what a registration needs that cannot be seen now, for when it
// can be: what the workspace is kept by goes once it is restored.
func (e *Engine) keepApart(ctx context.Context, r *repo, id croft.ID) error {
	state, err := e.pinned(ctx, r, archiveStateRef(id))
	if errors.Is(err, git.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return e.pin(ctx, r, journal.Pin{Ref: archiveStateRef(newID()), OID: state})
}

// movedTrash looks for removed workspaces that are not where they were put.
func (d *doctor) movedTrash(ctx context.Context) error {
	records, err := d.trashed(ctx, d.r)
	if err != nil {
		return err
	}
	for _, rec := range records {
		to := ""
		if isTrashAway(rec.Trash) {
			to = d.r.findTrash(ctx, rec)
		}
		if to == "" && d.copiedTrash(ctx, rec) || !isTrashAway(rec.Trash) {
			continue
		}
		if to != "" {
			d.find(findTrashMoved, rec.Workspace.Name, "It was removed, and its directory was moved from "+rec.Trash.Dir+" to "+to+".", func() error {
				return d.underLock(ctx, d.r, func() error { return d.followTrashNow(ctx, rec.Workspace.ID, to) })
			})
			continue
		}
		if d.r.isTrashGone(rec) {
			continue
		}
		d.find(findTrashMissing, rec.Workspace.Name, "It was removed, and its directory in the trash is neither at "+rec.Trash.Dir+
			" nor near there. If it was moved or its drive is not mounted, bring it back. croft restore --commits does without.", nil)
	}
	return nil
}

// followTrashNow is followTrash, if the workspace is still in the trash.
func (d *doctor) followTrashNow(ctx context.Context, id croft.ID, to string) error {
	rec, err := d.journal.Record(ctx, id)
	if err != nil || rec.Trash == nil || !isTrashAway(rec.Trash) {
		return err
	}
	return d.followTrash(ctx, d.r, &rec, to)
}

// unknownTrash names directories of the trash that no record speaks of: the state
// was lost, an older one was put back, or they are another user's.
func (d *doctor) unknownTrash(ctx context.Context) error {
	records, err := d.journal.Records(ctx, d.r.id)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, rec := range records {
		known[string(rec.Workspace.ID)] = true
	}
	for _, trash := range trashDirs(d.r, records) {
		dir, err := fsx.OpenDir(trash)
		if err != nil {
			continue
		}
		names, _ := dir.SomeNames(seekWidth)
		_ = dir.Close()
		for _, name := range names {
			if strings.HasSuffix(name, asideSuffix) {
				for _, kept := range keptIn(filepath.Join(trash, name)) {
					d.noticeKept(kept)
				}
			}
			if path := filepath.Join(trash, name); isID(name) && !known[name] && fsx.IsThere(filepath.Join(path, "tree")) {
				d.notice("a removed workspace lies in %s, and has no record; it is left alone: croft doctor --import binds it, if git still has its commits", path)
			}
		}
	}
	return nil
}

// bindStowed gives the record of a removed workspace that is bound anew the
// directory in the trash that is called like it. Whoever binds it has seen it.
func (r *repo) bindStowed(rec *journal.Record) error {
	for _, trash := range trashDirs(r, nil) {
		dir, err := fsx.OpenDir(filepath.Join(trash, string(rec.Workspace.ID)))
		if err != nil {
			continue
		}
		now, err := dir.Identity()
		tree, terr := dir.IdentityOf("tree")
		if own, err := dir.OpenBelow("tree/.git"); err == nil { // a git directory of its own
			rec.Workspace.Mode = croft.ModeIsolated
			_ = own.Close()
		}
		_ = dir.Close()
		if err != nil || terr != nil {
			continue
		}
		rec.Identity = string(tree)
		rec.Trash.Dir, rec.Trash.Identity = dir.Path(), string(now)
		return r.trashDirs().Put(string(rec.Workspace.ID), fsx.Made{Path: dir.Path(), Identity: now})
	}
	return nil
}
