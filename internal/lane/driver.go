// Package lane brings the work of workspaces into their targets.
//
// A target is a branch, and has one lane: merges wait in it and land one after the other,
// each as a result that was merged in memory, checked in fresh trees, and published by
// compare-and-swap. What conflicts, fails or brings nothing is turned back and hinders
// nobody behind it. What landed can be reverted through the same lane. Checks run only if a
// person has approved their commands for the project.
//
// A lane is driven by the processes that wait for its merges, one at a time, whichever holds
// its lock; if it dies, the next one goes on where the journal says. A publication that was
// begun is finished by whoever comes next. A target that somebody moves otherwise is
// followed if that lost nothing, and held for a person if it did.
//
// It owns the merges in the journal, the target branches, and the check caches and logs. Of a
// workspace it commits what is uncommitted, through package work; where a target's branch is
// checked out in the project itself, it brings that checkout along.
package lane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/rules"
	"github.com/croft-sh/croft/internal/work"
	"github.com/croft-sh/croft/internal/workspace"
)

// Lanes brings work into targets.
type Lanes struct {
	*project.Projects
	Commits    *work.Commits         // required
	Workspaces *workspace.Workspaces // required
	Removals   *removal.Removals     // required
	Rules      *rules.Rules          // required

	drivers laneDrivers
}

// A lane is driven by whoever waits for one of its merges. Those who wait through
// one engine share a driver: it goes on as long as one of them waits for a merge
// that has not ended, and they are told when something has changed. Whoever
// leaves takes nothing with it but itself.

// laneID names a lane.
type laneID struct {
	repo   croft.ID
	target string
}

// laneDrivers are the drivers of an engine.
type laneDrivers struct {
	mu   sync.Mutex
	byID map[laneID]*driver
}

// driver drives a lane for those who wait.
type driver struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error            // once it is done
	waits  map[croft.ID]int // how many wait, by merge; under the lock of laneDrivers
}

// laneFirst and laneLast are how soon a driver looks again whether the process
// that drives the lane has stopped: soon after that has written something, less
// and less often when it has not.
const (
	laneFirst = 5 * time.Millisecond
	laneLast  = 200 * time.Millisecond
)

// driveEnd is how long the end of a driver is waited for: it stops a check and
// puts back what was in work.
const driveEnd = 10 * time.Second

// joinLane has a lane driven until a merge has ended. It has to be left.
func (svc *Lanes) joinLane(ctx context.Context, r *project.Project, m journal.Merge) *driver {
	lane := laneID{r.ID, m.Target}
	svc.drivers.mu.Lock()
	defer svc.drivers.mu.Unlock()
	d := svc.drivers.byID[lane]
	if d == nil {
		d = &driver{done: make(chan struct{}), waits: map[croft.ID]int{}}
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		d.cancel = cancel
		if svc.drivers.byID == nil {
			svc.drivers.byID = map[laneID]*driver{}
		}
		svc.drivers.byID[lane] = d
		svc.Lifetime.Go(func() {
			defer cancel()
			err := svc.runLane(ctx, r, m.Target, d)
			svc.drivers.mu.Lock()
			delete(svc.drivers.byID, lane)
			svc.drivers.mu.Unlock()
			d.err = err
			close(d.done)
		})
	}
	d.waits[m.ID]++
	return d
}

// leaveLane ends the waiting of one. The last one ends the driver, and waits until it
// has let go of the lane.
func (svc *Lanes) leaveLane(d *driver, id croft.ID) {
	svc.drivers.mu.Lock()
	if d.waits[id]--; d.waits[id] == 0 {
		delete(d.waits, id)
	}
	isLast := len(d.waits) == 0
	svc.drivers.mu.Unlock()
	if !isLast {
		return
	}
	d.cancel()
	select {
	case <-d.done:
	case <-time.After(driveEnd):
	}
}

