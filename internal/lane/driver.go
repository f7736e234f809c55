// Package lane merges the work of workspaces into their targets.
//
// A target is a branch, and has one lane: merges wait in it and land one after the
// other, each as a result that was merged in memory, checked in fresh trees, and
// published by compare-and-swap. A merge that conflicts, fails or brings nothing is
// rejected, and does not stop those behind it. A merge that landed can be reverted
// through the same lane. Checks run only if a person has approved their commands for
// the project.
//
// The processes that wait for the merges of a lane drive it, one process at a time: the
// one that holds the lane's lock. If it dies, the next one continues from the journal,
// and finishes a publication that was begun. If a target is moved outside of its lane
// the lane follows it, unless the target is protected or the lane's last commit is
// lost: then a person has to accept the move.
//
// The package owns the merges in the journal, the target branches, and the check caches
// and logs. In a workspace it commits uncommitted work, through package work; if a
// target is checked out in the project itself, it updates that checkout.
package lane

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/attempt"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/rules"
	"github.com/croft-sh/croft/internal/work"
	"github.com/croft-sh/croft/internal/workspace"
)

// Lanes merges work into targets.
type Lanes struct {
	*project.Projects
	Commits    *work.Commits         // required
	Workspaces *workspace.Workspaces // required
	Removals   *removal.Removals     // required
	Rules      *rules.Rules          // required

	drivers laneDrivers
}

// A lane is driven by the processes that wait for its merges. The calls that wait through one
// engine share a driver, which runs as long as one of them waits for a merge that has not
// ended. A call that stops waiting stops no other.

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

// driver runs a lane for the calls of this engine that wait for its merges.
type driver struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error            // once it is done
	waits  map[croft.ID]int // how many calls wait, by merge, or by standing; under the lock of laneDrivers

	// unmanned is closed when the last call that drives until it is stopped leaves; nil: no such
	// call has joined. Under the lock of laneDrivers.
	unmanned chan struct{}
}

// laneFirst and laneLast are the shortest and the longest time after which a driver
// tries the lane's lock again while another process drives the lane: soon after that
// process has written to the journal, less and less often when it has not.
const (
	laneFirst = 5 * time.Millisecond
	laneLast  = 200 * time.Millisecond
)

// driveEnd is how long a call waits for its driver to end: the driver stops a check and
// requeues the merges that it worked on.
const driveEnd = 10 * time.Second

// joinLane returns the driver of a lane, and starts one if there is none. id is the merge
// that the caller waits for, or standing. The caller must call leaveLane.
func (svc *Lanes) joinLane(ctx context.Context, r *project.Project, target string, id croft.ID) *driver {
	lane := laneID{r.ID, target}
	svc.drivers.mu.Lock()
	defer svc.drivers.mu.Unlock()
	d := svc.drivers.byID[lane]
	if d == nil {
		d = &driver{done: make(chan struct{}), waits: map[croft.ID]int{}}
		ctx, cancel := context.WithCancel(project.AsService(context.WithoutCancel(ctx)))
		d.cancel = cancel
		if svc.drivers.byID == nil {
			svc.drivers.byID = map[laneID]*driver{}
		}
		svc.drivers.byID[lane] = d
		svc.Lifetime.Go(func() {
			defer cancel()
			err := svc.runLane(ctx, r, target, d)
			svc.drivers.mu.Lock()
			delete(svc.drivers.byID, lane)
			svc.drivers.mu.Unlock()
			d.err = err
			close(d.done)
		})
	}
	if d.waits[id]++; id == standing && d.waits[id] == 1 {
		d.unmanned = make(chan struct{})
	}
	return d
}

