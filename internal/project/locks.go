package project

import (
	"context"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// OwnLock begins the reason of every lock that Croft takes for itself. Such a
// lock is not a person's.
const OwnLock = "croft:"

// Lockable is git's lock of a worktree.
type Lockable interface {
	LockReason() (string, bool, error)
	SetLock(reason string) error
	ClearLock() error
}

// UnderLock runs f while the repository's lock is held.
func (p *Projects) UnderLock(ctx context.Context, r *Project, f func() error) error {
	l, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	return f()
}

// IsPersonal reports whether a worktree is locked by a person, and why.
func IsPersonal(tree Lockable) (string, bool, error) {
	reason, locked, err := tree.LockReason()
	return reason, locked && !strings.HasPrefix(reason, OwnLock), err
}

// GuardLock refuses a workspace that a person locked.
func (r *Project) GuardLock(rec journal.Record) error {
	if rec.Workspace.Mode == croft.ModeLegacy {
		return nil
	}
	reason, personal, err := IsPersonal(r.Trees.At(SpecOf(rec)))
	if err != nil || !personal {
		return err
	}
	return &croft.Error{
		Code: croft.WorkspaceLocked, Message: lockedMessage(reason), Hint: "croft unlock " + rec.Workspace.Name,
	}
}

func lockedMessage(reason string) string {
	if reason == "" {
		return "the workspace is locked"
	}
	return "the workspace is locked: " + reason
}
