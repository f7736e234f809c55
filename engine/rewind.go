package engine

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
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/snapshot"
)

// rewinding is what a rewind is going to do: bring a workspace from one
// snapshot, which is taken for that, to another.
type rewinding struct {
	From croft.Snapshot `json:"from"`
	To   croft.Snapshot `json:"to"`
	// Trashed says that the workspace is in the trash, and is restored first.
	// Until that is done there is no From.
	Trashed bool `json:"trashed,omitempty"`

	// saved is what was taken before an interrupted one goes on.
	saved *croft.Snapshot
	// seen is what the workspace held when it was last saved.
	seen *snapshot.Seen
	// undoes says why the operation counts as undone once this is carried out.
	// Empty: it counts as done.
	undoes string
}

// rewind brings a workspace back to a snapshot, in place. One that is in the
// trash is restored first; what it is now is saved first. What fails is taken
// back, also to the trash.
func (e *Engine) rewind(ctx context.Context, r *repo, to croft.Snapshot, a act) (err error) {
	rec, err := e.journal.Record(ctx, to.Workspace)
	if errors.Is(err, journal.ErrNotFound) {
		return notFound("restore", to.Name)
	}
	if err != nil {
		return err
	}
	// What is saved now must be what is rewound, so nobody else rewinds it in
	// between.
	l, err := e.claimRewind(ctx, rec)
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}()
	if rec.Workspace.State == croft.Trashed {
		return e.rewindTrashed(ctx, r, rec, to, a)
	}
	defer func() {
		if !errors.Is(err, oplog.ErrUnsettled) {
			err = e.vanished(ctx, rec, err)
		}
	}()
	if err := errors.Join(e.guard(ctx, r, rec, croft.RemoveForce), r.guardLock(rec)); err != nil {
		return err
	}
	if err := e.guardBranch(ctx, r, rec, to); err != nil {
		return err
	}
	how := rewinding{To: to}
	if err := e.saveFrom(ctx, r, rec, &how); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.saved"); err != nil {
		return err
	}
	op, err := e.beginRewind(ctx, r, rec, how, a)
	if err != nil {
		return err
	}
	defer op.Close()
	ctx = context.WithoutCancel(ctx)
	if err := failpoint.Hit("rewind.journalled"); err != nil {
		return op.Failed(ctx, err)
	}
	return e.carryOrTakeBack(ctx, r, op, how)
}

// beginRewind writes a rewind down.
func (e *Engine) beginRewind(ctx context.Context, r *repo, rec journal.Record, how rewinding, a act) (*oplog.Op, error) {
	op, err := e.begin(a, "rewind", r)
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
			return notFound("restore", rec.Workspace.Name)
		}
		return requireNoneUnderway(tx, rec)
	})
	if err != nil {
		op.Close()
		return nil, err
	}
	return op, nil
}

// errAway says that a directory is not there now. It may come back.
var errAway = errors.New("its directory is not there now")

// carryOrTakeBack carries a rewind out, or goes back to where it began.
func (e *Engine) carryOrTakeBack(ctx context.Context, r *repo, op *oplog.Op, how rewinding) error {
	err := e.carryRewind(ctx, r, op, how)
	if err == nil {
		return nil
	}
	if errors.Is(err, snapshot.ErrAsWas) {
		return errors.Join(err, e.leaveRewind(ctx, op, how, err))
	}
	if isKept(err) {
		return err // it is done
	}
	// Without a look at what it holds now it goes back all the same.
	way := rewinding{From: how.To, To: how.From, undoes: err.Error()}
	_ = e.saveFirst(ctx, r, &way)
	if back := e.carryRewind(ctx, r, op, way); back != nil && !isKept(back) {
		return errors.Join(oplog.ErrUnsettled, err, back) // the journal still says what was begun
	}
	return err
}

// rewindTrashed restores a workspace from the trash and rewinds it. The intent
// covers both: a process that dies in between leaves neither half.
func (e *Engine) rewindTrashed(ctx context.Context, r *repo, rec journal.Record, to croft.Snapshot, a act) error {
	if _, err := readableHead(ctx, r, to); err != nil {
		return err
	}
	how := rewinding{To: to, Trashed: true}
	op, err := e.beginRewind(ctx, r, rec, how, a)
	if err != nil {
		return err
	}
	defer op.Close()
	ctx = context.WithoutCancel(ctx)
	if err = failpoint.Hit("rewind.journalled"); err == nil {
		err = e.restoreOne(ctx, r, rec, croft.RestoreWhole, a)
	}
	if err != nil {
		return op.Failed(ctx, err)
	}
	if err = failpoint.Hit("rewind.restored"); err == nil {
		err = e.rewindRestored(ctx, r, op, how)
	}
	if err == nil || errors.Is(err, oplog.ErrUnsettled) {
		return err
	}
	return cmp.Or(e.stowRewound(ctx, r, op, rec.Trash, err), err)
}

