package rewind

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/shellword"
	"github.com/croft-sh/croft/internal/snapshot"
	"github.com/croft-sh/croft/internal/snapshot/restore"
)

// Spec specifies a rewind: it changes a workspace from one snapshot, taken for that
// purpose, to another.
type Spec struct {
	From croft.Snapshot `json:"from"`
	To   croft.Snapshot `json:"to"`
	// Trashed says that the workspace is in the trash, and is restored first.
	// Until that is done there is no From.
	Trashed bool `json:"trashed,omitempty"`

	// Saved is the snapshot that was taken before an interrupted rewind continues.
	Saved *croft.Snapshot `json:"-"`
	// seen has the files of the workspace as they were when it was last saved.
	seen *snapshot.Seen
	// Undoes says why the operation counts as undone once this is carried out.
	// Empty: it counts as done.
	Undoes string `json:"-"`
}

// Rewind changes a workspace back to a snapshot, in place. It saves the workspace first,
// and restores one that is in the trash. If it fails it is rolled back, also to the trash.
func (svc *Rewinds) Rewind(ctx context.Context, r *project.Project, to croft.Snapshot, a project.Act) (err error) {
	rec, err := svc.Journal.Record(ctx, to.Workspace)
	if errors.Is(err, journal.ErrNotFound) {
		return project.WorkspaceNotFoundError("restore", to.WorkspaceName)
	}
	if err != nil {
		return err
	}
	// No other process may rewind it between the snapshot and the rewind.
	l, err := svc.claimRewind(ctx, rec)
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}()
	if rec.Workspace.State == croft.Trashed {
		return svc.rewindTrashed(ctx, r, rec, to, a)
	}
	defer func() {
		if !errors.Is(err, oplog.ErrUnsettled) {
			err = svc.VanishedError(ctx, rec, err)
		}
	}()
	if err := errors.Join(svc.Removals.Guard(ctx, r, rec, croft.RemoveForce), r.GuardLock(rec)); err != nil {
		return err
	}
	if err := svc.guardBranch(ctx, r, rec, to); err != nil {
		return err
	}
	how := Spec{To: to}
	if err := svc.saveFrom(ctx, r, rec, &how); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.saved"); err != nil {
		return err
	}
	op, err := svc.beginRewind(ctx, r, rec, how, a)
	if err != nil {
		return err
	}
	defer op.Close()
	ctx = context.WithoutCancel(ctx)
	if err := failpoint.Hit("rewind.journalled"); err != nil {
		return op.EndFailed(ctx, err)
	}
	return svc.applyOrRollBack(ctx, r, op, how)
}

// beginRewind records a rewind in the journal.
func (svc *Rewinds) beginRewind(ctx context.Context, r *project.Project, rec journal.Record, how Spec, a project.Act) (*oplog.Op, error) {
	op, err := svc.Begin(ctx, a, "rewind", r)
	if err != nil {
		return nil, err
	}
	op.Workspaces, op.Names = []croft.ID{rec.Workspace.ID}, []string{rec.Workspace.Name}
	err = op.Write(ctx, how, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		if !how.Trashed && now.Workspace.State == croft.Trashed {
			return project.WorkspaceNotFoundError("restore", rec.Workspace.Name)
		}
		return requireNoneUnderway(tx, rec)
	})
	if err != nil {
		op.Close()
		return nil, err
	}
	return op, nil
}

// ErrAway says that the directory of a workspace is absent now. It may come back.
var ErrAway = errors.New("its directory is not there now")

// applyOrRollBack applies a rewind, or goes back to the snapshot that was taken before it.
func (svc *Rewinds) applyOrRollBack(ctx context.Context, r *project.Project, op *oplog.Op, how Spec) error {
	err := svc.applyRewind(ctx, r, op, how)
	if err == nil {
		return nil
	}
	if errors.Is(err, restore.ErrAsWas) {
		return errors.Join(err, svc.endUndone(ctx, op, how, err))
	}
	if isKept(err) {
		return err // it is done
	}
	// It is rolled back even if what it has now cannot be saved.
	way := Spec{From: how.To, To: how.From, Undoes: err.Error()}
	_ = svc.SaveFirst(ctx, r, &way)
	if back := svc.applyRewind(ctx, r, op, way); back != nil && !isKept(back) {
		return errors.Join(oplog.ErrUnsettled, err, back) // the journal still says what was begun
	}
	return err
}

