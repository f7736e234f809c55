package lane

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// publication is the intent to move a target. It is in the journal before the target
// moves, so that recovery knows whether the target moved.
type publication struct {
	Target string   `json:"target"`
	Old    string   `json:"old"`
	New    string   `json:"new"`
	Items  []landed `json:"items"`
	// Lane says how the target had moved outside of its lane, if it had.
	Lane *croft.Lane `json:"lane,omitempty"`
}

// landed is one merge of a publication.
type landed struct {
	Merge  croft.ID      `json:"merge"`
	Commit string        `json:"commit"`
	Before string        `json:"before"`
	Checks []croft.Check `json:"checks,omitempty"`
	Moved  string        `json:"moved,omitempty"` // how the target had moved
	// IsUntaken says of the merge of a workspace in which a revert was resolved that it does not take back
	// what it should.
	IsUntaken bool `json:"untaken,omitempty"`
}

// publishStack moves the target to the top of a stack.
func (svc *Lanes) publishStack(ctx context.Context, r *project.Project, l landing, attempts *mergetree.Session, passed passing) error {
	pub := publication{Target: l.target, Old: l.tip, New: passed.steps[len(passed.steps)-1].Commit}
	if isMoved(l.lane) {
		pub.Lane = &l.lane
	}
	for _, step := range passed.steps {
		pub.Items = append(pub.Items, landed{Merge: step.ID, Commit: step.Commit, Before: step.Parent, Checks: passed.checks, Moved: l.lane.Message})
	}
	if err := svc.noteUntaken(ctx, attempts, l.items, &pub); err != nil {
		return err
	}
	release, err := attempts.Keep(ctx, pub.New)
	if err != nil {
		return err
	}
	defer release()
	if err := failpoint.Hit("publish.kept"); err != nil {
		return err
	}
	if isRejected, err := svc.rehashSteps(ctx, r, passed.steps, l.items); err != nil || isRejected {
		return err
	}
	if err := svc.applyPublication(ctx, r, pub, l.items, passed.book); err != nil {
		return err
	}
	if tip, err := svc.Journal.LaneTip(ctx, r.ID, l.target); err == nil && tip == pub.New {
		passed.cache.Adopt(passed.steps[len(passed.steps)-1].Tree)
	}
	svc.Rules.Follow(ctx, r, attempts, pub.Target, pub.Old, pub.New)
	svc.NoticeOfHook(r)
	return nil
}

// applyPublication records a publication in the journal and applies it. It does nothing if a
// user has held, canceled or replaced one of its merges meanwhile.
func (svc *Lanes) applyPublication(ctx context.Context, r *project.Project, pub publication, items []journal.Merge, book *attempt.Book) error {
	op, err := svc.Begin(ctx, project.NewAct(), "publish", r)
	if err != nil {
		return err
	}
	defer op.Close()
	err = book.WriteIn(func(tell func(*journal.Tx) error) error {
		return op.Write(ctx, pub, func(tx *journal.Tx) error {
			for _, p := range pub.Items {
				m, err := tx.Merge(p.Merge)
				if err != nil {
					return err
				}
				if was := itemOf(items, p.Merge); m.State == croft.MergeDone || m.IsHeld || m.Head != was.Head {
					return errRequeued
				}
				m.Attempt(p.Commit)
				book.Write(&m)
				if err := tx.PutMerge(&m); err != nil {
					return err
				}
			}
			return tell(tx)
		})
	})
	if errors.Is(err, errRequeued) {
		return book.Save(ctx, svc.Journal, nil) // the next batch reads the queue again
	}
	if err != nil {
		return err
	}
	if err := failpoint.Hit("publish.journalled"); err != nil {
		return err
	}
	// From here on it is too late for the caller to cancel.
	ctx = context.WithoutCancel(ctx)
	err = svc.moveTarget(ctx, r, pub, (*git.BranchCheckout).Prepare)
	if err != nil {
		return svc.endUnpublished(ctx, r, op, pub, err)
	}
	if err := failpoint.Hit("publish.moved"); err != nil {
		return err
	}
	return svc.endPublication(ctx, op, pub)
}

