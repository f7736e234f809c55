package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// publication is the intent to move a target. It is written down before the
// target moves, so that after a crash it is known whether it did.
type publication struct {
	Target string   `json:"target"`
	Old    string   `json:"old"`
	New    string   `json:"new"`
	Items  []landed `json:"items"`
}

// landed is one merge of a publication.
type landed struct {
	Merge  croft.ID      `json:"merge"`
	Commit string        `json:"commit"`
	Before string        `json:"before"`
	Checks []croft.Check `json:"checks,omitempty"`
	// Record is the workspace's new record, which is published in the same
	// step. It is empty where the workspace is gone.
	Record string `json:"record,omitempty"`
}

// publishStack moves the target to the top of a stack, together with what the
// records say of it: all of that, or nothing.
func (e *Engine) publishStack(ctx context.Context, r *repo, target, tip string, attempts *git.Attempts, passed passing, items []journal.Merge) error {
	top := passed.steps[len(passed.steps)-1]
	if err := attempts.Keep(top.Commit); err != nil {
		return err
	}
	pub := publication{Target: target, Old: tip, New: top.Commit}
	batch := r.git.Batch()
	defer batch.Discard()
	records := map[croft.ID]journal.Record{}
	for _, step := range passed.steps {
		m := itemOf(items, step.ID)
		p := landed{Merge: step.ID, Commit: step.Commit, Before: step.Parent, Checks: passed.checks}
		rec, err := e.mergedRecord(ctx, records, m, step)
		if err != nil {
			return err
		}
		if rec != nil {
			b, err := rec.Encode()
			if err != nil {
				return err
			}
			if p.Record, err = batch.WriteBlob(b); err != nil {
				return err
			}
			rec.Blob = p.Record
			records[m.WorkspaceID] = *rec
		}
		pub.Items = append(pub.Items, p)
	}
	if err := batch.Flush(); err != nil {
		return err
	}
	if err := failpoint.Hit("publish.kept"); err != nil {
		return err
	}
	return e.carryPublication(ctx, r, pub, items)
}

// mergedRecord is what a workspace's record says after the merge; nil if the
// workspace is gone.
func (e *Engine) mergedRecord(ctx context.Context, earlier map[croft.ID]journal.Record, m journal.Merge, step merge.Step) (*journal.Record, error) {
	rec, ok := earlier[m.WorkspaceID]
	if !ok {
		var err error
		rec, err = e.journal.Record(ctx, m.WorkspaceID)
		if errors.Is(err, journal.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	switch m.Kind {
	case croft.KindMerge:
		rec.Workspace.MergeStatus, rec.Workspace.MergeCommit = croft.MergeMerged, step.Commit
	case croft.KindRevert:
		rec.Workspace.MergeStatus = revertedStatus(m)
	default:
		return nil, nil
	}
	rec.Generation++
	rec.Blob = ""
	return &rec, nil
}

// revertedStatus is what a workspace's work is after a revert: taken back, or,
// if a revert was taken back, merged again.
func revertedStatus(m journal.Merge) croft.MergeStatus {
	if m.Again {
		return croft.MergeMerged
	}
	return croft.MergeReverted
}

// carryPublication writes the intent down and carries it out.
func (e *Engine) carryPublication(ctx context.Context, r *repo, pub publication, items []journal.Merge) error {
	op, err := e.begin(newAct(), "publish", r)
	if err != nil {
		return err
	}
	defer op.close()
	if op.Input, err = json.Marshal(pub); err != nil {
		return err
	}
	err = e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, p := range pub.Items {
			m := itemOf(items, p.Merge)
			m.Tried = p.Commit
			if err := tx.PutMerge(m); err != nil {
				return err
			}
		}
		return tx.Begin(op.Operation)
	})
	if err != nil {
		return err
	}
	if err := failpoint.Hit("publish.journalled"); err != nil {
		return err
	}
	// From here on the caller's wish to stop comes too late.
	ctx = context.WithoutCancel(ctx)
	err = e.moveTarget(ctx, r, pub)
	if err != nil {
		return e.unpublished(ctx, r, op.Operation, pub, err)
	}
	if err := failpoint.Hit("publish.moved"); err != nil {
		return err
	}
	return e.endPublication(ctx, op.Operation, pub)
}

// moveTarget moves the target, the records and, where the target is checked
// out, that checkout.
func (e *Engine) moveTarget(ctx context.Context, r *repo, pub publication) error {
	hosts := r.git.Hosts(pub.Target)
	if len(hosts) > 1 {
		return &git.HostDirtyError{Path: hosts[1].Path, Cause: "the branch is checked out in several places"}
	}
	updates := []git.RefUpdate{{Ref: "refs/heads/" + pub.Target, New: pub.New, Old: pub.Old}}
	last := map[string]string{} // of two merges of one workspace, the later counts
	for _, p := range pub.Items {
		if p.Record == "" {
			continue
		}
		m, err := e.journal.Merge(ctx, p.Merge)
		if err != nil {
			return err
		}
		last[recordRef(m.WorkspaceID)] = p.Record
	}
	for ref, blob := range last {
		old, err := r.git.ReadRef(ctx, ref)
		if errors.Is(err, git.ErrNoRef) {
			continue
		}
		if err != nil {
			return err
		}
		updates = append(updates, git.RefUpdate{Ref: ref, New: blob, Old: old})
	}
	if len(hosts) == 0 {
		return r.git.UpdateRefs(ctx, updates...)
	}
	advance, err := hosts[0].Prepare(ctx, pub.Old, pub.New)
	if err != nil {
		return err
	}
	defer advance.Cancel()
	if err := failpoint.Hit("publish.prepared"); err != nil {
		return err
	}
	return r.git.UpdateRefsAfter(ctx, func() error {
		if err := failpoint.Hit("publish.locked"); err != nil {
			return err
		}
		if err := advance.Apply(ctx); err != nil {
			return err
		}
		return failpoint.Hit("publish.applied")
	}, updates...)
}

// unpublished ends a publication that did not come to be. Whoever stands in the
// way of the user's changes stays pending; a target that moved meanwhile is
// tried again.
func (e *Engine) unpublished(ctx context.Context, r *repo, op journal.Operation, pub publication, cause error) error {
	if err := e.end(ctx, op, journal.OpUndone, cause.Error()); err != nil {
		return err
	}
	dirty, ok := errors.AsType[*git.HostDirtyError](cause)
	if ok && len(pub.Items) > 1 {
		return e.publishSingly(ctx, r, pub)
	}
	if ok {
		m, err := e.journal.Merge(ctx, pub.Items[0].Merge)
		if err != nil {
			return err
		}
		return e.reject(ctx, r, m, nil, hostDirty(m.Target, dirty))
	}
	if errors.Is(cause, git.KindRefStale) || errors.Is(cause, git.KindLocked) {
		return e.release(ctx, r, pub.Target)
	}
	return cause
}

func hostDirty(target string, dirty *git.HostDirtyError) error {
	return &croft.Error{
		Code: croft.HostDirty, Message: fmt.Sprintf("%s is checked out in %s, and %s", target, dirty.Path, dirty.Cause),
		Details: strings.Join(dirty.Files, "\n"), Hint: "git -C " + dirty.Path + " status",
	}
}

// publishSingly takes a stack that the user's checkout cannot follow apart: its
// items go on one by one, each by itself, so that only those stay pending that
// touch the user's changes.
func (e *Engine) publishSingly(ctx context.Context, r *repo, pub publication) error {
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		for _, p := range pub.Items {
			m, err := tx.Merge(p.Merge)
			if err != nil {
				return err
			}
			m.State, m.Alone = croft.MergeQueued, true
			if err := tx.PutMerge(m); err != nil {
				return err
			}
		}
		return nil
	})
}

// endPublication writes down that the target moved.
func (e *Engine) endPublication(ctx context.Context, op journal.Operation, pub publication) error {
	return e.journal.Update(ctx, func(tx *journal.Tx) error {
		n, err := tx.LastPublished()
		if err != nil {
			return err
		}
		for i, p := range pub.Items {
			if err := e.endMerge(tx, p, n+int64(i)+1); err != nil {
				return err
			}
		}
		return tx.End(op.ID, journal.OpDone, "", e.now())
	})
}

func (e *Engine) endMerge(tx *journal.Tx, p landed, number int64) error {
	m, err := tx.Merge(p.Merge)
	if err != nil {
		return err
	}
	m.State, m.Status, m.Commit, m.Before, m.Tried = croft.MergeDone, croft.MergeMerged, p.Commit, p.Before, ""
	m.Reason, m.Message, m.Details, m.Hint, m.Conflicts = "", "", "", "", nil
	m.Published, m.EndedAt, m.Checks, m.Alone = number, e.now(), p.Checks, false
	m.Untidy = m.Kind == croft.KindMerge && m.After == croft.AfterTrash
	kind := croft.EventMergeMerged
	if m.Kind == croft.KindRevert {
		kind = croft.EventMergeReverted
		if err := takenBack(tx, m.Reverts); err != nil {
			return err
		}
	}
	if err := e.adoptRecord(tx, m, p); err != nil {
		return err
	}
	done := journal.Operation{
		ID: newID(), Act: m.Act, Undoes: m.Undoes, Kind: string(m.Kind), Actor: m.Actor, Repo: m.RepoID, Owner: self(), StartedAt: m.SubmittedAt,
		Workspaces: []croft.ID{m.WorkspaceID}, Names: []string{m.Workspace},
	}
	if done.Input, err = json.Marshal(mergeInput{Merge: m.ID}); err != nil {
		return err
	}
	return errors.Join(tx.PutMerge(m), tx.Begin(done), tx.End(done.ID, journal.OpDone, "", e.now()), tx.Emit(e.mergeEvent(kind, m)))
}

