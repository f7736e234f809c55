package round

import (
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// retainBranches deletes the branches that the session's retention lets go, of the
// agents for whom a round has just ended. An agent that is still at work keeps
// the branch of its last round: that has its newest work.
func (svc *Rounds) retainBranches(ctx context.Context, ses *journal.Session, t *journal.Round) error {
	keep, err := retainedBranches(ses.Retention)
	if err != nil || keep < 0 {
		return err
	}
	for _, seat := range t.Workspaces {
		if !seat.Ended {
			continue
		}
		left := keep
		for _, earlier := range slices.Backward(ses.Rounds) {
			for _, old := range earlier.Workspaces {
				if old.Agent != seat.Agent || old.Repo != seat.Repo || !old.Ended {
					continue
				}
				has, err := svc.leftBranch(ctx, old.Workspace)
				if err != nil {
					return err
				}
				if !has {
					continue // what it left does not count: nobody can see it
				}
				if left--; left >= 0 {
					continue
				}
				if err := svc.dropBranch(ctx, old.Repo, old.Workspace); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// leftBranch reports whether a workspace that is gone has left its branch.
func (svc *Rounds) leftBranch(ctx context.Context, id croft.ID) (bool, error) {
	rec, err := svc.Journal.Record(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return false, nil
	}
	return err == nil && rec.Trash != nil && !rec.Trash.BranchGone, err
}

// dropBranch deletes the branch that a removed workspace left behind, after its
// tip was archived. One that moved since, or that somebody has checked out,
// stays.
func (svc *Rounds) dropBranch(ctx context.Context, repo, id croft.ID) error {
	rec, err := svc.Journal.Record(ctx, id)
	if errors.Is(err, journal.ErrNotFound) || err == nil && (rec.Trash == nil || rec.Trash.BranchGone || !rec.OwnsBranch) {
		return nil
	}
	if err != nil {
		return err
	}
	r, err := svc.ByID(ctx, repo)
	if err != nil || r.Git == nil {
		return err
	}
	return svc.UnderLock(ctx, r, func() error {
		tip := rec.Trash.Tip
		if rec.Workspace.Branch == "" || tip == "" {
			return nil
		}
		if _, err := svc.Pinned(ctx, r, project.ArchiveRef(id)); errors.Is(err, git.ErrNoRef) {
			if err := svc.Pin(ctx, r, journal.Pin{Ref: project.ArchiveRef(id), OID: tip}); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		gone, err := project.DeleteBranch(ctx, r, rec, tip)
		if err != nil || !gone {
			return err
		}
		rec.Trash.BranchGone = true
		return svc.SaveRecord(ctx, &rec, func(tx *journal.Tx) error { return tx.Emit(svc.WorkspaceEvent(croft.EventBranchDeleted, rec)) })
	})
}
