package lane

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// RecordTakenBack records that a user took a merge out of its target with git: as a revert of the merge, by the commit that
// did it, so that everything that asks for reverts finds it, and another merge brings the work back. It reports whether there is
// one such commit; if not, nothing is recorded.
func (svc *Lanes) RecordTakenBack(ctx context.Context, r *project.Project, m journal.Merge, a project.Act) (bool, error) {
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+m.Target)
	if err != nil {
		return false, project.TargetError(m.Target, err)
	}
	p := landed{Merge: m.ID}
	if p.Commit, p.Before, err = takenBackBy(ctx, r, m, tip); p.Commit == "" || err != nil {
		return false, err
	}
	return true, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		was, err := tx.Merge(m.ID)
		if errors.Is(err, journal.ErrNotFound) || err == nil && was.Status != croft.MergeMerged {
			return nil
		}
		if err != nil {
			return err
		}
		back := revertOf(was, p, a)
		back.Actor, back.ActorWorkspace = actor.Cut(svc.Actor(ctx))
		back.SubmittedAt = svc.Now()
		back.Land(journal.Landing{Commit: p.Commit, Before: p.Before}, svc.Now())
		last, err := tx.LastPublished()
		if err != nil {
			return err
		}
		back.Published = last + 1
		return errors.Join(markReverted(tx, was.ID), svc.recordMergeStatus(tx, back, p), tx.PutMerge(&back), tx.Emit(svc.MergeEvent(croft.EventMergeReverted, back)))
	})
}

// revertOf is the record of a revert of a merge that was published otherwise.
func revertOf(was journal.Merge, p landed, a project.Act) journal.Merge {
	return journal.Merge{
		Merge: croft.Merge{
			ID: project.NewID(), RepoID: was.RepoID, Kind: croft.KindRevert, WorkspaceName: was.WorkspaceName, Workspace: was.Workspace, Target: was.Target,
			Status: croft.MergePending, State: croft.MergeQueued, Head: was.Commit, Reverts: was.ID,
		},
		Act: a.ID, Undoes: a.Undoes, Base: was.Before, Again: was.Kind == croft.KindRevert && !was.Again, Part: was.Part,
	}
}

// takenBackBy finds the commit of a target's own line that took a merge back and did nothing else, as git revert makes it, and the
// commit before it. They are empty if there is none: another merge of the work undoes the commit, with all that it did.
func takenBackBy(ctx context.Context, r *project.Project, m journal.Merge, tip string) (commit, before string, err error) {
	attempts, err := r.Git.OpenMergeTree(writers.InMemory)
	if err != nil {
		return "", "", err
	}
	defer attempts.Close()
	line, err := attempts.Mainline(ctx, m.Commit, tip)
	if err != nil || len(line) == 0 {
		return "", "", err
	}
	line = append([]string{m.Commit}, line...)
	isGone := func(at int) (bool, error) {
		_, isNothing, err := TryRevert(ctx, r, m, line[at])
		return isNothing, err
	}
	has, gone := 0, len(line)-1 // the merge is in the former, and taken back in the latter
	if is, err := isGone(gone); !is || err != nil {
		return "", "", err
	}
	if is, err := isGone(has); is || err != nil { // it brought nothing
		return "", "", err
	}
	for gone-has > 1 {
		mid := has + (gone-has)/2
		is, err := isGone(mid)
		if err != nil {
			return "", "", err
		}
		if is {
			gone = mid
		} else {
			has = mid
		}
	}
	without, err := attempts.MergeOver(ctx, m.Commit, line[has], m.Before)
	if err != nil || !without.IsClean() {
		return "", "", err
	}
	at, err := attempts.ReadCommit(ctx, line[gone])
	if err != nil || at.Tree != without.Tree {
		return "", "", err
	}
	return line[gone], line[has], nil
}
