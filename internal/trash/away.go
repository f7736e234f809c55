package trash

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// IsTrashGone reports whether the trash directory of a removed workspace is known to be
// deleted: by Croft, or by another process while the trash around it stayed the same.
func IsTrashGone(r *project.Project, rec journal.Record) bool {
	t := rec.Trash
	if !project.IsTrashAway(t) {
		return false
	}
	if r.DeletedLedger().Find(string(rec.Workspace.ID)).Identity == fsx.Identity(t.Identity) {
		return true
	}
	return !fsx.IsThere(t.Dir) && fsx.Identity(t.Within).IsAt(filepath.Dir(t.Dir))
}

// vanishedError returns the error for a trash directory that appeared or disappeared while
// Croft was about to delete it. What was saved of it meanwhile does not count.
func vanishedError(rec journal.Record) error {
	return &croft.Error{
		Code: croft.WorkspaceBroken, Workspace: rec.Workspace.Name,
		Message: "its directory in the trash was not there all the time while it was saved; nothing was deleted",
		Details: rec.Trash.Dir, Hint: "croft doctor",
	}
}

// explainVanished returns vanishedError if the trash directory is not there, and err
// otherwise.
func explainVanished(rec journal.Record, err error) error {
	if project.IsTrashAway(rec.Trash) && !fsx.IsThere(rec.Trash.Dir) {
		return vanishedError(rec)
	}
	return err
}

// FollowTrash records the path to which the trash directory of a removed workspace was
// moved. If the base directory was moved along with it, the workspace will be restored
// there.
func (svc *Trash) FollowTrash(ctx context.Context, r *project.Project, rec *journal.Record, to string) error {
	t, w := *rec.Trash, &rec.Workspace
	from, into := project.MovedAncestors(t.Dir, to)
	if !fsx.IsThere(filepath.Dir(w.Path)) {
		w.Path = project.PathAfterMove(w.Path, from, into)
	}
	if rec.BaseDir != "" && !fsx.IsThere(rec.BaseDir) {
		rec.BaseDir = project.PathAfterMove(rec.BaseDir, from, into)
	}
	t.Dir = to
	if within, err := fsx.IdentityOf(filepath.Dir(to)); err == nil {
		t.Within = string(within)
	}
	rec.Trash = &t
	if err := r.TrashDirLedger().Put(string(w.ID), fsx.Made{Path: to, Identity: fsx.Identity(t.Identity)}); err != nil {
		return err
	}
	return svc.SaveRecord(ctx, rec, nil)
}

// mayComeBack reports whether the trash directory is absent but not known to be deleted,
// for example because its drive is not mounted. Once trash.saved_for has passed since it
// expired, it counts as deleted.
func (t *tidying) mayComeBack(ctx context.Context, rec journal.Record) bool {
	if !project.IsTrashAway(rec.Trash) || fsx.IsThere(rec.Trash.Dir) || !t.now.Before(rec.Trash.ExpiresAt.Add(time.Duration(t.r.Config.Trash.SavedFor))) {
		return false
	}
	return !IsTrashGone(t.r, rec) || t.r.FindTrash(ctx, rec) != ""
}

// locateTrashed makes the record name the trash directory that is restored. It follows a
// directory that was moved and clears one that was deleted. If the directory is absent or
// replaced, it refuses, unless mode is RestoreCommits. The caller holds the repository's
// lock.
func (svc *Trash) locateTrashed(ctx context.Context, r *project.Project, rec *journal.Record, mode croft.RestoreMode) error {
	_, isCopy := project.CopyInTrash(*rec)
	isBack := fsx.Identity(rec.Identity).IsAt(rec.Workspace.Path)
	if !project.IsTrashAway(rec.Trash) {
		if !isCopy || isBack {
			return nil
		}
	} else if to := r.FindTrash(ctx, *rec); to != "" {
		return svc.FollowTrash(ctx, r, rec, to)
	}
	switch {
	case IsTrashGone(r, *rec):
	case isBack || mode == croft.RestoreCommits:
		if err := svc.pinStateApart(ctx, r, rec.Workspace.ID); err != nil {
			return err
		}
	case isCopy:
		return project.CopyTrashedError(*rec, "else croft restore --commits "+string(rec.Workspace.ID)+", which leaves it alone")
	case fsx.IsThere(rec.Trash.Dir):
		return project.NotOursError(rec.Trash.Dir)
	default:
		return &croft.Error{
			Code: croft.WorkspaceBroken, Message: "its directory in the trash is not there: it was moved or deleted, or its drive is not mounted",
			Details: rec.Trash.Dir, Hint: "bring it back; or, for what git has of it: croft restore --commits " + string(rec.Workspace.ID),
		}
	}
	svc.recordDirectoryGone(r, rec.Trash)
	return svc.SaveRecord(ctx, rec, nil)
}

// pinStateApart pins the saved index state of a workspace under a new ID. The registration
// in the absent trash directory needs these objects, and the archive of the workspace is
// unpinned once it is restored.
func (svc *Trash) pinStateApart(ctx context.Context, r *project.Project, id croft.ID) error {
	state, err := svc.Pinned(ctx, r, project.ArchiveStateRef(id))
	if errors.Is(err, refs.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return svc.Pin(ctx, r, journal.Pin{Ref: project.ArchiveStateRef(project.NewID()), OID: state})
}

// BindTrashed gives an imported record the trash directory that has its ID as name, if
// there is one with a checkout beside the repository or in its git directory. If the
// checkout has a git directory of its own, the record becomes that of an isolated
// workspace. The user was shown it before.
func BindTrashed(r *project.Project, rec *journal.Record) error {
	for _, trash := range TrashDirs(r, nil) {
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
		return r.TrashDirLedger().Put(string(rec.Workspace.ID), fsx.Made{Path: dir.Path(), Identity: now})
	}
	return nil
}

// CopyAtPath finds a copy of a removed workspace at its old path: a directory whose .git
// names the workspace, while its own directory is known not to be in the trash.
func CopyAtPath(r *project.Project, rec journal.Record) (found fsx.Identity, isCopy bool) {
	t := rec.Trash
	if t == nil || project.IsTrashAway(t) && !IsTrashGone(r, rec) || t.Dir != "" && fsx.IsThere(filepath.Join(t.Dir, "tree")) {
		return "", false
	}
	if isPathFree(r, rec) || !r.Trees.At(project.SpecOf(rec)).Owns(rec.Workspace.Path) {
		return "", false
	}
	found, err := fsx.IdentityOf(rec.Workspace.Path)
	return found, err == nil
}

// pathTakenError returns the error for a workspace that cannot be restored because
// something lies at its path.
func pathTakenError(r *project.Project, rec journal.Record) error {
	e := &croft.Error{
		Code: croft.WorktreeExists, Message: "something is at its path now", Details: rec.Workspace.Path, Hint: "move it away, then restore again",
	}
	if _, isCopy := CopyAtPath(r, rec); isCopy {
		e.Message = "a copy of it is at its path now"
		e.Hint = "croft doctor --import, if it was copied back, then croft restore " + string(rec.Workspace.ID) + "; else move it away, then restore again"
	}
	return e
}