// rewindTrashed restores a workspace from the trash and rewinds it. One operation covers
// both, so that recovery leaves neither half.
func (svc *Rewinds) rewindTrashed(ctx context.Context, r *project.Project, rec journal.Record, to croft.Snapshot, a project.Act) error {
	if _, err := ReadableHead(ctx, r, to); err != nil {
		return err
	}
	how := Spec{To: to, Trashed: true}
	op, err := svc.beginRewind(ctx, r, rec, how, a)
	if err != nil {
		return err
	}
	defer op.Close()
	ctx = context.WithoutCancel(ctx)
	if err = failpoint.Hit("rewind.journalled"); err == nil {
		err = svc.Trash.RestoreOne(ctx, r, rec, croft.RestoreWhole, a)
	}
	if err != nil {
		return op.EndFailed(ctx, err)
	}
	if err = failpoint.Hit("rewind.restored"); err == nil {
		err = svc.rewindRestored(ctx, r, op, how)
	}
	if err == nil || errors.Is(err, oplog.ErrUnsettled) {
		return err
	}
	return cmp.Or(svc.trashRewound(ctx, r, op, rec.Trash, err), err)
}

// rewindRestored rewinds a workspace that rewindTrashed has restored.
func (svc *Rewinds) rewindRestored(ctx context.Context, r *project.Project, op *oplog.Op, how Spec) error {
	rec, err := svc.Journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	// Not Removals.Guard, which would wait for this very rewind.
	if err := errors.Join(svc.Removals.GuardNow(ctx, r, rec, croft.RemoveForce), r.GuardLock(rec)); err != nil {
		return err
	}
	if err := svc.guardBranch(ctx, r, rec, how.To); err != nil {
		return err
	}
	if err := svc.saveFrom(ctx, r, rec, &how); err != nil {
		return err
	}
	if err := op.Amend(ctx, how, nil); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.amended"); err != nil {
		return err
	}
	return svc.applyOrRollBack(ctx, r, op, how)
}