// leaveLane ends the waiting of one call. The last call cancels the driver, and waits until
// the driver has released the lane's lock.
func (svc *Lanes) leaveLane(d *driver, id croft.ID) {
	svc.drivers.mu.Lock()
	if d.waits[id]--; d.waits[id] == 0 {
		delete(d.waits, id)
		if id == standing {
			close(d.unmanned)
		}
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

// isEnough reports whether every merge that a call waits for is held or cannot be read, or has
// ended and its workspace was removed or is known to stay. It is false while a call drives the
// lane until it is stopped.
func (svc *Lanes) isEnough(ctx context.Context, d *driver) bool {
	svc.drivers.mu.Lock()
	ids := slices.Collect(maps.Keys(d.waits))
	svc.drivers.mu.Unlock()
	for _, id := range ids {
		if id == standing {
			return false
		}
		m, err := svc.Journal.Merge(ctx, id)
		if err == nil && (m.Untidy || m.State != croft.MergeDone && !m.IsHeld) {
			return false
		}
	}
	return true
}

// runLane drives a lane, or waits while another process does.
func (svc *Lanes) runLane(ctx context.Context, r *project.Project, target string, d *driver) error {
	watch := svc.Journal.Watch()
	defer watch.End()
	isOver, wait := svc.isEnough(ctx, d), laneFirst
	for !isOver {
		changed := watch.Changed()
		err := svc.runLaneOnce(ctx, r, target, d)
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

// runLaneOnce lands the merges of a lane until its driver has done enough, or none waits and
// no call drives the lane until it is stopped. It fails with flock.ErrHeld if another process
// holds the lane's lock.
func (svc *Lanes) runLaneOnce(ctx context.Context, r *project.Project, target string, d *driver) error {
	l, err := tryLockLane(r, target)
	if err != nil {
		return err
	}
	defer l.Unlock()
	r.Git.PrestartMerge(ctx)
	if err := svc.recoverLane(ctx, r, target); err != nil {
		return err
	}
	watch := svc.Journal.Watch()
	defer watch.End()
	var tries laneTries
	for !svc.isEnough(ctx, d) {
		if err := ctx.Err(); err != nil {
			return err
		}
		changed := watch.Changed()
		more, err := svc.landNextBatch(ctx, r, target)
		if err := svc.afterBatch(ctx, r, target, &tries, err); err != nil {
			return err
		}
		// Calls that wait for one of the merges return once its workspace is removed;
		// the workspaces of the other merges are removed here, too.
		if err := svc.Removals.RemoveMerged(context.WithoutCancel(ctx), r); err != nil {
			return err
		}
		if !more && !svc.awaitWork(ctx, r, target, d, changed) {
			return ctx.Err()
		}
	}
	return svc.Removals.RemoveMerged(context.WithoutCancel(ctx), r)
}

// ShowMerge returns the merge with an ID.
func (svc *Lanes) ShowMerge(ctx context.Context, req croft.GetRequest) (*croft.Merge, error) {
	m, err := svc.Journal.Merge(ctx, croft.RefToID(req.Ref))
	if errors.Is(err, journal.ErrNotFound) {
		return nil, attempt.MergeNotFoundError(string(req.Ref))
	}
	if err == nil && isAtWork(m) {
		if r, err := svc.ByID(ctx, m.RepoID); err == nil {
			now := svc.shown(ctx, r, m)
			return &now, nil
		}
	}
	return &m.Merge, err
}

// WaitMerge waits until the merge that a request names has ended.
func (svc *Lanes) WaitMerge(ctx context.Context, req croft.WaitRequest) (*croft.Merge, error) {
	return svc.AwaitMerge(ctx, req.Merge)
}

// AwaitMerge waits until a merge has ended, and until its workspace was removed if that
// is due. It drives the lane meanwhile if no other process does. It fails with MergeHeld
// if the merge is held. If ctx or the engine ends first, it returns the merge if that has
// ended by then, and otherwise an error that says where the merge is.
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
	return nil, attempt.StillWaitsError(now, code, err)
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
			return nil, attempt.MergeNotFoundError(string(id))
		case err != nil:
			return nil, err
		case m.State == croft.MergeDone && !m.Untidy:
			return &m.Merge, nil
		case m.State != croft.MergeDone && m.IsHeld:
			return nil, attempt.HeldError(m.Merge)
		}
		if d == nil {
			r, err := svc.ByID(ctx, m.RepoID)
			if err != nil && m.State == croft.MergeDone {
				return &m.Merge, nil // its workspace cannot be looked up
			}
			if err != nil {
				return nil, err
			}
			d = svc.joinLane(ctx, r, m.Target, m.ID)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-svc.Lifetime.Closing():
			return nil, explain.ClosedError("merge")
		case <-changed:
		case <-d.done:
			err := d.err
			svc.leaveLane(d, id)
			d = nil
			// Another call, the last that waited, canceled the driver: join a new one.
			if err != nil && (ctx.Err() != nil || !errors.Is(err, context.Canceled)) {
				return nil, err
			}
		}
	}
}
