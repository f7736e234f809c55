package trash

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// isPathFree reports whether a removed workspace can be restored at its path: nothing is
// there, or its own directory is, or one that an earlier restoration made while the trash
// has no other.
func isPathFree(r *project.Project, rec journal.Record) bool {
	path := rec.Workspace.Path
	if !fsx.IsThere(path) || fsx.Identity(rec.Identity).IsAt(path) {
		return true
	}
	return r.Trees.At(project.SpecOf(rec)).IsThere() && (rec.Trash.Dir == "" || !fsx.IsThere(filepath.Join(rec.Trash.Dir, "tree")))
}

// rebuildDirectory checks out a workspace anew if its directory is neither at its path
// nor in the trash: from its commits, and from its snapshot or its registration if
// there is one. It never deletes a directory at the path, and writes only to one that
// an earlier attempt was making.
func (svc *Trash) rebuildDirectory(ctx context.Context, r *project.Project, rec *journal.Record, spec checkout.Spec) error {
	beside, err := fsx.MakeDir(filepath.Dir(spec.Path), 0o777)
	if err != nil {
		return err
	}
	_ = beside.Close()
	if fsx.IsThere(spec.Path) {
		isWhole, err := svc.adoptRebuilt(ctx, r, rec, spec)
		if err != nil || isWhole {
			return err
		}
	} else if err := svc.preparePlace(ctx, r, rec, spec); err != nil {
		return err
	}
	if err := failpoint.Hit("restore.prepared"); err != nil {
		return err
	}
	if err := svc.writeFiles(ctx, r, rec, spec); err != nil {
		return err
	}
	own, err := svc.Pinned(ctx, r, project.ArchiveOwnRef(rec.Workspace.ID))
	if errors.Is(err, refs.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Trees.At(spec).RestoreOwn(ctx, own)
}

// writeFiles writes the files of a workspace whose directory was made anew: from its
// snapshot if there is one, otherwise from its index or its last commit.
func (svc *Trash) writeFiles(ctx context.Context, r *project.Project, rec *journal.Record, spec checkout.Spec) error {
	work, err := svc.Pinned(ctx, r, project.ArchiveWorkRef(rec.Workspace.ID))
	if err == nil {
		_, workers := project.Parallel(1, r.Config.Checkout.Workers)
		return r.Trees.At(spec).ChangeHeld(ctx, func(tree *git.Worktree) error {
			return restore.Refill(ctx, work, restore.Files{
				Worktree: tree, SecretsDir: svc.SecretsDir(r, rec.Workspace.ID), Workers: workers,
			})
		})
	}
	if !errors.Is(err, refs.ErrNoRef) {
		return err
	}
	if tree := r.Trees.At(spec); tree.HasIndex() {
		err = tree.WriteStaged(ctx, max(spec.Workers, 1))
	} else {
		err = r.Trees.Fill(ctx, spec)
	}
	if err != nil {
		return err
	}
	return svc.placeRoleFiles(ctx, r, rec)
}

// adoptRebuilt examines a directory that an earlier restoration made at the path. isWhole
// is true if that restoration had finished, which a state restored from a backup may not
// know.
func (svc *Trash) adoptRebuilt(ctx context.Context, r *project.Project, rec *journal.Record, spec checkout.Spec) (isWhole bool, err error) {
	tree := r.Trees.At(spec)
	if fsx.Identity(rec.Identity).IsAt(spec.Path) || !tree.IsThere() { // it has no registration, or is not of this workspace
		return false, project.NotOursError(spec.Path)
	}
	switch r.Trees.Checkouts.Health(spec) { // the path has another identity than the record: it was made anew
	case checkout.Intact:
		return r.Trees.IsReleased(spec), nil
	case checkout.Unregistered:
		return true, tree.Register(ctx, worktree.AddSpec{Admin: rec.Admin, Path: spec.Path, Branch: spec.Branch, Head: spec.Base, Sparse: spec.Sparse})
	}
	return false, project.NotOursError(spec.Path)
}

// preparePlace makes the directory and the registration of a workspace: around the
// registration in the trash, which has the index, or anew.
func (svc *Trash) preparePlace(ctx context.Context, r *project.Project, rec *journal.Record, spec checkout.Spec) error {
	if w := rec.Workspace; spec.Kind == checkout.Isolated && w.BaseRef != "" {
		if _, err := r.Git.ReadRef(ctx, "refs/heads/"+w.BaseRef); err == nil { // a branch: the workspace sees it as it was at the beginning
			spec.Branches = map[string]string{w.BaseRef: w.Base}
		}
	}
	err := r.Trees.Rebuild(ctx, spec, rec.Trash.Dir)
	if !errors.Is(err, checkout.ErrGone) {
		return err
	}
	if err := r.Trees.DiscardRest(spec); err != nil {
		return err
	}
	return r.Trees.Prepare(ctx, spec)
}

// restoration is the state that applyRestoration found before it changed anything.
type restoration struct {
	startedAt  time.Time
	madeBranch bool         // the branch was not there
	before     fsx.Identity // what lay at the workspace's path
}

// undoRestoration moves a workspace back to the trash after its restoration failed at any
// step. It deletes the branch if the restoration made it.
func (svc *Trash) undoRestoration(ctx context.Context, r *project.Project, rec journal.Record, how restoration) error {
	tree := r.Trees.At(project.SpecOf(rec))
	if err := svc.pinArchive(ctx, r, rec, tree); err != nil {
		return err
	}
	if err := svc.removeRestored(r, rec, tree, how); err != nil {
		return err
	}
	err := errors.Join(project.DeleteRef(ctx, r, project.BaseRef(rec.Workspace.ID)), project.DeleteRef(ctx, r, project.HeldRef(rec.Workspace.ID)))
	if err != nil || !how.madeBranch || rec.Workspace.Branch == "" {
		return err
	}
	// Git may have begun a reflog for a branch that it could not make.
	r.Git.SweepRefLocks(how.startedAt, "refs/heads/"+rec.Workspace.Branch)
	_, err = project.DeleteBranch(ctx, r, rec, rec.Trash.Tip)
	return err
}

// pinArchive makes sure that the commits and the index state of the workspace are pinned.
func (svc *Trash) pinArchive(ctx context.Context, r *project.Project, rec journal.Record, tree *git.Worktree) error {
	pins, err := svc.Journal.Pins(ctx, r.ID, project.ArchiveRefs+string(rec.Workspace.ID)+"/")
	if err != nil {
		return err
	}
	var unsynced []string
	if _, err = svc.Pinned(ctx, r, project.ArchiveRef(rec.Workspace.ID)); errors.Is(err, refs.ErrNoRef) {
		_, unsynced, err = svc.Removals.Archive(ctx, r, rec, tree)
	} else if err == nil {
		unsynced, err = r.MovePins(ctx, pins)
	}
	if err != nil {
		return err
	}
	return fsx.SyncAll(unsynced...)
}

// removeRestored undoes what a failed restoration did at the workspace's path: a checkout
// that came from the trash goes back there, one that was checked out anew is deleted. A
// directory that was at the path before the restoration stays.
func (svc *Trash) removeRestored(r *project.Project, rec journal.Record, tree *git.Worktree, how restoration) error {
	spec, dir := project.SpecOf(rec), rec.Trash.Dir
	now, err := fsx.IdentityOf(rec.Workspace.Path)
	isThere := err == nil
	switch {
	case isThere && now == how.before && (now == fsx.Identity(rec.Identity) || r.Trees.IsReleased(spec)):
		return svc.keepRegistration(r, rec, tree)
	case isThere && now == fsx.Identity(rec.Identity):
		return r.Trees.MoveToTrash(spec, dir)
	case isThere && dir != "": // checked out anew, around the registration from the trash
		if err := svc.keepRegistration(r, rec, tree); err != nil {
			return err
		}
		return r.Trees.Discard(spec)
	case dir == "":
		return r.Trees.Discard(spec)
	}
	err = svc.keepRegistration(r, rec, tree)
	if err == nil && !fsx.IsThere(filepath.Join(dir, "tree")) {
		err = r.Trees.DiscardRest(spec)
	}
	return err // the checkout, if there is one, has not left the trash
}

// keepRegistration moves the registration back to the trash, without the directory. If the
// workspace has nothing in the trash, the registration is deleted.
func (svc *Trash) keepRegistration(r *project.Project, rec journal.Record, tree *git.Worktree) error {
	if !fsx.IsThere(tree.Admin) {
		return nil
	}
	if rec.Trash.Dir == "" {
		return r.Trees.DiscardRest(project.SpecOf(rec))
	}
	if err := deleteKeptRegistration(rec.Trash); err != nil {
		return err
	}
	return tree.Deregister(filepath.Join(rec.Trash.Dir, "admin"))
}

// deleteKeptRegistration deletes the registration in the trash, before a newer one is
// moved there.
func deleteKeptRegistration(t *journal.Trash) error {
	dir, err := project.OpenTrashDir(t)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.RemoveAll("admin")
}