// errRequeued says that a user held, canceled or replaced a merge while it was computed.
var errRequeued = errors.New("the queue has changed")

// preparation prepares a checkout of the target for the move: Prepare, or Resume after a
// crash.
type preparation func(h *git.BranchCheckout, ctx context.Context, old, now string) (*git.FastForward, error)

// moveTarget moves the target and updates the checkout that has it checked out, if
// there is one.
func (svc *Lanes) moveTarget(ctx context.Context, r *project.Project, pub publication, prepare preparation) error {
	hosts := r.Git.Hosts(pub.Target)
	if err := requireOneHost(hosts); err != nil {
		return err
	}
	updates := []refs.Update{
		{Ref: "refs/heads/" + pub.Target, New: pub.New, Old: pub.Old},
	}
	if len(hosts) == 0 {
		return r.Git.UpdateRefs(ctx, updates...)
	}
	defer svc.tellKept(hosts[0])
	advance, err := prepare(hosts[0], ctx, pub.Old, pub.New)
	if err != nil {
		return err
	}
	defer advance.Cancel()
	if err := failpoint.Hit("publish.prepared"); err != nil {
		return err
	}
	err = r.Git.UpdateRefsAfter(ctx, func() error {
		if err := failpoint.Hit("publish.locked"); err != nil {
			return err
		}
		if err := advance.Apply(ctx); err != nil {
			return err
		}
		return failpoint.Hit("publish.applied")
	}, updates...)
	if err == nil {
		return nil
	}
	// The checkout goes back if the target stayed where it was.
	if tip, rerr := r.Git.ReadRef(ctx, updates[0].Ref); rerr == nil && tip == pub.Old {
		if left := advance.Undo(err); left != nil {
			return left
		}
	}
	return err
}

// tellKept tells the user of files that have found no place in a checkout again, and that no error names.
func (svc *Lanes) tellKept(h *git.BranchCheckout) {
	for _, notice := range h.TakeNotices() {
		svc.Notice("%s", notice)
	}
}

// endUnpublished ends a publication that failed. If the user's checkout cannot follow, a
// single merge is rejected, and several are requeued to be published one by one. If the
// target moved, the merges are requeued and it returns errTargetMoves. If the target is
// locked, they are rejected. After any other failure it returns the cause.
func (svc *Lanes) endUnpublished(ctx context.Context, r *project.Project, op *oplog.Op, pub publication, cause error) error {
	if err := op.EndUndone(ctx, cause.Error()); err != nil {
		return err
	}
	if reason := hostError(pub.Target, cause); reason != nil {
		if len(pub.Items) > 1 {
			// Published one by one, only those merges stay pending that touch the
			// user's changes.
			return svc.requeueAlone(ctx, idsOf(pub.Items, func(p landed) croft.ID { return p.Merge }))
		}
		m, err := svc.Journal.Merge(ctx, pub.Items[0].Merge)
		if err != nil {
			return err
		}
		return svc.rejectMerge(ctx, m, nil, reason)
	}
	if errors.Is(cause, gitcmd.KindRefStale) {
		if err := svc.requeueUnfinished(ctx, r, pub.Target); err != nil {
			return err
		}
		return errTargetMoves
	}
	// A git process that was killed left the lock. Another try would hang the lane.
	if errors.Is(cause, gitcmd.KindLocked) {
		return svc.rejectLocked(ctx, r, pub, cause)
	}
	return cause
}

// rejectLocked rejects the merges of a publication whose target is locked by another git.
func (svc *Lanes) rejectLocked(ctx context.Context, r *project.Project, pub publication, cause error) error {
	for _, p := range pub.Items {
		m, err := svc.Journal.Merge(ctx, p.Merge)
		if err != nil {
			return err
		}
		if err := svc.rejectMerge(ctx, m, nil, &croft.Error{
			Code: croft.GitFailed, Message: fmt.Sprintf("%s is locked by another git", pub.Target), Details: cause.Error(),
			Hint: "wait for it, or delete the lock if no git is running; then croft merge " + shellword.Quote(m.WorkspaceName),
		}); err != nil {
			return err
		}
	}
	return nil
}

