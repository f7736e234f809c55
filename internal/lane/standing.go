package lane

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// standing stands for the merge that a call waits for, where the call drives a lane until it
// is stopped.
const standing croft.ID = ""

// standingFirst and standingLast are the shortest and the longest time after which a lane
// whose driver failed for a reason of the machine is driven again.
const (
	standingFirst = time.Second
	standingLast  = time.Minute
)

// runUntilStopped drives the lanes of a repository, or that of one target, until ctx or the
// engine ends, also lanes that get their first merge meanwhile.
func (svc *Lanes) runUntilStopped(ctx context.Context, repo croft.ID, target string) (*croft.QueueResult, error) {
	var lanes sync.WaitGroup
	defer lanes.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	watch := svc.Journal.Watch()
	defer watch.End()
	driven := map[string]bool{}
	for {
		changed := watch.Changed()
		var again <-chan time.Time
		targets := []string{target}
		if target == "" {
			var err error
			if targets, err = svc.Journal.LaneTargets(ctx, repo); err != nil && ctx.Err() == nil {
				svc.Notice("queues that are new are not driven: %v", explain.Error("merge", "", err))
				again = time.After(standingFirst)
			}
		}
		for _, t := range targets {
			if !driven[t] {
				driven[t] = true
				lanes.Go(func() { svc.driveUntilStopped(ctx, repo, t) })
			}
		}
		select {
		case <-ctx.Done():
			return &croft.QueueResult{Merges: []croft.Merge{}}, nil
		case <-svc.Lifetime.Closing():
			return nil, explain.ClosedError("merge")
		case <-changed:
		case <-again:
		}
	}
}

// driveUntilStopped drives one lane until ctx ends. If the driver fails, it starts another one
// after a while: calls that waited through the first have got its error.
func (svc *Lanes) driveUntilStopped(ctx context.Context, repo croft.ID, target string) {
	wait := standingFirst
	for ctx.Err() == nil {
		begun := time.Now()
		err := svc.standIn(ctx, repo, target)
		if ctx.Err() != nil || err == nil || errors.Is(err, context.Canceled) {
			continue // the driver of another call was just ending, or was canceled by that call
		}
		if time.Since(begun) > standingLast {
			wait = standingFirst
		}
		svc.Notice("nothing is merged into %s for %v: %v", target, wait, explain.Error("merge", "", err))
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, standingLast)
	}
}

// standIn joins the driver of a lane until ctx or the driver ends.
func (svc *Lanes) standIn(ctx context.Context, repo croft.ID, target string) error {
	r, err := svc.ByID(ctx, repo)
	if err != nil {
		return err
	}
	d := svc.joinLane(ctx, r, target, standing)
	defer svc.leaveLane(d, standing)
	select {
	case <-ctx.Done():
		return nil
	case <-d.done:
		return d.err
	}
}

// awaitWork waits, while a call drives the lane until it is stopped, for a merge that the
// lane can work on. changed is closed when the journal has changed since the lane last looked.
// It returns false if there is no such call, or ctx has ended. The caller holds the lane's
// lock.
func (svc *Lanes) awaitWork(ctx context.Context, r *project.Project, target string, d *driver, changed <-chan struct{}) bool {
	watch := svc.Journal.Watch()
	defer watch.End()
	for {
		svc.drivers.mu.Lock()
		isManned, unmanned := d.waits[standing] > 0, d.unmanned
		svc.drivers.mu.Unlock()
		if !isManned {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-unmanned:
			continue // perhaps another call drives the lane by now
		case <-changed:
		}
		changed = watch.Changed()
		if svc.hasWork(ctx, r, target) {
			return true
		}
	}
}

// hasWork reports whether a lane has a merge that is not held, or the project a workspace that
// is to be removed after its merge. It is true if that cannot be read: the lane then fails with
// the reason.
func (svc *Lanes) hasWork(ctx context.Context, r *project.Project, target string) bool {
	waiting, err := svc.Journal.Waiting(ctx, r.ID, target, -1)
	if err != nil || slices.ContainsFunc(waiting, func(m journal.Merge) bool { return !m.IsHeld }) {
		return true
	}
	untidy, err := svc.Journal.Untidy(ctx, r.ID)
	return err != nil || slices.ContainsFunc(untidy, func(m journal.Merge) bool { return m.Target == target })
}
