package trash

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/workspace"
)

// FindTrashed finds a removed workspace that can be restored, by its ID or its name. Of
// several with that name it returns the one removed last. It fails with WorktreeNotFound
// if there is none.
func (svc *Trash) FindTrashed(ctx context.Context, r *project.Project, ref string) (journal.Record, error) {
	list, err := svc.Removed(ctx, r, ref)
	if err != nil {
		return journal.Record{}, err
	}
	if list = project.OnlyTrashed(list); len(list) > 0 {
		return list[0], nil
	}
	_, name := croft.CutRef(ref)
	if live, err := svc.Journal.LiveByName(ctx, r.ID, name); err == nil {
		if err := svc.missingError(ctx, r, live); err != nil {
			return journal.Record{}, err
		}
		return journal.Record{}, &croft.Error{
			Code: croft.WorktreeNotFound, Workspace: live.Workspace.Name, Message: "the workspace is there already", Details: live.Workspace.Path,
			Hint: "croft show " + shellword.Quote(live.Workspace.Name),
		}
	}
	return journal.Record{}, &croft.Error{
		Code: croft.WorktreeNotFound, Message: fmt.Sprintf("nothing in the trash is called %q", ref), Hint: "croft trash",
	}
}

// missingError says of a live workspace whose directory is not there what brings it back, and is nil for others.
func (svc *Trash) missingError(ctx context.Context, r *project.Project, rec journal.Record) error {
	if r.Git == nil || rec.Workspace.Mode == croft.ModeLegacy || r.Trees.Health(project.SpecOf(rec)) != checkout.Missing {
		return nil
	}
	if to := r.FindMoved(ctx, []journal.Record{rec})[0]; to != "" {
		return r.BrokenNowError(ctx, rec, checkout.Missing)
	}
	err, name := croft.AsError("restore", project.BrokenError(rec, checkout.Missing)), shellword.Quote(rec.Workspace.Name)
	err.Hint = "croft remove --force " + name
	err.Details += "\nIf it was moved, bring it back; if it was deleted, croft restore " + name + " brings back what git has of it, after " + err.Hint
	return err
}

// RestoreOne records a restoration in the journal and applies it. Once it is in the
// journal, the end of ctx does not stop it. If it fails it is rolled back, and the
// workspace stays in the trash; if that fails too, recovery continues. It is no error if
// another process has restored the workspace.
func (svc *Trash) RestoreOne(ctx context.Context, r *project.Project, rec journal.Record, mode croft.RestoreMode, a project.Act) error {
	op, err := svc.Begin(ctx, a, "restore", r)
	if err != nil {
		return err
	}
	defer op.Close()
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	if err := op.Write(ctx, nil, nil); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := failpoint.Hit("restore.journalled"); err != nil {
		return op.EndFailed(ctx, err)
	}
	return svc.applyRestoration(ctx, r, op, rec, mode)
}

// applyRestoration performs the restoration that op records in the journal. If op was
// begun by a process that died, any step may already be done.
func (svc *Trash) applyRestoration(ctx context.Context, r *project.Project, op *oplog.Op, rec journal.Record, mode croft.RestoreMode) error {
	l, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	if rec, err = svc.Journal.Record(ctx, rec.Workspace.ID); err != nil {
		return err
	}
	if rec.Workspace.State != croft.Trashed { // another process was faster
		return op.EndDone(ctx)
	}
	begun := op.IsRecovered() // by the process that died
	if err := svc.locateTrashed(ctx, r, &rec, mode); err != nil {
		return op.EndFailed(ctx, err)
	}
	how := restoration{startedAt: op.StartedAt}
	how.before, _ = fsx.IdentityOf(rec.Workspace.Path)
	_, err = r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch)
	how.madeBranch = errors.Is(err, refs.ErrNoRef) || begun && rec.Trash.BranchGone
	if err = svc.requireVacant(ctx, r, rec); err == nil {
		begun = true
		if err = svc.restoreWorkspace(ctx, r, op, &rec); err == nil {
			err = svc.reclaimPorts(ctx, r, &rec)
		}
	}
	trashed := rec
	fail := func(err error) error {
		if begun {
			if back := svc.undoRestoration(ctx, r, trashed, how); back != nil {
				return errors.Join(err, back) // the journal still says what was begun
			}
		}
		return op.EndFailed(ctx, err)
	}
	if err != nil {
		return fail(err)
	}
	rec.Workspace.State = croft.Ready
	rec.Identity = string(r.Trees.At(project.SpecOf(rec)).Made())
	rec.Wake(proc.Here().Boot)
	if rec.Workspace.MergeStatus == croft.MergeDiscarded { // a discarded workspace that is restored is wanted again
		rec.Workspace.MergeStatus = croft.MergePending // for records that do not have the status before the discard
		if rec.Undiscarded != nil {
			rec.Workspace.MergeStatus = *rec.Undiscarded
		}
	}
	rec.Undiscarded = nil
	trash := rec.Trash
	rec.Trash, rec.Seen = nil, journal.Seen{Head: trash.Tip}
	err = svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(svc.Ports.RequireOwnPorts(tx, rec), tx.Settle(rec.Workspace.ID), tx.Emit(svc.WorkspaceEvent(croft.EventWorkspaceRestored, rec)), tx.End(op.ID, journal.OpDone, "", svc.Now()))
	})
	if err != nil {
		// A creation may have taken the name or the path: it does so in the journal, without the lock.
		if taken := svc.requireUnclaimed(ctx, r, trashed); taken != nil {
			return fail(taken)
		}
		return err
	}
	clearTrashDir(r, trash)
	_ = svc.DeleteWork(ctx, r, rec.Workspace.ID) // else the next gc does it
	return nil
}

