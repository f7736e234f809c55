package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/journal"
)

// ownLock begins the reason of every lock that Croft takes for itself. Such a
// lock is not a person's.
const ownLock = "croft:"

// leaseLock is the reason of the lock while a lease is held: it keeps git's
// own commands from pruning or removing what is in use.
const leaseLock = "croft: in use"

// Lock protects a workspace.
func (e *Engine) Lock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	ctx, leave, err := e.enter(ctx, "lock", req)
	if err != nil {
		return nil, err
	}
	defer leave()
	if strings.HasPrefix(req.Reason, ownLock) || strings.ContainsAny(req.Reason, "\x00") {
		return nil, &croft.Error{
			Code: croft.InvalidRequest, Op: "lock", Workspace: req.Workspace, Message: "a reason cannot begin with \"croft:\"",
		}
	}
	return e.changeLock(ctx, "lock", req, croft.EventWorkspaceLocked, func(_ *repo, tree lockable, _ bool) error {
		return tree.SetLock(req.Reason)
	})
}

// Unlock takes a person's protection away.
func (e *Engine) Unlock(ctx context.Context, req croft.LockRequest) (*croft.Workspace, error) {
	ctx, leave, err := e.enter(ctx, "unlock", req)
	if err != nil {
		return nil, err
	}
	defer leave()
	return e.changeLock(ctx, "unlock", req, croft.EventWorkspaceUnlocked, func(_ *repo, tree lockable, leased bool) error {
		if leased {
			return tree.SetLock(leaseLock)
		}
		return tree.ClearLock()
	})
}

// lockable is git's lock of a worktree.
type lockable interface {
	LockReason() (string, bool, error)
	SetLock(reason string) error
	ClearLock() error
}

func (e *Engine) changeLock(ctx context.Context, op string, req croft.LockRequest, event string,
	change func(r *repo, tree lockable, leased bool) error,
) (*croft.Workspace, error) {
	s, rec, err := e.located(ctx, req.Repo, req.Workspace)
	if err != nil {
		return nil, explain(op, req.Workspace, err)
	}
	name := rec.Workspace.Name
	if rec.Workspace.Mode == croft.ModeLegacy {
		return nil, &croft.Error{
			Code: croft.Unsupported, Op: op, Workspace: name, Message: "a workspace without isolation cannot be locked: it is the project itself",
		}
	}
	if h := s.trees.Health(specOf(rec)); h != checkout.Intact {
		return nil, explain(op, name, s.brokenNow(ctx, rec, h))
	}
	err = e.underLock(ctx, s.repo, func() error {
		leases, err := e.journal.Leases(ctx, s.id)
		if err != nil {
			return err
		}
		leased := false
		for _, l := range leases[rec.Workspace.ID] {
			leased = leased || held(l, e.now())
		}
		return change(s.repo, s.trees.At(specOf(rec)), leased)
	})
	if err == nil {
		err = e.journal.Update(ctx, func(tx *journal.Tx) error {
			return errors.Join(tx.Emit(e.event(event, rec)), e.note(tx, op, s.id, rec))
		})
	}
	if err != nil {
		return nil, explain(op, name, err)
	}
	w, err := e.viewOf(ctx, s.repo, rec.Workspace.ID)
	return w, explain(op, name, err)
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
