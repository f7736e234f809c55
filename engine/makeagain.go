package engine

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/snapshot"
)

// isFree reports whether a removed workspace can come back to its path: nothing
// lies there, or its own directory does, or one that was made for it since, of
// which there is no other in the trash.
func (r *repo) isFree(rec journal.Record) bool {
	path := rec.Workspace.Path
	if !fsx.IsThere(path) || fsx.Identity(rec.Identity).IsAt(path) {
		return true
	}
	return r.trees.At(specOf(rec)).IsThere() && (rec.Trash.Dir == "" || !fsx.IsThere(filepath.Join(rec.Trash.Dir, "tree")))
}

// makeAgain is for a workspace whose directory is neither at its path nor in the
// trash. Its commits come back, and from its registration or a snapshot, if there
// is one, the rest. A directory at its path is never deleted, and written to only
// if it is one that was being made for this.
func (e *Engine) makeAgain(ctx context.Context, r *repo, rec *journal.Record, spec checkout.Spec) error {
	beside, err := fsx.MakeDir(filepath.Dir(spec.Path), 0o777)
	if err != nil {
		return err
	}
	_ = beside.Close()
	if fsx.IsThere(spec.Path) {
		isWhole, err := e.takeWhole(ctx, r, rec, spec)
		if err != nil || isWhole {
			return err
		}
	} else if err := e.prepareAgain(ctx, r, rec, spec); err != nil {
		return err
	}
	if err := failpoint.Hit("restore.prepared"); err != nil {
		return err
	}
	if err := e.fillAgain(ctx, r, rec, spec); err != nil {
		return err
	}
	own, err := e.pinned(ctx, r, archiveOwnRef(rec.Workspace.ID))
	if errors.Is(err, git.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.trees.At(spec).BringOwn(ctx, own)
}

// fillAgain writes the files of a workspace whose place was made anew: from a
// snapshot, if there is one, or from what was staged or committed.
func (e *Engine) fillAgain(ctx context.Context, r *repo, rec *journal.Record, spec checkout.Spec) error {
	work, err := e.pinned(ctx, r, archiveWorkRef(rec.Workspace.ID))
	if err == nil {
		_, workers := parallel(1, r.cfg.Checkout.Workers)
		return r.trees.At(spec).ChangeHeld(ctx, func(tree *git.Worktree) error {
			return snapshot.Refill(ctx, work, snapshot.Files{
				Worktree: tree, SecretsDir: e.secretsDir(r, rec.Workspace.ID), Workers: workers, Sync: snapshot.SyncFiles,
			})
		})
	}
	if !errors.Is(err, git.ErrNoRef) {
		return err
	}
	if tree := r.trees.At(spec); tree.HasIndex() {
		err = tree.WriteStaged(ctx, max(spec.Workers, 1))
	} else {
		err = r.trees.Fill(ctx, spec)
	}
	if err != nil {
		return err
	}
	return e.equipAgain(ctx, r, rec)
}

// takeWhole looks at the directory that was made anew for a workspace. One that
// was handed out, as a state that was put back may not know, is taken as it is;
// one whose making was interrupted is not whole yet.
func (e *Engine) takeWhole(ctx context.Context, r *repo, rec *journal.Record, spec checkout.Spec) (isWhole bool, err error) {
	tree := r.trees.At(spec)
	if fsx.Identity(rec.Identity).IsAt(spec.Path) || !tree.IsThere() { // it cannot be joined, or is somebody else's
		return false, notOurs(spec.Path)
	}
	switch r.trees.of(spec).Health(spec) { // it was made anew, and has another identity than is recorded
	case checkout.Intact:
		return r.trees.IsBorn(spec), nil
	case checkout.Unregistered:
		return true, tree.Register(ctx, git.AddSpec{Admin: rec.Admin, Path: spec.Path, Branch: spec.Branch, Head: spec.Base})
	}
	return false, notOurs(spec.Path)
}

// prepareAgain makes the place of a workspace: around the registration that was
// stowed, which has what was staged, or anew.
func (e *Engine) prepareAgain(ctx context.Context, r *repo, rec *journal.Record, spec checkout.Spec) error {
	if w := rec.Workspace; spec.Kind == checkout.Isolated && w.BaseRef != "" {
		if _, err := r.git.ReadRef(ctx, "refs/heads/"+w.BaseRef); err == nil { // a branch: it is shown as it was at the beginning
			spec.Branches = map[string]string{w.BaseRef: w.Base}
		}
	}
	err := r.trees.Rebuild(ctx, spec, rec.Trash.Dir)
	if !errors.Is(err, checkout.ErrGone) {
		return err
	}
	if err := r.trees.DiscardRest(spec); err != nil {
		return err
	}
	return r.trees.Prepare(ctx, spec)
}

// restoration is what a restoration found before it began.
type restoration struct {
	startedAt  time.Time
	madeBranch bool         // the branch was not there
	before     fsx.Identity // what lay at the workspace's path
}

// stowAgain puts a workspace back into the trash whose restoration failed, from
// whatever point it had come to. The branch goes if the restoration made it.
func (e *Engine) stowAgain(ctx context.Context, r *repo, rec journal.Record, how restoration) error {
	tree := r.trees.At(specOf(rec))
	if err := e.archiveAgain(ctx, r, rec, tree); err != nil {
		return err
	}
	if err := e.vacate(r, rec, tree, how); err != nil {
		return err
	}
	err := errors.Join(dropRef(ctx, r, baseRef(rec.Workspace.ID)), dropRef(ctx, r, heldRef(rec.Workspace.ID)))
	if err != nil || !how.madeBranch || rec.Workspace.Branch == "" {
		return err
	}
	// Git may have begun a reflog for a branch that it could not make.
	r.git.DropRemains(how.startedAt, "refs/heads/"+rec.Workspace.Branch)
	_, err = deleteBranch(ctx, r, rec, rec.Trash.Tip)
	return err
}

// archiveAgain makes sure that what the workspace was kept by is there.
func (e *Engine) archiveAgain(ctx context.Context, r *repo, rec journal.Record, tree *git.Worktree) error {
	pins, err := e.journal.Pins(ctx, r.id, archiveRefs+string(rec.Workspace.ID)+"/")
	if err != nil {
		return err
	}
	var unsynced []string
	if _, err = e.pinned(ctx, r, archiveRef(rec.Workspace.ID)); errors.Is(err, git.ErrNoRef) {
		_, unsynced, err = e.archive(ctx, r, rec, tree)
	} else if err == nil {
		unsynced, err = r.movePins(ctx, pins)
	}
	if err != nil {
		return err
	}
	return fsx.SyncAll(unsynced...)
}

// vacate takes away what a restoration brought or made. What lay at the path
// before stays there.
func (e *Engine) vacate(r *repo, rec journal.Record, tree *git.Worktree, how restoration) error {
	spec, dir := specOf(rec), rec.Trash.Dir
	now, err := fsx.IdentityOf(rec.Workspace.Path)
	isThere := err == nil
	switch {
	case isThere && now == how.before && (now == fsx.Identity(rec.Identity) || r.trees.IsBorn(spec)):
		return e.stowAdmin(r, rec, tree)
	case isThere && now == fsx.Identity(rec.Identity):
		return r.trees.Stow(spec, dir)
	case isThere && dir != "": // it was checked out anew, around what was stowed
		if err := e.stowAdmin(r, rec, tree); err != nil {
			return err
		}
		return r.trees.Discard(spec)
	case dir == "":
		return r.trees.Discard(spec)
	}
	err = e.stowAdmin(r, rec, tree)
	if err == nil && !fsx.IsThere(filepath.Join(dir, "tree")) {
		err = r.trees.DiscardRest(spec)
	}
	return err // the checkout, if there is one, has not left the trash
}

// stowAdmin moves the registration back to the trash, without the directory. One
// that was made for a workspace which has nothing in the trash goes.
func (e *Engine) stowAdmin(r *repo, rec journal.Record, tree *git.Worktree) error {
	if !fsx.IsThere(tree.Admin) {
		return nil
	}
	if rec.Trash.Dir == "" {
		return r.trees.DiscardRest(specOf(rec))
	}
	if err := dropStowedAdmin(rec.Trash); err != nil {
		return err
	}
	return tree.Deregister(filepath.Join(rec.Trash.Dir, "admin"))
}

// dropStowedAdmin deletes the registration in the trash, which has a successor.
func dropStowedAdmin(t *journal.Trash) error {
	dir, err := openTrashDir(t)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.RemoveAll("admin")
}