// trashRewound moves a workspace that was restored for a rewind back to the trash after
// the rewind failed, and ends the operations as undone. If it cannot be removed, for
// example because a process is in it, it stays and the error says so.
func (svc *Rewinds) trashRewound(ctx context.Context, r *project.Project, op *oplog.Op, was *journal.Trash, cause error) error {
	rec, err := svc.Journal.Record(ctx, op.Workspaces[0])
	if err == nil && rec.Workspace.State != croft.Trashed {
		mode := croft.BranchKeep
		if was == nil || was.BranchGone {
			mode = croft.BranchDelete
		}
		err = svc.replaceByRemoval(ctx, r, op, rec, removal.Spec{Event: croft.EventWorkspaceRemoved, Branch: mode}, cause)
	}
	if err != nil {
		stays := &croft.Error{
			Code: croft.CleanupFailed, Message: "the workspace was restored from the trash and not brought back to the snapshot",
			Details: err.Error(), Hint: "croft remove " + shellword.Quote(rec.Workspace.Name), Err: cause,
		}
		return errors.Join(stays, op.EndUndone(ctx, cause.Error()))
	}
	ops, err := svc.Journal.Act(ctx, op.Act)
	if err != nil {
		return err
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, o := range ops { // restored and removed again: there is nothing to undo
			if o.StartedAt.Before(op.StartedAt) || !slices.Equal(o.Workspaces, op.Workspaces) {
				continue
			}
			if err := tx.End(o.ID, journal.OpUndone, cause.Error(), svc.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// replaceByRemoval ends a failed rewind and begins a removal in one transaction, and
// applies the removal.
func (svc *Rewinds) replaceByRemoval(ctx context.Context, r *project.Project, op *oplog.Op, rec journal.Record, how removal.Spec, cause error) error {
	err := svc.Removals.GuardNow(ctx, r, rec, croft.RemoveForce)
	if err != nil {
		return err
	}
	if how.Dir, err = project.ChooseTrashDir(r, rec); err != nil {
		return err
	}
	instead, err := svc.Begin(ctx, project.Act{ID: op.Act, Undoes: op.Undoes, Actor: op.Actor}, "remove", r)
	if err != nil {
		return err
	}
	defer instead.Close()
	instead.Workspaces, instead.Names = op.Workspaces, op.Names
	err = instead.Write(ctx, how, func(tx *journal.Tx) error { return op.EndIn(tx, journal.OpUndone, cause.Error()) })
	if err == nil {
		err = failpoint.Hit("rewind.instead")
	}
	if err == nil {
		_, err = svc.Removals.ApplyRemoval(ctx, r, instead, rec, how)
	}
	return err
}

// claimRewind takes the lock that lets one process at a time rewind a workspace.
func (svc *Rewinds) claimRewind(ctx context.Context, rec journal.Record) (*flock.Lock, error) {
	path := svc.Ops.LockPath("rewind-" + string(rec.Workspace.ID))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l, err := flock.Try(path)
	if errors.Is(err, flock.ErrHeld) {
		return nil, underwayError()
	}
	if err != nil {
		return nil, err
	}
	if !l.IsAt(path) { // the process that had it has just deleted the file
		_ = l.Unlock()
		return nil, underwayError()
	}
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) error { return requireNoneUnderway(tx, rec) })
	if err != nil {
		_ = l.Unlock()
		return nil, err
	}
	return l, nil
}

// underwayError returns the error for a workspace that another operation works on.
func underwayError() error {
	return &croft.Error{Code: croft.WorkspaceBusy, Message: "the workspace is being removed or brought back", Hint: "croft history"}
}

// requireNoneUnderway fails if another operation that moves or changes the files of the
// workspace has not ended.
func requireNoneUnderway(tx *journal.Tx, rec journal.Record) error {
	for _, kind := range []string{"rewind", "remove", "restore", "resolve"} {
		if _, err := tx.RunningOn(kind, rec.Workspace.ID); !errors.Is(err, journal.ErrNotFound) {
			return cmp.Or(err, underwayError())
		}
	}
	return nil
}

// applyRewind applies the rewind that op records in the journal. It can be repeated.
func (svc *Rewinds) applyRewind(ctx context.Context, r *project.Project, op *oplog.Op, how Spec) error {
	rec, err := svc.Journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	h := r.Trees.Health(project.SpecOf(rec))
	if h == checkout.Missing {
		return ErrAway
	}
	if h != checkout.Intact {
		rec.Workspace.State = croft.Ready // croft doctor tells what is wrong with it
		return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
			return errors.Join(tx.PutRecord(rec), tx.End(op.ID, journal.OpUndone, "the workspace is "+string(h), svc.Now()))
		})
	}
	// Until it is done no command may commit from the workspace.
	rec.Workspace.State = croft.Creating
	if err := svc.Journal.Update(ctx, func(tx *journal.Tx) error { return tx.PutRecord(rec) }); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.begun"); err != nil {
		return err
	}
	kept, err := svc.rewindFiles(ctx, r, op, rec, how)
	if err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.files"); err != nil {
		return err
	}
	rec.Workspace.State = croft.Ready
	state := journal.OpDone
	if how.Undoes != "" {
		state = journal.OpUndone
	}
	return cmp.Or(svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(tx.Emit(svc.WorkspaceEvent(croft.EventWorkspaceRestored, rec)), tx.End(op.ID, state, how.Undoes, svc.Now()))
	}), kept)
}