// reclaimPorts gives a workspace its ports again, or others, once its directory is restored.
func (svc *Trash) reclaimPorts(ctx context.Context, r *project.Project, rec *journal.Record) error {
	back := *rec
	back.Identity = string(r.Trees.At(project.SpecOf(*rec)).Made())
	err := svc.Ports.ReclaimPorts(ctx, r, &back)
	rec.Workspace.Ports, rec.Env = back.Workspace.Ports, back.Env
	return err
}

// requireVacant refuses a restoration if the name, the path or the branch of the workspace
// is taken.
func (svc *Trash) requireVacant(ctx context.Context, r *project.Project, rec journal.Record) error {
	w := rec.Workspace
	if err := svc.requireUnclaimed(ctx, r, rec); err != nil {
		return err
	}
	if !isPathFree(r, rec) {
		return pathTakenError(r, rec)
	}
	if err := requireOwnRegistration(r, rec); err != nil {
		return err
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+w.Branch)
	switch {
	case w.Branch == "":
		return nil
	case errors.Is(err, refs.ErrNoRef):
		by, err := r.Git.ConflictingBranch(ctx, w.Branch)
		if err != nil || by == "" {
			return err
		}
		return svc.Workspaces.RestoreBlockedError(ctx, r, workspace.Blocked{Workspace: w.Name, Branch: w.Branch, By: by})
	case err != nil:
		return err
	case tip != rec.Trash.Tip && rec.Trash.Tip != "":
		message := fmt.Sprintf("branch %q has moved since; the files are those of %.7s", w.Branch, rec.Trash.Tip)
		if rec.Trash.BranchGone {
			message = fmt.Sprintf("branch %q is another one now", w.Branch)
		}
		return &croft.Error{
			Code: croft.BranchExists, Message: message, Details: tip,
			Hint: fmt.Sprintf("git branch -m %s %s, then restore again", shellword.Quote(w.Branch), shellword.Quote(w.Branch+"-2")),
		}
	}
	if used := r.Git.CheckedOut(w.Branch, r.Trees.At(project.SpecOf(rec)).Admin); len(used) > 0 {
		return &croft.Error{
			Code: croft.BranchInUse, Message: fmt.Sprintf("branch %q is checked out elsewhere", w.Branch), Details: used[0], Hint: "git worktree list",
		}
	}
	return nil
}

// requireUnclaimed refuses a restoration if another workspace has the name or the path, without regard to case.
func (svc *Trash) requireUnclaimed(ctx context.Context, r *project.Project, rec journal.Record) error {
	w, what := rec.Workspace, "name"
	other, err := svc.Journal.LiveByName(ctx, r.ID, w.Name)
	if errors.Is(err, journal.ErrNotFound) && w.Mode != croft.ModeLegacy {
		what = "path"
		other, err = svc.Journal.LiveAtPath(ctx, w.Path)
	}
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return &croft.Error{
		Code: croft.WorktreeExists, Message: fmt.Sprintf("workspace %q has its %s now", other.Workspace.Name, what), Details: other.Workspace.Path,
		Hint: "croft remove " + shellword.Quote(other.Workspace.Name) + " && croft restore " + string(w.ID),
	}
}

// requireOwnRegistration refuses to restore an adopted workspace whose registration's name another
// worktree has by now: git gave it the name, after its directory.
func requireOwnRegistration(r *project.Project, rec journal.Record) error {
	tree := r.Trees.At(project.SpecOf(rec))
	if !rec.Workspace.IsAdopted || !fsx.IsThere(tree.Admin) || tree.Names(rec.Workspace.Path) {
		return nil
	}
	return &croft.Error{
		Code: croft.WorktreeExists, Message: fmt.Sprintf("another worktree is registered as %s now, the name of this one", rec.Admin),
		Details: tree.NamedPath(), Hint: "git worktree list; once that one is removed, restore again",
	}
}

