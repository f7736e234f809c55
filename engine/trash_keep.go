package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// unkept says that a directory stays in the trash, because what its own git
// directory has could not be kept.
type unkept struct{ why *croft.Error }

func (u unkept) Error() string { return u.why.Error() }

func (u unkept) Unwrap() error { return u.why }

// keepStowed makes sure that the project has all that the git directory of a removed
// isolated workspace names, as it is now: commits can have been made in the trash, or
// not have been brought before. If there is something new, a workspace that counted
// as finished does not any more.
func (e *Engine) keepStowed(ctx context.Context, r *repo, it *trashItem) error {
	rec, id := it.rec, it.rec.Workspace.ID
	if rec.Workspace.Mode != croft.ModeIsolated {
		return nil
	}
	if has, err := hasOwnGit(rec); err != nil || !has {
		return err
	}
	was, err := e.pinned(ctx, r, archiveOwnRef(id))
	if err != nil && !errors.Is(err, git.ErrNoRef) {
		return err
	}
	known := []string{rec.Trash.Tip}
	for _, ref := range []string{archiveRef(id), archiveBranchRef(id)} {
		known = append(known, e.archived(ctx, r, ref, ""))
	}
	var pinning error
	err = r.trees.At(specOf(rec)).KeepStowed(ctx, filepath.Join(rec.Trash.Dir, "tree"), was, known, func(own string) error {
		if own == "" || own == was {
			return nil
		}
		pinning = e.underLock(ctx, r, func() error {
			now, err := e.journal.Record(ctx, id)
			if err != nil || now.Generation != rec.Generation {
				return errors.Join(err, errMoved)
			}
			return e.pin(ctx, r, journal.Pin{Ref: archiveOwnRef(id), OID: own})
		})
		if pinning == nil && it.isFinished() {
			pinning = errMoved
		}
		return pinning
	})
	if err == nil || pinning != nil || ctx.Err() != nil {
		return errors.Join(pinning, ctx.Err())
	}
	return unkept{&croft.Error{
		Code: croft.WorkspaceBroken, Workspace: rec.Workspace.Name, Details: err.Error(), Err: err,
		Message: "its directory stays in the trash, because not all that its own git directory has could be brought to the project",
		Hint:    "croft restore " + string(id) + ", and mend it there; or, to delete it for good: rm -rf " + shellWord(rec.Trash.Dir),
	}}
}

// noteStays writes down why a directory stays in the trash.
func (e *Engine) noteStays(ctx context.Context, r *repo, it *trashItem, why string) error {
	if it.rec.Trash.Stays == why {
		return nil
	}
	return e.changeTrash(ctx, r, &it.rec, "", func(_ context.Context, t *journal.Trash) error {
		t.Stays = why
		return nil
	})
}

// hasOwnGit reports whether a removed workspace has a git directory of its own. The
// directory that it lies in is held meanwhile: one that is only absent for a moment
// is not taken for one without.
func hasOwnGit(rec journal.Record) (bool, error) {
	dir, err := openTrashDir(rec.Trash)
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

// shellWord is a path as a word of a shell's.
func shellWord(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }
