package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/journal"
)

// A lane is driven by whoever waits for one of its merges. Those who wait through
// one engine share a driver: it goes on as long as one of them waits for a merge
// that has not ended, and they are told when something has changed. Whoever
// leaves takes nothing with it but itself.

// laneID names a lane.
type laneID struct {
	repo   croft.ID
	target string
}

// driver drives a lane for those who wait.
type driver struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once it is done

	mu    sync.Mutex
	waits map[croft.ID]int // how many wait, by merge
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
func (e *Engine) joinLane(ctx context.Context, r *repo, m journal.Merge) *driver {
	lane := laneID{r.id, m.Target}
	e.mu.Lock()
	defer e.mu.Unlock()
	d := e.drivers[lane]
	if d == nil {
		d = &driver{done: make(chan struct{}), waits: map[croft.ID]int{}}
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		d.cancel = cancel
		e.drivers[lane] = d
		e.work.Go(func() {
			defer cancel()
			err := e.runLane(ctx, r, m.Target, d)
			e.mu.Lock()
			delete(e.drivers, lane)
			e.mu.Unlock()
			d.err = err
			close(d.done)
		})
	}
	d.mu.Lock()
	d.waits[m.ID]++
	d.mu.Unlock()
	return d
}

// leaveLane ends the waiting of one. The last one ends the driver, and waits until it
// has let go of the lane.
func (e *Engine) leaveLane(d *driver, id croft.ID) {
	d.mu.Lock()
	if d.waits[id]--; d.waits[id] == 0 {
		delete(d.waits, id)
	}
	isLast := len(d.waits) == 0
	d.mu.Unlock()
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
func (e *Engine) isEnough(ctx context.Context, d *driver) bool {
	d.mu.Lock()
	ids := make([]croft.ID, 0, len(d.waits))
	for id := range d.waits {
		ids = append(ids, id)
	}
	d.mu.Unlock()
	for _, id := range ids {
		m, err := e.journal.Merge(ctx, id)
		if err == nil && (m.Untidy || m.State != croft.MergeDone && !m.IsHeld) {
			return false
		}
	}
	return true
}

// runLane drives a lane, or waits as long as another process does.
func (e *Engine) runLane(ctx context.Context, r *repo, target string, d *driver) error {
	watch := e.journal.Watch()
	defer watch.End()
	isOver, wait := e.isEnough(ctx, d), laneFirst
	for !isOver {
		changed := watch.Changed()
		err := e.drive(ctx, r, target, func() bool { return e.isEnough(ctx, d) })
		if !errors.Is(err, flock.ErrHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
			isOver, wait = e.isEnough(ctx, d), laneFirst
		case <-time.After(wait):
			wait = min(2*wait, laneLast)
		}
	}
	return nil
}

// waitMerge waits until a merge has ended. If the waiting ends first, the error
// says where the merge is.
func (e *Engine) waitMerge(ctx context.Context, id croft.ID) (*croft.Merge, error) {
	m, err := e.awaitMerge(ctx, id)
	if err == nil || ctx.Err() == nil && !e.isClosing() {
		return m, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), driveEnd)
	defer cancel()
	now, rerr := e.journal.Merge(ctx, id)
	if rerr != nil {
		return nil, err
	}
	if now.State == croft.MergeDone {
		return &now.Merge, nil
	}
	code := croft.Canceled
	if e.isClosing() {
		code = croft.Closed
	}
	return nil, stillWaits(now, code, err)
}

// stillWaits says that nobody waits for a merge any more, and that this is all
// that has ended.
func stillWaits(m journal.Merge, code croft.Code, err error) error {
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

func (e *Engine) awaitMerge(ctx context.Context, id croft.ID) (*croft.Merge, error) {
	watch := e.journal.Watch()
	defer watch.End()
	var d *driver
	defer func() {
		if d != nil {
			e.leaveLane(d, id)
		}
	}()
	for {
		changed := watch.Changed()
		m, err := e.journal.Merge(ctx, id)
		switch {
		case errors.Is(err, journal.ErrNotFound):
			return nil, mergeNotFound(string(id))
		case err != nil:
			return nil, err
		case m.State == croft.MergeDone && !m.Untidy:
			return &m.Merge, nil
		case m.State != croft.MergeDone && m.IsHeld:
			return nil, &croft.Error{Code: croft.MergeHeld, Message: "the merge is held", Hint: "croft queue release " + m.Workspace}
		}
		if d == nil {
			r, err := e.repoByID(ctx, m.RepoID)
			if err != nil && m.State == croft.MergeDone {
				return &m.Merge, nil // what became of its workspace is not to be had
			}
			if err != nil {
				return nil, err
			}
			d = e.joinLane(ctx, r, m)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-e.closing:
			return nil, explain.Closed("merge")
		case <-changed:
		case <-d.done:
			err := d.err
			e.leaveLane(d, id)
			d = nil
			// One that the last who waited has just ended is no failure of this one.
			if err != nil && (ctx.Err() != nil || !errors.Is(err, context.Canceled)) {
				return nil, err
			}
		}
	}
}