// hostError returns the error for a checkout of the target that could not be updated,
// or nil if cause is another failure.
func hostError(target string, cause error) error {
	if dirty, ok := errors.AsType[*git.HostDirtyError](cause); ok {
		return &croft.Error{
			Code: croft.HostDirty, Message: fmt.Sprintf("%s is checked out in %s, and %s", target, dirty.Path, dirty.Cause),
			Details: strings.Join(dirty.Files, "\n"), Hint: "git -C " + shellword.Quote(dirty.Path) + " status",
		}
	}
	if unwritten, ok := errors.AsType[*git.HostWriteError](cause); ok {
		return hostUnwrittenError(target, unwritten)
	}
	return nil
}

// hostUnwrittenError returns the error for a checkout that could not be written.
func hostUnwrittenError(target string, e *git.HostWriteError) error {
	why := croft.AsError("merge", explain.Error("merge", "", e.Err))
	if errors.Is(e.Err, gitcmd.KindVanished) { // git reports only that a file was not written
		why = croft.AsError("merge", explain.Error("merge", "", syscall.EIO))
		if free, _, err := fsx.FreeSpace(e.Path); err == nil && free < e.Needs {
			why = croft.AsError("merge", explain.Error("merge", "", syscall.ENOSPC))
		}
	}
	out := &croft.Error{
		Code:    why.Code,
		Message: fmt.Sprintf("%s is checked out in %s, which could not be written and is as it was: %s", target, e.Path, why.Message),
		Details: e.Err.Error(), Hint: cmp.Or(why.Hint, "git -C "+shellword.Quote(e.Path)+" status"),
	}
	if out.Code == croft.Internal {
		out.Code = croft.GitFailed
	}
	if len(e.Left) > 0 {
		out.Message = fmt.Sprintf("%s is checked out in %s, which could not be written: %s; %s could not be put back and lie in %s",
			target, e.Path, why.Message, project.Count(len(e.Left), "file"), e.Kept)
		out.Details = strings.Join(e.Left, "\n") + "\n" + out.Details
	}
	return out
}

// endPublication records that the target moved.
func (svc *Lanes) endPublication(ctx context.Context, op *oplog.Op, pub publication) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		n, err := tx.LastPublished()
		if err != nil {
			return err
		}
		owner := owner.Self()
		for i, p := range pub.Items {
			if err := svc.endMerge(tx, p, n+int64(i)+1, owner); err != nil {
				return err
			}
		}
		if pub.Lane != nil {
			if err := tx.Emit(svc.laneEvent(op.Repo, *pub.Lane)); err != nil {
				return err
			}
		}
		return errors.Join(tx.PutLaneTip(op.Repo, pub.Target, pub.New), tx.End(op.ID, journal.OpDone, "", svc.Now()))
	})
}

func (svc *Lanes) endMerge(tx *journal.Tx, p landed, number int64, owner croft.Owner) error {
	m, err := tx.Merge(p.Merge)
	if err != nil {
		return err
	}
	m.Land(journal.Landing{Commit: p.Commit, Before: p.Before, Checks: p.Checks, Moved: p.Moved, Note: attempt.MovedNote(m, p.Before)}, svc.Now())
	m.Published = number
	kind := croft.EventMergeMerged
	if m.Kind == croft.KindRevert {
		kind = croft.EventMergeReverted
		if err := markReverted(tx, m.Reverts); err != nil {
			return err
		}
	}
	if err := svc.recordMirror(tx, &m, p); err != nil {
		return err
	}
	if err := svc.recordMergeStatus(tx, m, p); err != nil {
		return err
	}
	done := journal.Operation{
		ID: project.NewID(), Act: m.Act, Undoes: m.Undoes, Kind: string(m.Kind), Actor: actor.Of(m.Merge), Repo: m.RepoID, Owner: owner, StartedAt: m.SubmittedAt, EndedAt: svc.Now(),
		Workspaces: []croft.ID{m.Workspace}, Names: []string{m.WorkspaceName},
	}
	if done.Input, err = json.Marshal(MergeInput{Merge: m.ID}); err != nil {
		return err
	}
	return errors.Join(tx.PutMerge(&m), tx.Add(done), tx.Emit(svc.MergeEvent(kind, m)))
}

