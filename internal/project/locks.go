package project

import (
	"context"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/shellword"
)

// OwnLock begins the reason of every git worktree lock that Croft sets for itself.
// Other locks are the user's.
const OwnLock = "croft:"

// Lockable is a worktree that git can lock.
type Lockable interface {
	LockReason() (string, bool, error)
	SetLock(reason string) error
	ClearLock() error
}

// UnderLock runs f while the repository's lock is held, or without it if the repository
// is gone.
func (p *Projects) UnderLock(ctx context.Context, r *Project, f func() error) error {
	l, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	return f()
}

// IsLockedByPerson reports whether a worktree has a lock that is not Croft's own, with
// the lock's reason.
func IsLockedByPerson(tree Lockable) (string, bool, error) {
	reason, locked, err := tree.LockReason()
	return reason, locked && !strings.HasPrefix(reason, OwnLock), err
}

// GuardLock refuses a workspace that a user locked, but never a legacy workspace.
func (r *Project) GuardLock(rec journal.Record) error {
	if rec.Workspace.Mode == croft.ModeLegacy {
		return nil
	}
	reason, personal, err := IsLockedByPerson(r.Trees.At(SpecOf(rec)))
	if err != nil || !personal {
		return err
	}
	return &croft.Error{
		Code: croft.WorkspaceLocked, Message: lockedMessage(reason), Hint: "croft unlock " + shellword.Quote(rec.Workspace.Name),
	}
}

func lockedMessage(reason string) string {
	if reason == "" {
		return "the workspace is locked"
	}
	if strings.Contains(reason, "croft") {
		reason = strconv.Quote(reason) // it is nothing that Croft says to run
	}
	return "the workspace is locked: " + reason
}
