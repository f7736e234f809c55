package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// untilStopped is the request of a driver that runs until it is stopped.
var untilStopped = croft.DriveRequest{Until: croft.UntilStopped}

// startDriver has an engine drive until stop is called; ended gets its error.
func startDriver(t *testing.T, e *engine.Engine) (stop func(), ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := e.DriveLanes(ctx, untilStopped); done <- err }()
	return cancel, done
}

// wantMerged waits until a merge has landed, without waiting for it by a call that drives.
func wantMerged(t *testing.T, e *engine.Engine, id croft.ID) {
	t.Helper()
	for range 3000 {
		m, err := e.Merge(t.Context(), croft.GetRequest{Ref: croft.Ref(id)})
		if err != nil {
			t.Fatal(err)
		}
		if m.State == croft.MergeDone {
			if m.Status != croft.MergeMerged {
				t.Errorf("the merge ended as %+v", m)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the merge has not ended")
}

// TestDriverOutlivesWaiters: a driver runs a check for which two calls wait, one in its own
// engine and one in another. Both leave. The check goes on and is not run again, and the
// merge lands while no call waits for it.
func TestDriverOutlivesWaiters(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	e, other := engineIn(t, g.Repo, 0), engineIn(t, g.Repo, 0)
	stop, ended := startDriver(t, e)
	defer stop()
	id := g.submit(t, e, "a")
	g.begun(t, 1)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 2)
	for _, by := range []*engine.Engine{e, other} {
		go func() { _, err := by.WaitMerge(ctx, croft.WaitRequest{Merge: id}); left <- err }()
	}
	time.Sleep(100 * time.Millisecond) // so that both calls wait
	leave()
	for range 2 {
		if err := <-left; !errors.Is(err, croft.Canceled) {
			t.Errorf("who left was told %v", err)
		}
	}
	g.releaseCheck(t)
	wantMerged(t, other, id)
	if n := g.runs(); n != 1 {
		t.Errorf("the check ran %d times", n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the driver ended with %v", err)
	}
}

// TestDriverInReserve: of two drivers one runs the check. When it is stopped the other one
// goes on, and lands the merge. A driver whose engine is closed is told so.
func TestDriverInReserve(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	first, second := engineIn(t, g.Repo, 0), engineIn(t, g.Repo, 0)
	stop, ended := startDriver(t, first)
	defer stop()
	id := g.submit(t, first, "a")
	g.begun(t, 1)
	stopSecond, endedSecond := startDriver(t, second)
	defer stopSecond()
	time.Sleep(300 * time.Millisecond)
	if n := g.runs(); n != 1 {
		t.Errorf("two drivers ran the check %d times", n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the first driver ended with %v", err)
	}
	g.begun(t, 2)
	g.releaseCheck(t)
	wantMerged(t, first, id)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := <-endedSecond; !errors.Is(err, croft.Closed) {
		t.Errorf("the second driver ended with %v", err)
	}
}

// TestDriverKilled: the driver's process is killed during a check; the driver in reserve lands
// the merge, once.
func TestDriverKilled(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	e := engineIn(t, g.Repo, 0)
	id := g.submit(t, e, "a")
	req, err := json.Marshal(untilStopped)
	if err != nil {
		t.Fatal(err)
	}
	cmd := helper(t, g.Repo, task{Call: "DriveLanes", Request: req})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.begun(t, 1)
	stop, ended := startDriver(t, e)
	defer stop()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	g.begun(t, 2)
	g.releaseCheck(t)
	wantMerged(t, e, id)
	if got := g.Git("rev-list", "--count", "--merges", "main"); got != "1" {
		t.Errorf("%s merges landed", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the driver ended with %v", err)
	}
}

// TestDriverTidiesAndRests: the driver removes the workspace of what it merged, leaves a held
// merge alone until it is released, and costs next to nothing meanwhile.
func TestDriverTidiesAndRests(t *testing.T) {
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	stop, ended := startDriver(t, e)
	defer stop()
	submit := func(name string) (croft.ID, string) {
		w := create(t, e, croft.CreateRequest{Name: name})
		gittest.WriteFile(t, filepath.Join(w.Path, name), name)
		m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name})
		if err != nil {
			t.Fatal(err)
		}
		return m.ID, w.Path
	}
	id, path := submit("a")
	wantMerged(t, e, id)
	for range 1000 {
		if _, err := os.Lstat(path); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the workspace of the merge stayed")
	}
	wantIdle(t, "a driver without work")
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the driver ended with %v", err)
	}
	held, _ := submit("b")
	change := func(action croft.QueueAction) {
		if _, err := e.ChangeQueue(t.Context(), croft.QueueRequest{Action: action}); err != nil {
			t.Fatal(err)
		}
	}
	change(croft.QueueHold)
	stop, ended = startDriver(t, e)
	defer stop()
	wantIdle(t, "a driver with a held merge")
	if m, err := e.Merge(t.Context(), croft.GetRequest{Ref: croft.Ref(held)}); err != nil || m.State != croft.MergeQueued {
		t.Errorf("the held merge is %+v, %v", m, err)
	}
	change(croft.QueueRelease)
	wantMerged(t, e, held)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the driver ended with %v", err)
	}
}