// isEnough reports whether every merge that is waited for has ended, and its
// workspace is put away or is known to stay.
func (svc *Lanes) isEnough(ctx context.Context, d *driver) bool {
	svc.drivers.mu.Lock()
	ids := slices.Collect(maps.Keys(d.waits))
	svc.drivers.mu.Unlock()
	for _, id := range ids {
		m, err := svc.Journal.Merge(ctx, id)
		if err == nil && (m.Untidy || m.State != croft.MergeDone && !m.IsHeld) {
			return false
		}
	}
	return true
}

// runLane drives a lane, or waits as long as another process does.
func (svc *Lanes) runLane(ctx context.Context, r *project.Project, target string, d *driver) error {
	watch := svc.Journal.Watch()
	defer watch.End()
	isOver, wait := svc.isEnough(ctx, d), laneFirst
	for !isOver {
		changed := watch.Changed()
		err := svc.runLaneOnce(ctx, r, target, func() bool { return svc.isEnough(ctx, d) })
		if !errors.Is(err, flock.ErrHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			isOver, wait = svc.isEnough(ctx, d), laneFirst
		case <-time.After(wait):
			wait = min(2*wait, laneLast)
		}
	}
	return nil
}

// AwaitMerge waits until a merge has ended. If the waiting ends first, the error
// says where the merge is.
func (svc *Lanes) AwaitMerge(ctx context.Context, id croft.ID) (*croft.Merge, error) {
	m, err := svc.awaitEnd(ctx, id)
	if err == nil || ctx.Err() == nil && !svc.Lifetime.IsClosing() {
		return m, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), driveEnd)
	defer cancel()
	now, rerr := svc.Journal.Merge(ctx, id)
	if rerr != nil {
		return nil, err
	}
	if now.State == croft.MergeDone {
		return &now.Merge, nil
	}
	code := croft.Canceled
	if svc.Lifetime.IsClosing() {
		code = croft.Closed
	}
	return nil, stillWaitsError(now, code, err)
}

// stillWaitsError says that nobody waits for a merge any more, and that this is all
// that has ended.
func stillWaitsError(m journal.Merge, code croft.Code, err error) error {
	what, state := "the merge", "it is queued for "+m.Target+", and lands when the queue is next driven"
	if m.Kind == croft.KindRevert {
		what = "the revert"
	}
	if m.State != croft.MergeQueued {
		state = "another process is at it"
	}
	return &croft.Error{
		Code: code, Workspace: m.Workspace, Message: fmt.Sprintf("the waiting has ended, %s has not: %s", what, state),
		Hint: fmt.Sprintf("croft queue run, or croft queue cancel %s", m.ID), Err: err,
	}
}

func (svc *Lanes) awaitEnd(ctx context.Context, id croft.ID) (*croft.Merge, error) {
	watch := svc.Journal.Watch()
	defer watch.End()
	var d *driver
	defer func() {
		if d != nil {
			svc.leaveLane(d, id)
		}
	}()
	for {
		changed := watch.Changed()
		m, err := svc.Journal.Merge(ctx, id)
		switch {
		case errors.Is(err, journal.ErrNotFound):
			return nil, mergeNotFoundError(string(id))
		case err != nil:
			return nil, err
		case m.State == croft.MergeDone && !m.Untidy:
			return &m.Merge, nil
		case m.State != croft.MergeDone && m.IsHeld:
			return nil, &croft.Error{Code: croft.MergeHeld, Message: "the merge is held", Hint: "croft queue release " + m.Workspace}
		}
		if d == nil {
			r, err := svc.ByID(ctx, m.RepoID)
			if err != nil && m.State == croft.MergeDone {
				return &m.Merge, nil // what became of its workspace is not to be had
			}
			if err != nil {
				return nil, err
			}
			d = svc.joinLane(ctx, r, m)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-svc.Lifetime.Closing():
			return nil, explain.Closed("merge")
		case <-changed:
		case <-d.done:
			err := d.err
			svc.leaveLane(d, id)
			d = nil
			// One that the last who waited has just ended is no failure of this one.
			if err != nil && (ctx.Err() != nil || !errors.Is(err, context.Canceled)) {
				return nil, err
			}
		}
	}
}