// restoreWorkspace restores the branch, the registration and the files of a removed
// workspace, and deletes the pin that kept its commits.
func (svc *Trash) restoreWorkspace(ctx context.Context, r *project.Project, op *oplog.Op, rec *journal.Record) error {
	w := rec.Workspace
	updates := []refs.Update{}
	add := func(ref, oid string) {
		if _, err := r.Git.ReadRef(ctx, ref); errors.Is(err, refs.ErrNoRef) && oid != "" {
			updates = append(updates, refs.Update{Ref: ref, New: oid})
		}
	}
	add(project.BaseRef(w.ID), w.Base)
	if w.Branch != "" {
		add("refs/heads/"+w.Branch, rec.Trash.Tip)
	}
	if err := r.Git.UpdateRefs(ctx, updates...); err != nil {
		return err
	}
	if err := failpoint.Hit("restore.refs"); err != nil {
		return err
	}
	spec := project.SpecOf(*rec)
	spec.Inherit = op.InheritedFiles()
	err := checkout.ErrGone
	if rec.Trash.Dir != "" || fsx.Identity(rec.Identity).IsAt(w.Path) {
		err = r.Trees.MoveBack(spec, rec.Trash.Dir)
	}
	if errors.Is(err, checkout.ErrGone) {
		err = svc.rebuildDirectory(ctx, r, rec, spec)
	}
	if err != nil {
		return err
	}
	if err := failpoint.Hit("restore.unstowed"); err != nil {
		return err
	}
	if err := r.Trees.At(spec).Sync(); err != nil {
		return err
	}
	if err := r.Trees.Release(spec); err != nil {
		return err
	}
	if err := r.PullIsolated(ctx, spec); err != nil {
		return err
	}
	// From here on branch and registration hold the commits.
	return svc.Removals.UnpinArchive(ctx, r, w.ID, rec.Trash.Tip)
}

// placeRoleFiles copies the files of its role into a workspace that was checked out anew
// and had role files before. It does nothing if the role no longer exists. The caller
// holds the repository's lock.
func (svc *Trash) placeRoleFiles(ctx context.Context, r *project.Project, rec *journal.Record) error {
	if rec.Workspace.Role == "" || len(rec.RoleFiles) == 0 {
		return nil
	}
	role, err := workspace.FindRole(r, rec.Workspace.Role)
	if errors.Is(err, croft.RoleNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	untracked, err := svc.Workspaces.PlaceRole(ctx, r, rec, role, provision.Fresh)
	if err != nil || len(untracked) == 0 {
		return err
	}
	return svc.Workspaces.HideRoles(ctx, r, *rec)
}

// clearTrashDir removes the trash directory of a restored workspace, if nothing but a
// registration is left in it.
func clearTrashDir(r *project.Project, t *journal.Trash) {
	if t.Dir == "" {
		return
	}
	if dir, err := project.OpenTrashDir(t); err == nil {
		if !dir.Has("tree") {
			_ = dir.RemoveAll("admin")
		}
		_ = dir.Close()
		project.RemoveEmpty(t.Dir)
	}
	if !fsx.IsThere(t.Dir) {
		_ = r.TrashDirLedger().Delete(filepath.Base(t.Dir))
	}
	project.RemoveEmpty(filepath.Dir(t.Dir))
}

// RecoverRestore finishes a restoration whose process died, or rolls it back if it is
// refused by now; that is no error. If the repository is gone, the operation is ended as
// undone.
func (svc *Trash) RecoverRestore(ctx context.Context, r *project.Project, op *oplog.Op) error {
	for _, id := range op.Workspaces {
		rec, err := svc.Journal.Record(ctx, id)
		if err != nil {
			return err
		}
		if r.Git == nil {
			return op.EndUndone(ctx, "the repository is gone")
		}
		r.Git.SweepRefLocks(op.StartedAt, project.BaseRef(id), project.HeldRef(id), project.ArchiveRef(id), project.ArchiveBranchRef(id), project.ArchiveStateRef(id), project.ArchiveOwnRef(id), project.ArchiveWorkRef(id), "refs/heads/"+rec.Workspace.Branch)
		err = svc.applyRestoration(ctx, r, op, rec, croft.RestoreWhole)
		if _, typed := errors.AsType[*croft.Error](err); err != nil && !typed {
			return err
		}
	}
	return nil
}
