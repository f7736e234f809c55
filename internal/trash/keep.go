package trash

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/snapshot"
)

// unkept is the reason why a directory stays in the trash: part of what its git directory
// or index names could not be saved.
type unkept struct{ why *croft.Error }

func (u unkept) Error() string { return u.why.Error() }

func (u unkept) Unwrap() error { return u.why }

// keepTrashed brings to the project all objects that the git directory of a removed
// isolated workspace names now: an agent may have committed in the trash, or an earlier
// pull may have failed. If there is something new, it pins that and returns errMoved for an
// item that counted as finished.
func (svc *Trash) keepTrashed(ctx context.Context, r *project.Project, it *trashItem) error {
	rec, id := it.rec, it.rec.Workspace.ID
	if rec.Workspace.Mode != croft.ModeIsolated {
		return nil
	}
	if has, err := hasOwnGit(rec); err != nil || !has {
		return err
	}
	was, err := svc.Pinned(ctx, r, project.ArchiveOwnRef(id))
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return err
	}
	known := []string{rec.Trash.Tip}
	for _, ref := range []string{project.ArchiveRef(id), project.ArchiveBranchRef(id)} {
		known = append(known, svc.Removals.Archived(ctx, r, ref, ""))
	}
	var pinning error
	err = r.Trees.At(project.SpecOf(rec)).KeepTrashed(ctx, filepath.Join(rec.Trash.Dir, "tree"), was, known, func(own string) error {
		if own == "" || own == was {
			return nil
		}
		pinning = svc.UnderLock(ctx, r, func() error {
			now, err := svc.Journal.Record(ctx, id)
			if err != nil || now.Generation != rec.Generation {
				return errors.Join(err, errMoved)
			}
			return svc.Pin(ctx, r, journal.Pin{Ref: project.ArchiveOwnRef(id), OID: own})
		})
		if pinning == nil && it.isFinished() {
			pinning = errMoved
		}
		return pinning
	})
	if err == nil || pinning != nil || ctx.Err() != nil {
		return errors.Join(pinning, ctx.Err())
	}
	return staysError(rec, "its directory stays in the trash, because not all that its own git directory has could be brought to the project", err)
}

// recordStays records why a directory stays in the trash.
func (svc *Trash) recordStays(ctx context.Context, r *project.Project, it *trashItem, why string) error {
	if it.rec.Trash.Stays == why {
		return nil
	}
	return svc.changeTrash(ctx, r, &it.rec, "", func(_ context.Context, t *journal.Trash) error {
		t.Stays = why
		return nil
	})
}

// hasOwnGit reports whether the directory of a removed workspace has a .git. It fails if
// the workspace's trash directory cannot be opened, for example because its drive is not
// mounted: that does not show that there is no .git.
func hasOwnGit(rec journal.Record) (bool, error) {
	dir, err := project.OpenTrashDir(rec.Trash)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	tree, err := dir.OpenDirIs("tree", fsx.Identity(rec.Identity))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer tree.Close()
	_, err = tree.IdentityOf(".git")
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ExplainMissing returns the error for a workspace that cannot be saved because an object
// that its index names is missing and the file differs. It returns other errors as they
// are.
func ExplainMissing(w croft.Workspace, err error) error {
	missing, ok := errors.AsType[*object.MissingError](err)
	if !ok {
		return err
	}
	return &croft.Error{
		Code: croft.ObjectMissing, Workspace: w.Name,
		Message: fmt.Sprintf("the object of %q, which the index names, cannot be read, and the file is another one or gone; the workspace cannot be saved", missing.Path),
		Details: missing.OID + " is missing or damaged; no file of the workspace was changed",
		Hint:    "git -C " + shellword.Quote(w.Path) + " --literal-pathspecs add -- " + shellword.Quote(missing.Path) + ", which stages the file as it is now",
	}
}

// explainMissingInTrash is ExplainMissing for a directory in the trash, which stays there.
func explainMissingInTrash(rec journal.Record, err error) error {
	missing, ok := errors.AsType[*object.MissingError](err)
	if !ok {
		return err
	}
	return unkept{&croft.Error{
		Code: croft.ObjectMissing, Workspace: rec.Workspace.Name,
		Message: fmt.Sprintf("its directory stays in the trash, because the object of %q, which its index names, cannot be read, and the file is another one or gone", missing.Path),
		Details: missing.OID + " is missing or damaged",
		Hint:    "croft restore " + string(rec.Workspace.ID) + ", and git add the file there; or, to delete it for good: rm -rf " + shellword.Quote(rec.Trash.Dir),
	}}
}

// explainUnrestorable returns the error for a directory in the trash that stays there
// because its snapshot could not be restored. It returns errors that say nothing about the
// snapshot as they are.
func explainUnrestorable(ctx context.Context, rec journal.Record, err error) error {
	if ctx.Err() != nil || !isUnreadable(err) && !errors.Is(err, snapshot.ErrFormat) && !errors.Is(err, object.ErrMissing) {
		return err
	}
	return staysError(rec, "its directory stays in the trash, because the snapshot of it could not be restored", err)
}

// explainUnreadable returns the error for a directory in the trash that stays there because
// git cannot read it: an agent wrote its git files. It returns other errors as they are.
func explainUnreadable(ctx context.Context, rec journal.Record, err error) error {
	if ctx.Err() != nil || !isUnreadable(err) {
		return err
	}
	return staysError(rec, "its directory stays in the trash, because git cannot read it", err)
}

// isUnreadable reports whether git failed, or would fail, because of the files that it
// read, and not because of the system.
func isUnreadable(err error) bool {
	failed, isGits := errors.AsType[*gitcmd.Error](err)
	return errors.Is(err, git.ErrIncomplete) || isGits && (failed.Kind == "" || failed.Kind == gitcmd.KindIndex)
}

func staysError(rec journal.Record, message string, err error) error {
	return unkept{&croft.Error{
		Code: croft.WorkspaceBroken, Workspace: rec.Workspace.Name, Message: message, Details: err.Error(), Err: err,
		Hint: "croft restore " + string(rec.Workspace.ID) + ", and mend it there; or, to delete it for good: rm -rf " + shellword.Quote(rec.Trash.Dir),
	}}
}

// mendTrashed stores the objects that the index of a directory in the trash names and the
// repository lacks, as far as the files in the directory have them.
func (svc *Trash) mendTrashed(ctx context.Context, r *project.Project, rec journal.Record) error {
	if info, err := os.Lstat(filepath.Join(rec.Trash.Dir, "tree")); err != nil || !info.IsDir() {
		return nil // the directory is gone, or a link is in its place
	}
	p, err := svc.openTrashed(ctx, r, rec)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	return snapshot.Mend(ctx, p.Worktree)
}
