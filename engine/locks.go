package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/journal"
)

// ownLock begins the reason of every lock that Croft takes for itself. Such a
// lock is not a person's.
const ownLock = "croft:"

// leaseLock is the reason of the lock while a lease is held: it keeps git's
// own commands from pruning or removing what is in use.
const leaseLock = "croft: in use"

// lockWorkspace protects a workspace.
func (e *Engine) lockWorkspace(ctx context.Context, s standing, rec journal.Record, req croft.LockRequest) (*croft.Workspace, error) {
	if strings.HasPrefix(req.Reason, ownLock) || strings.ContainsAny(req.Reason, "\x00") {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Message: "a reason cannot begin with \"croft:\"",
		}
	}
	return e.changeLock(ctx, s.repo, rec, lockChange{
		act: "lock", event: croft.EventWorkspaceLocked,
		apply: func(tree lockable, _ bool) error { return tree.SetLock(req.Reason) },
	})
}

// unlockWorkspace takes a person's protection away.
func (e *Engine) unlockWorkspace(ctx context.Context, s standing, rec journal.Record, _ croft.LockRequest) (*croft.Workspace, error) {
	return e.changeLock(ctx, s.repo, rec, lockChange{
		act: "unlock", event: croft.EventWorkspaceUnlocked,
		apply: func(tree lockable, isLeased bool) error {
			if isLeased {
				return tree.SetLock(leaseLock)
			}
			return tree.ClearLock()
		},
	})
}

// lockable is git's lock of a worktree.
type lockable interface {
	LockReason() (string, bool, error)
	SetLock(reason string) error
	ClearLock() error
}

// lockChange is a change of a workspace's lock, and how the history and the events
// call it.
type lockChange struct {
	act, event string
	apply      func(tree lockable, isLeased bool) error
}

func (e *Engine) changeLock(ctx context.Context, r *repo, rec journal.Record, change lockChange) (*croft.Workspace, error) {
	if rec.Workspace.Mode == croft.ModeLegacy {
		return nil, &croft.Error{Code: croft.Unsupported, Message: "a workspace without isolation cannot be locked: it is the project itself"}
	}
	if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
		return nil, r.brokenNow(ctx, rec, h)
	}
	if err := failpoint.Hit("lock.found"); err != nil {
		return nil, err
	}
	err := e.underLock(ctx, r, func() error {
		leases, err := e.journal.Leases(ctx, r.id)
		if err != nil {
			return err
		}
		isLeased := false
		for _, l := range leases[rec.Workspace.ID] {
			isLeased = isLeased || held(l, e.now())
		}
		return change.apply(r.trees.At(specOf(rec)), isLeased)
	})
	if err == nil {
		err = e.journal.Update(ctx, func(tx *journal.Tx) error {
			return errors.Join(tx.Emit(e.event(change.event, rec)), e.note(tx, change.act, r.id, rec))
		})
	}
	if err != nil {
		return nil, err
	}
	return e.viewOf(ctx, r, rec.Workspace.ID)
}

// underLock runs f while the repository's lock is held.
func (e *Engine) underLock(ctx context.Context, r *repo, f func() error) error {
	l, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	return f()
}

// isPersonal reports whether a worktree is locked by a person, and why.
func isPersonal(tree lockable) (string, bool, error) {
	reason, locked, err := tree.LockReason()
	return reason, locked && !strings.HasPrefix(reason, ownLock), err
}
