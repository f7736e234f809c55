package lane

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// A driver that is killed leaves its merges as those that it works on. The next driver puts them back into the queue;
// until then they are shown as if they were there, and who changes the queue puts them there first.

// isAtWork reports whether the record of a merge says that a driver works on it.
func isAtWork(m journal.Merge) bool {
	return m.State != croft.MergeQueued && m.State != croft.MergeDone
}

// IsInterrupted reports whether the driver that a merge's record tells of has died. m is the record as it was read.
func (svc *Lanes) IsInterrupted(ctx context.Context, r *project.Project, m journal.Merge) bool {
	if !isAtWork(m) || !svc.IsUnrun(r, m.Target) {
		return false
	}
	now, err := svc.Journal.Merge(ctx, m.ID) // a driver may have ended it in between, or have begun
	return err == nil && now.Revision == m.Revision
}

// shown returns a merge as it is shown: in the queue if its driver has died.
func (svc *Lanes) shown(ctx context.Context, r *project.Project, m journal.Merge) croft.Merge {
	if svc.IsInterrupted(ctx, r, m) {
		return attempt.Requeued(m).Merge
	}
	return m.Merge
}

// settleInterrupted puts the merges back into the queue that a driver left when it died, of one target or of all. It leaves
// a lane alone that is being driven.
func (svc *Lanes) settleInterrupted(ctx context.Context, r *project.Project, target string) error {
	waiting, err := svc.Journal.Waiting(ctx, r.ID, target, -1)
	if err != nil || r.Git == nil {
		return err
	}
	settled := map[string]bool{}
	for _, m := range waiting {
		if settled[m.Target] || !svc.IsInterrupted(ctx, r, m) {
			continue
		}
		settled[m.Target] = true
		if err := svc.settleLane(ctx, r, m.Target); err != nil {
			return err
		}
	}
	return nil
}

func (svc *Lanes) settleLane(ctx context.Context, r *project.Project, target string) error {
	l, err := tryLockLane(r, target)
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer l.Unlock()
	return svc.recoverLane(ctx, r, target)
}
