package rewind

import (
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/snapshot"
)

// requireSaved makes sure that a rewind leaves no commit behind that none of its
// snapshots keeps: one that was made after what the workspace holds was saved, and
// before its index was locked.
func (how Spec) requireSaved(ctx context.Context, r *project.Project, tree *git.Worktree) error {
	kept := map[string]bool{"": true}
	snaps := []croft.Snapshot{how.From, how.To}
	if how.Saved != nil {
		snaps = append(snaps, *how.Saved)
	}
	branch := "" // that is moved
	for _, s := range snaps {
		head, err := snapshot.HeadOf(ctx, r.Git, s.Commit)
		if err != nil {
			return err
		}
		kept[head.OID] = true
		if s.ID == how.To.ID {
			branch = head.Branch
		}
	}
	_, head, err := tree.Head(ctx)
	if err != nil {
		return err
	}
	tip := ""
	if branch != "" {
		tip, err = r.Git.ReadRef(ctx, "refs/heads/"+branch)
	}
	if err != nil && !errors.Is(err, git.ErrNoRef) {
		return err
	}
	for _, oid := range []string{head, tip} {
		if !kept[oid] {
			return &croft.Error{
				Code: croft.WorkspaceBusy, Message: fmt.Sprintf("commit %.7s came while the workspace was saved; it is left as it is", oid),
				Details: oid, Hint: "croft restore " + string(how.To.ID), Err: project.ErrWorkedOn,
			}
		}
	}
	return nil
}

// leaveRewind ends a rewind that has done nothing, or has been taken back.
func (svc *Rewinds) leaveRewind(ctx context.Context, op *oplog.Op, how Spec, cause error) error {
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		rec, err := tx.Record(how.To.Workspace)
		if err != nil {
			return err
		}
		rec.Workspace.State = croft.Ready
		return errors.Join(tx.Put(rec), tx.End(op.ID, journal.OpUndone, cause.Error(), svc.Now()))
	})
}