// mergeInput names the merge that an operation was.
type mergeInput struct {
	Merge croft.ID `json:"merge"`
}

// adoptRecord takes over what was published of a workspace's record.
func (e *Engine) adoptRecord(tx *journal.Tx, m journal.Merge, p landed) error {
	rec, err := tx.Record(m.WorkspaceID)
	if errors.Is(err, journal.ErrNotFound) || p.Record == "" {
		return nil
	}
	if err != nil {
		return err
	}
	switch m.Kind {
	case croft.KindMerge:
		rec.Workspace.MergeStatus, rec.Workspace.MergeCommit = croft.MergeMerged, p.Commit
	case croft.KindRevert:
		rec.Workspace.MergeStatus = revertedStatus(m)
	}
	rec.Generation++
	rec.Blob = p.Record
	return tx.Put(rec)
}

// takenBack marks the merge that a revert undid.
func takenBack(tx *journal.Tx, id croft.ID) error {
	m, err := tx.Merge(id)
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	m.Status = croft.MergeReverted
	if err := tx.PutMerge(m); err != nil || m.Kind != croft.KindRevert {
		return err
	}
	again, err := tx.Merge(m.Reverts)
	if err != nil {
		return err
	}
	again.Status = croft.MergeMerged
	return tx.PutMerge(again)
}

// recoverPublish recovers a publication, unless somebody drives its lane: then
// it is theirs to recover.
func (e *Engine) recoverPublish(ctx context.Context, r *repo, op journal.Operation) error {
	var pub publication
	if err := json.Unmarshal(op.Input, &pub); err != nil {
		return err
	}
	if r.git == nil {
		return e.end(ctx, op, journal.OpUndone, "the repository is gone")
	}
	l, err := r.tryLane(pub.Target)
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Unlock()
	return e.recoverPublication(ctx, r, op, pub)
}

// recoverPublication finishes a publication whose process died, or takes it
// back. The caller holds the lane's lock.
func (e *Engine) recoverPublication(ctx context.Context, r *repo, op journal.Operation, pub publication) error {
	refs := []string{"refs/heads/" + pub.Target}
	for _, p := range pub.Items {
		if m, err := e.journal.Merge(ctx, p.Merge); err == nil {
			refs = append(refs, recordRef(m.WorkspaceID))
		}
	}
	r.git.DropRemains(op.StartedAt, refs...)
	tip, err := r.git.ReadRef(ctx, refs[0])
	if err != nil && !errors.Is(err, git.ErrNoRef) {
		return err
	}
	for _, h := range r.git.Hosts(pub.Target) {
		h.DropLock()
	}
	moved := tip == pub.New
	if !moved && err == nil && tip != pub.Old {
		if moved, err = r.git.IsAncestor(ctx, pub.New, tip); err != nil {
			return err
		}
	}
	if moved {
		return e.endPublication(ctx, op, pub)
	}
	if tip == pub.Old {
		// The checkout may have gone half the way.
		if err := e.moveTarget(ctx, r, pub); err == nil {
			return e.endPublication(ctx, op, pub)
		}
	}
	if err := e.end(ctx, op, journal.OpUndone, "its process died"); err != nil {
		return err
	}
	return e.release(ctx, r, pub.Target)
}

// recoverLane finishes what a dead driver of this lane left. The caller holds
// the lane's lock.
func (e *Engine) recoverLane(ctx context.Context, r *repo, target string) error {
	ops, err := e.journal.Running(ctx)
	if err != nil {
		return err
	}
	ops = slices.DeleteFunc(ops, func(op journal.Operation) bool { return op.Kind != "publish" || op.Repo != r.id })
	for _, op := range ops {
		var pub publication
		if err := json.Unmarshal(op.Input, &pub); err != nil || pub.Target != target {
			continue
		}
		if err := e.recoverHeld(ctx, op, func() error { return e.recoverPublication(ctx, r, op, pub) }); err != nil {
			return err
		}
	}
	return e.release(ctx, r, target)
}
