package lane

import (
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
)

// recordMirror records that a merge took back another one: that of a workspace in which the conflicts of a
// revert were resolved, and the revert of such a merge. The record is a revert of the merge that was taken
// back, as if that had been published alone, so that everything that asks for reverts finds it.
func (svc *Lanes) recordMirror(tx *journal.Tx, m *journal.Merge, p landed) error {
	of, err := mirroredBy(tx, *m)
	if of == "" || err != nil {
		return err
	}
	was, err := tx.Merge(of)
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil || was.Status != croft.MergeMerged || was.Target != m.Target {
		return err
	}
	if p.IsUntaken {
		m.Message = fmt.Sprintf("%s still counts as merged: this does not take back what it brought, so far as that can be proved", was.WorkspaceName)
		return nil
	}
	back := journal.Merge{
		Merge: croft.Merge{
			ID: project.NewID(), RepoID: m.RepoID, Kind: croft.KindRevert, WorkspaceName: was.WorkspaceName, Workspace: was.Workspace, Target: was.Target,
			Status: croft.MergePending, State: croft.MergeQueued, Head: was.Commit, Reverts: was.ID, SubmittedAt: m.SubmittedAt,
			Actor: m.Actor, ActorWorkspace: m.ActorWorkspace,
		},
		Act: m.Act, Undoes: m.Undoes, Base: was.Before, Again: was.Kind == croft.KindRevert && !was.Again, Part: was.Part,
	}
	back.Land(journal.Landing{Commit: p.Commit, Before: p.Before}, svc.Now())
	back.Published, m.Mirror = m.Published, back.ID
	return errors.Join(markReverted(tx, was.ID), svc.recordMergeStatus(tx, back, p), tx.PutMerge(&back), tx.Emit(svc.MergeEvent(croft.EventMergeReverted, back)))
}

// noteUntaken notes which merges do not take back what their workspaces, which are their agents', were made to take back.
func (svc *Lanes) noteUntaken(ctx context.Context, attempts *mergetree.Session, items []journal.Merge, pub *publication) error {
	for i := range pub.Items {
		p := &pub.Items[i]
		m := itemOf(items, p.Merge)
		rec, err := svc.Journal.Record(ctx, m.Workspace)
		if m.Kind != croft.KindMerge || errors.Is(err, journal.ErrNotFound) || err == nil && rec.TakesBack == "" {
			continue
		}
		var was journal.Merge
		if err == nil {
			was, err = svc.Journal.Merge(ctx, rec.TakesBack)
		}
		switch {
		case errors.Is(err, journal.ErrNotFound):
			continue
		case err != nil:
			return err
		}
		to := merge.TakenBack{Commit: was.Commit, Before: was.Before, Now: p.Commit, NowBefore: p.Before, Head: m.Head, Revert: rec.Workspace.Base}
		isBack, err := merge.IsTakenBack(ctx, attempts, to)
		if err != nil {
			return err
		}
		p.IsUntaken = !isBack
	}
	return nil
}

// mirroredBy returns the ID of the merge that a merge takes back besides what it says, or the empty ID.
func mirroredBy(tx *journal.Tx, m journal.Merge) (croft.ID, error) {
	switch m.Kind {
	case croft.KindMerge:
		rec, err := tx.Record(m.Workspace)
		if errors.Is(err, journal.ErrNotFound) {
			return "", nil
		}
		return rec.TakesBack, err
	case croft.KindRevert:
		of, err := tx.Merge(m.Reverts)
		if errors.Is(err, journal.ErrNotFound) {
			return "", nil
		}
		return of.Mirror, err
	}
	return "", nil
}