// guardBranch refuses a rewind that would move another branch than the workspace's own, or
// a branch whose tip no snapshot keeps. A snapshot with a detached HEAD, as in a rebase,
// moves no branch.
func (svc *Rewinds) guardBranch(ctx context.Context, r *project.Project, rec journal.Record, to croft.Snapshot) error {
	head, err := ReadableHead(ctx, r, to)
	if err != nil {
		return err
	}
	if err := requireSameBranch(rec, head); err != nil {
		return err
	}
	err = r.Trees.At(project.SpecOf(rec)).RequireBranch(ctx, rec.Workspace.Branch)
	if wrong, ok := errors.AsType[*git.BranchError](err); !ok || wrong.On != "" {
		return project.ExplainBranch(rec, err)
	}
	if head.Branch == "" {
		return nil
	}
	if used := r.Git.CheckedOut(head.Branch, r.Trees.At(project.SpecOf(rec)).Admin); len(used) > 0 {
		return project.BranchInUseError(head.Branch, used[0])
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+head.Branch)
	switch {
	case errors.Is(err, refs.ErrNoRef):
		return nil
	case err != nil || tip == head.OID:
		return err
	}
	return &croft.Error{
		Code: croft.BranchExists, Message: fmt.Sprintf("branch %q has moved since, and the workspace is not on it", head.Branch), Details: tip,
		Hint: "git switch " + shellword.Quote(head.Branch),
	}
}

// requireSameBranch refuses a snapshot that had another branch checked out than the
// workspace's own.
func requireSameBranch(rec journal.Record, head snapshot.Head) error {
	if head.Branch == "" || head.Branch == rec.Workspace.Branch {
		return nil
	}
	return &croft.Error{
		Code: croft.WrongBranch, Workspace: rec.Workspace.Name, Details: rec.Workspace.Path,
		Message: fmt.Sprintf("the snapshot was taken on branch %q, and the workspace's branch is %q", head.Branch, rec.Workspace.Branch),
		Hint:    "croft snapshot --list " + shellword.Quote(rec.Workspace.Name),
	}
}

// saveFrom saves a workspace before it is rewound, and checks that the rewind can go back
// to that snapshot: it is on the workspace's branch or detached.
func (svc *Rewinds) saveFrom(ctx context.Context, r *project.Project, rec journal.Record, how *Spec) error {
	from, err := svc.saveWith(ctx, r, rec, saving{cause: croft.SnapshotBeforeRestore, before: how.To.Commit, seen: &how.seen})
	if err != nil {
		return err
	}
	how.From = *from
	head, err := ReadableHead(ctx, r, *from)
	if err == nil {
		err = requireSameBranch(rec, head)
	}
	return err
}

// ReadableHead returns the branch and the commit that a snapshot had checked out. It
// fails with WorktreeNotFound if the snapshot cannot be read.
func ReadableHead(ctx context.Context, r *project.Project, s croft.Snapshot) (snapshot.Head, error) {
	head, err := snapshot.HeadOf(ctx, r.Git, s.Commit)
	if errors.Is(err, snapshot.ErrFormat) {
		err = &croft.Error{Code: croft.WorktreeNotFound, Message: "the snapshot cannot be read any more", Details: err.Error(), Hint: "croft snapshot --list"}
	}
	return head, err
}

// moveBranch moves the branch that the snapshot had checked out to the snapshot's commit.
// The snapshot that was taken before the rewind keeps its present tip.
func (svc *Rewinds) moveBranch(ctx context.Context, r *project.Project, rec journal.Record, tree *git.Worktree, how Spec) error {
	head, err := snapshot.HeadOf(ctx, r.Git, how.To.Commit)
	if err != nil || head.Branch == "" {
		return err
	}
	if err := requireSameBranch(rec, head); err != nil {
		return err
	}
	if used := r.Git.CheckedOut(head.Branch, tree.Admin); len(used) > 0 {
		return project.BranchInUseError(head.Branch, used[0])
	}
	ref := "refs/heads/" + head.Branch
	now, err := r.Git.ReadRef(ctx, ref)
	switch {
	case errors.Is(err, refs.ErrNoRef) && head.OID == "": // the branch had no commit in the snapshot, and has none now
		return nil
	case errors.Is(err, refs.ErrNoRef):
		return r.Git.UpdateRefs(ctx, refs.Update{Ref: ref, New: head.OID})
	case err != nil || now == head.OID:
		return err
	}
	return r.Git.UpdateRefs(ctx, refs.Update{Ref: ref, New: head.OID, Old: now})
}