// rewindRestored rewinds a workspace that came from the trash for that.
func (e *Engine) rewindRestored(ctx context.Context, r *repo, op *oplog.Op, how rewinding) error {
	rec, err := e.journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	// Not guard, which would wait for this very rewind.
	if err := errors.Join(e.guardNow(ctx, r, rec, croft.RemoveForce), r.guardLock(rec)); err != nil {
		return err
	}
	if err := e.guardBranch(ctx, r, rec, how.To); err != nil {
		return err
	}
	if err := e.saveFrom(ctx, r, rec, &how); err != nil {
		return err
	}
	if err := op.Amend(ctx, how, nil); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.amended"); err != nil {
		return err
	}
	return e.carryOrTakeBack(ctx, r, op, how)
}

// stowRewound puts a workspace back into the trash that came from there for a
// rewind which failed, and writes down that nothing happened. One that cannot
// go, because somebody is in it already, stays, and the error says so.
func (e *Engine) stowRewound(ctx context.Context, r *repo, op *oplog.Op, was *journal.Trash, cause error) error {
	rec, err := e.journal.Record(ctx, op.Workspaces[0])
	if err == nil && rec.Workspace.State != croft.Trashed {
		mode := croft.BranchKeep
		if was == nil || was.BranchGone {
			mode = croft.BranchDelete
		}
		err = e.stowInstead(ctx, r, op, rec, removal{Event: croft.EventWorkspaceRemoved, Branch: mode}, cause)
	}
	if err != nil {
		stays := &croft.Error{
			Code: croft.CleanupFailed, Message: "the workspace was restored from the trash and not brought back to the snapshot",
			Details: err.Error(), Hint: "croft remove " + rec.Workspace.Name, Err: cause,
		}
		return errors.Join(stays, op.Undone(ctx, cause.Error()))
	}
	ops, err := e.journal.Act(ctx, op.Act)
	if err != nil {
		return err
	}
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, o := range ops { // there and back is nothing that could be undone
			if o.StartedAt.Before(op.StartedAt) || !slices.Equal(o.Workspaces, op.Workspaces) {
				continue
			}
			if err := tx.End(o.ID, journal.OpUndone, cause.Error(), e.now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// stowInstead replaces a rewind that failed by a removal, in one step, and
// carries that out.
func (e *Engine) stowInstead(ctx context.Context, r *repo, op *oplog.Op, rec journal.Record, how removal, cause error) error {
	err := e.guardNow(ctx, r, rec, croft.RemoveForce)
	if err != nil {
		return err
	}
	if how.Dir, err = trashDir(r, rec); err != nil {
		return err
	}
	instead, err := e.begin(act{id: op.Act, undoes: op.Undoes, actor: op.Actor}, "remove", r)
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
		_, err = e.carryRemoval(ctx, r, instead, rec, how)
	}
	return err
}

// claimRewind lets one process at a time rewind a workspace.
func (e *Engine) claimRewind(ctx context.Context, rec journal.Record) (*flock.Lock, error) {
	path := e.ops.LockPath("rewind-" + string(rec.Workspace.ID))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l, err := flock.Try(path)
	if errors.Is(err, flock.ErrHeld) {
		return nil, beingRemoved()
	}
	if err != nil {
		return nil, err
	}
	if !l.IsAt(path) { // whoever had it has just removed it
		_ = l.Unlock()
		return nil, beingRemoved()
	}
	err = e.journal.Update(ctx, func(tx *journal.Tx) error { return requireNoneUnderway(tx, rec) })
	if err != nil {
		_ = l.Unlock()
		return nil, err
	}
	return l, nil
}

// beingRemoved says that another operation has a workspace.
func beingRemoved() error {
	return &croft.Error{Code: croft.WorkspaceBusy, Message: "the workspace is being removed or brought back", Hint: "croft history"}
}

// requireNoneUnderway fails if an operation on the workspace has not ended that moves
// or changes its files.
func requireNoneUnderway(tx *journal.Tx, rec journal.Record) error {
	for _, kind := range []string{"rewind", "remove", "restore", "resolve"} {
		if _, err := tx.RunningOn(kind, rec.Workspace.ID); !errors.Is(err, journal.ErrNotFound) {
			return cmp.Or(err, beingRemoved())
		}
	}
	return nil
}

// carryRewind does what the journal says, again if it was begun before.
func (e *Engine) carryRewind(ctx context.Context, r *repo, op *oplog.Op, how rewinding) error {
	rec, err := e.journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	h := r.trees.Health(specOf(rec))
	if h == checkout.Missing {
		return errAway
	}
	if h != checkout.Intact {
		rec.Workspace.State = croft.Ready // what is left of it is for the doctor to judge
		return e.journal.Update(ctx, func(tx *journal.Tx) error {
			return errors.Join(tx.Put(rec), tx.End(op.ID, journal.OpUndone, "the workspace is "+string(h), e.now()))
		})
	}
	// Until it is done the workspace is nobody's to commit from. Its copy in the
	// repository does not say so: without the database, a workspace that is being
	// made is taken back, and this one holds work.
	rec.Workspace.State = croft.Creating
	if err := e.journal.Update(ctx, func(tx *journal.Tx) error { return tx.Put(rec) }); err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.begun"); err != nil {
		return err
	}
	kept, err := e.rewindFiles(ctx, r, op, rec, how)
	if err != nil {
		return err
	}
	if err := failpoint.Hit("rewind.files"); err != nil {
		return err
	}
	rec.Workspace.State = croft.Ready
	state := journal.OpDone
	if how.undoes != "" {
		state = journal.OpUndone
	}
	return cmp.Or(e.saveRecord(ctx, &rec, func(tx *journal.Tx) error {
		return errors.Join(tx.Emit(e.event(croft.EventWorkspaceRestored, rec)), tx.End(op.ID, state, how.undoes, e.now()))
	}), kept)
}

// guardBranch refuses a rewind that would move another branch than the
// workspace's own, or one whose tip nothing else keeps: the snapshot that is taken
// before keeps what is checked out now. A HEAD on no branch, as in a rebase, moves
// none.
func (e *Engine) guardBranch(ctx context.Context, r *repo, rec journal.Record, to croft.Snapshot) error {
	head, err := readableHead(ctx, r, to)
	if err != nil {
		return err
	}
	if err := requireSame(rec, head); err != nil {
		return err
	}
	err = r.trees.At(specOf(rec)).RequireBranch(ctx, rec.Workspace.Branch)
	if wrong, ok := errors.AsType[*git.BranchError](err); !ok || wrong.On != "" {
		return explainBranch(rec, err)
	}
	if head.Branch == "" {
		return nil
	}
	if used := r.git.CheckedOut(head.Branch, r.trees.At(specOf(rec)).Admin); len(used) > 0 {
		return branchInUse(head.Branch, used[0])
	}
	tip, err := r.git.ReadRef(ctx, "refs/heads/"+head.Branch)
	switch {
	case errors.Is(err, git.ErrNoRef):
		return nil
	case err != nil || tip == head.OID:
		return err
	}
	return &croft.Error{
		Code: croft.BranchExists, Message: fmt.Sprintf("branch %q has moved since, and the workspace is not on it", head.Branch), Details: tip,
		Hint: "git switch " + head.Branch,
	}
}

// requireSame refuses a snapshot that had another branch checked out than the
// workspace's own.
func requireSame(rec journal.Record, head snapshot.Head) error {
	if head.Branch == "" || head.Branch == rec.Workspace.Branch {
		return nil
	}
	return &croft.Error{
		Code: croft.WrongBranch, Workspace: rec.Workspace.Name, Details: rec.Workspace.Path,
		Message: fmt.Sprintf("the snapshot was taken on branch %q, and the workspace's branch is %q", head.Branch, rec.Workspace.Branch),
		Hint:    "croft snapshot --list " + rec.Workspace.Name,
	}
}

// saveFrom saves what a workspace holds before it is rewound. What is saved can
// be gone back to: it is on the workspace's branch or on none.
func (e *Engine) saveFrom(ctx context.Context, r *repo, rec journal.Record, how *rewinding) error {
	from, err := e.saveWith(ctx, r, rec, saving{before: how.To.Commit, seen: &how.seen})
	if err != nil {
		return err
	}
	how.From = *from
	head, err := readableHead(ctx, r, *from)
	if err == nil {
		err = requireSame(rec, head)
	}
	return err
}

// readableHead is what a snapshot had checked out, if it can still be read.
func readableHead(ctx context.Context, r *repo, s croft.Snapshot) (snapshot.Head, error) {
	head, err := snapshot.HeadOf(ctx, r.git, s.Commit)
	if errors.Is(err, snapshot.ErrFormat) {
		err = &croft.Error{Code: croft.WorktreeNotFound, Message: "the snapshot cannot be read any more", Details: err.Error(), Hint: "croft snapshot --list"}
	}
	return head, err
}

func branchInUse(branch, where string) error {
	return &croft.Error{
		Code: croft.BranchInUse, Message: fmt.Sprintf("branch %q is checked out elsewhere", branch), Details: where, Hint: "git worktree list",
	}
}

// moveBranch puts the branch that the snapshot had checked out where it was.
// Where it is now is kept by the snapshot that was taken before.
func (e *Engine) moveBranch(ctx context.Context, r *repo, rec journal.Record, tree *git.Worktree, how rewinding) error {
	head, err := snapshot.HeadOf(ctx, r.git, how.To.Commit)
	if err != nil || head.Branch == "" {
		return err
	}
	if err := requireSame(rec, head); err != nil {
		return err
	}
	if used := r.git.CheckedOut(head.Branch, tree.Admin); len(used) > 0 {
		return branchInUse(head.Branch, used[0])
	}
	ref := "refs/heads/" + head.Branch
	now, err := r.git.ReadRef(ctx, ref)
	switch {
	case errors.Is(err, git.ErrNoRef) && head.OID == "": // it had no commit then, and has none now
		return nil
	case errors.Is(err, git.ErrNoRef):
		return r.git.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: head.OID})
	case err != nil || now == head.OID:
		return err
	}
	return r.git.UpdateRefs(ctx, git.RefUpdate{Ref: ref, New: head.OID, Old: now})
}