// MergeInput is the input of an operation that was a merge.
type MergeInput struct {
	Merge croft.ID `json:"merge"`
}

// recordMergeStatus records the new merge status in the workspace's record.
func (svc *Lanes) recordMergeStatus(tx *journal.Tx, m journal.Merge, p landed) error {
	rec, err := tx.Record(m.Workspace)
	if m.Part || errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	switch m.Kind {
	case croft.KindMerge:
		rec.Workspace.MergeStatus, rec.Workspace.MergeCommit = croft.MergeMerged, p.Commit
	case croft.KindRevert:
		rec.Workspace.MergeStatus = croft.MergeReverted
		if m.Again { // the revert was itself reverted
			rec.Workspace.MergeStatus = croft.MergeMerged
		}
	default:
		return nil
	}
	return tx.PutRecord(rec)
}

// markReverted marks a merge as reverted. If the merge is itself a revert, the merge that it
// had reverted counts as merged again.
func markReverted(tx *journal.Tx, id croft.ID) error {
	m, err := tx.Merge(id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	m.Revert()
	if err := tx.PutMerge(&m); err != nil || m.Kind != croft.KindRevert {
		return err
	}
	again, err := tx.Merge(m.Reverts)
	if err != nil {
		return err
	}
	again.Reinstate()
	return tx.PutMerge(&again)
}

// RecoverPublish recovers a publication, unless another process holds the lane's lock:
// then that process recovers it. If the repository is gone, the publication is ended as
// undone.
func (svc *Lanes) RecoverPublish(ctx context.Context, r *project.Project, op *oplog.Op) error {
	var pub publication
	if err := json.Unmarshal(op.Input, &pub); err != nil {
		return err
	}
	if r.Git == nil {
		return op.EndUndone(ctx, "the repository is gone")
	}
	l, err := tryLockLane(r, pub.Target)
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Unlock()
	return svc.recoverPublication(ctx, r, op, pub)
}

// recoverPublication finishes a publication whose process died, or ends it as undone. The
// caller holds the lane's lock.
func (svc *Lanes) recoverPublication(ctx context.Context, r *project.Project, op *oplog.Op, pub publication) error {
	ref := "refs/heads/" + pub.Target
	r.Git.SweepRefLocks(op.StartedAt, ref)
	tip, err := r.Git.ReadRef(ctx, ref)
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return err
	}
	moved := tip == pub.New
	if !moved && err == nil && tip != pub.Old {
		if moved, err = r.Git.IsAncestor(ctx, pub.New, tip); err != nil {
			return err
		}
	}
	if tip == pub.Old && !moved {
		// The checkout may be half updated. Its index is still locked, so that no
		// process could commit there meanwhile.
		moved = svc.moveTarget(ctx, r, pub, (*git.BranchCheckout).Resume) == nil
	}
	for _, h := range r.Git.Hosts(pub.Target) {
		err := h.DeleteDeadLock(ctx)
		svc.tellKept(h)
		if err != nil {
			return err
		}
	}
	if moved {
		return svc.endPublication(ctx, op, pub)
	}
	if err := op.EndUndone(ctx, "its process died"); err != nil {
		return err
	}
	return svc.requeueUnfinished(ctx, r, pub.Target)
}

// recoverLane recovers the publications, and requeues the merges, that a driver of this
// lane left when it died. The caller holds the lane's lock.
func (svc *Lanes) recoverLane(ctx context.Context, r *project.Project, target string) error {
	ops, err := svc.Journal.Running(ctx)
	if err != nil {
		return err
	}
	ops = slices.DeleteFunc(ops, func(op journal.Operation) bool { return op.Kind != "publish" || op.Repo != r.ID })
	for _, op := range ops {
		var pub publication
		if err := json.Unmarshal(op.Input, &pub); err != nil || pub.Target != target {
			continue
		}
		if err := svc.Ops.RecoverWith(ctx, op, func(op *oplog.Op) error { return svc.recoverPublication(ctx, r, op, pub) }); err != nil {
			return err
		}
	}
	return svc.requeueUnfinished(ctx, r, target)
}
