package workspace

import (
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/project"
)

// leaseLock is the reason of the git lock that a leased workspace has. The lock keeps
// git's own commands from pruning or removing the worktree.
const leaseLock = "croft: in use"

// LockWorkspace sets git's lock of a workspace for the user.
func (svc *Workspaces) LockWorkspace(ctx context.Context, s project.Location, rec journal.Record, req croft.LockRequest) (*croft.Workspace, error) {
	if strings.HasPrefix(req.Reason, project.OwnLock) || strings.ContainsAny(req.Reason, "\x00") {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Message: "a reason cannot begin with \"croft:\"",
		}
	}
	return svc.changeLock(ctx, s.Project, rec, lockChange{
		act: "lock", event: croft.EventWorkspaceLocked, reason: req.Reason,
		apply: func(tree project.Lockable, _ bool) error { return tree.SetLock(req.Reason) },
	})
}

// UnlockWorkspace removes the user's lock of a workspace. A leased workspace keeps
// Croft's own.
func (svc *Workspaces) UnlockWorkspace(ctx context.Context, s project.Location, rec journal.Record, _ croft.LockRequest) (*croft.Workspace, error) {
	return svc.changeLock(ctx, s.Project, rec, lockChange{
		act: "unlock", event: croft.EventWorkspaceUnlocked,
		apply: func(tree project.Lockable, isLeased bool) error {
			if isLeased {
				return tree.SetLock(leaseLock)
			}
			return tree.ClearLock()
		},
	})
}

// lockChange is a change of a workspace's lock, with the kinds of the act and of the
// event that record it.
type lockChange struct {
	act, event string
	reason     string // of a lock
	apply      func(tree project.Lockable, isLeased bool) error
}

func (svc *Workspaces) changeLock(ctx context.Context, r *project.Project, rec journal.Record, change lockChange) (*croft.Workspace, error) {
	if rec.Workspace.Mode == croft.ModeLegacy {
		return nil, &croft.Error{Code: croft.Unsupported, Message: "a workspace without isolation cannot be locked: it is the project itself"}
	}
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return nil, r.BrokenNowError(ctx, rec, h)
	}
	if err := failpoint.Hit("lock.found"); err != nil {
		return nil, err
	}
	err := svc.UnderLock(ctx, r, func() error {
		leases, err := svc.Journal.Leases(ctx, r.ID)
		if err != nil {
			return err
		}
		isLeased := false
		for _, l := range leases[rec.Workspace.ID] {
			isLeased = isLeased || project.IsActive(l, svc.Now())
		}
		return change.apply(r.Trees.At(project.SpecOf(rec)), isLeased)
	})
	if err == nil {
		err = failpoint.Hit("lock.changed")
	}
	if err != nil {
		return nil, err
	}
	w, err := svc.Views.ViewOf(ctx, r, rec.Workspace.ID)
	if err != nil {
		return nil, err
	}
	return w, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		now, err := tx.Record(rec.Workspace.ID)
		if err != nil {
			return err
		}
		now.Seen.IsLocked, now.Seen.LockReason = change.event == croft.EventWorkspaceLocked, change.reason
		if err := tx.SaveRecord(&now); err != nil {
			return err
		}
		w.Revision = now.Generation
		return errors.Join(tx.Emit(svc.WorkspaceEvent(change.event, rec)), svc.Note(tx, change.act, r.ID, rec), once.Answer(ctx, tx, w))
	})
}
