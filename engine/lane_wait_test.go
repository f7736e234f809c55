package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// gated is a repository whose only check runs until the test releases it.
type gated struct {
	*gittest.Repo
	out string
}

func newGated(t *testing.T) gated {
	t.Helper()
	r := gittest.New(t)
	out := t.TempDir()
	r.Write("croft.toml", fmt.Sprintf("[merge]\nbatch = 1\nchecks = [\"echo x >> %[1]s/begun; while ! test -e %[1]s/go; do sleep 0.02; done\"]\n", out))
	r.Commit("checks")
	return gated{r, out}
}

// submit approves the check, and submits the work of a new workspace.
func (g gated) submit(t *testing.T, e *engine.Engine, name string) croft.ID {
	t.Helper()
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Approve(t.Context(), croft.ApproveRequest{Hash: plan.Hash}); err != nil {
		t.Fatal(err)
	}
	w := create(t, e, croft.CreateRequest{Name: name})
	gittest.WriteFile(t, filepath.Join(w.Path, name), name)
	m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: name})
	if err != nil {
		t.Fatal(err)
	}
	return m.ID
}

// begun waits until n checks have begun.
func (g gated) begun(t *testing.T, n int) {
	t.Helper()
	for range 1000 {
		if g.runs() >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the check has not begun %d times", n)
}

func (g gated) runs() int {
	b, _ := os.ReadFile(filepath.Join(g.out, "begun"))
	return strings.Count(string(b), "x")
}

func (g gated) releaseCheck(t *testing.T) { gittest.WriteFile(t, filepath.Join(g.out, "go"), "") }

// TestWaiterLeaves: the caller that started the check leaves. Another caller waits, so the
// check goes on and is not started again.
func TestWaiterLeaves(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	e := engineIn(t, g.Repo, 0)
	id := g.submit(t, e, "a")
	first, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := e.WaitMerge(first, croft.WaitRequest{Merge: id}); left <- err }()
	g.begun(t, 1)
	got := make(chan *croft.Merge, 1)
	go func() {
		m, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: id})
		if err != nil {
			t.Error(err)
		}
		got <- m
	}()
	time.Sleep(100 * time.Millisecond) // so that the second caller waits
	leave()
	if err := <-left; !errors.Is(err, croft.Canceled) {
		t.Errorf("who left was told %v", err)
	}
	time.Sleep(100 * time.Millisecond)
	g.releaseCheck(t)
	if m := <-got; m == nil || m.Status != croft.MergeMerged {
		t.Errorf("the merge is %+v", m)
	}
	if n := g.runs(); n != 1 {
		t.Errorf("the check ran %d times", n)
	}
}

// TestLastWaiterLeaves: the last caller that waits leaves. The check is killed, the merge
// stays in the queue, and the caller's error says so.
func TestLastWaiterLeaves(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	e := engineIn(t, g.Repo, 0)
	id := g.submit(t, e, "a")
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := e.WaitMerge(ctx, croft.WaitRequest{Merge: id}); left <- err }()
	g.begun(t, 1)
	leave()
	wantStillWaits(t, <-left, "the merge")
	if list, err := e.Merges(t.Context(), croft.MergesRequest{}); err != nil || len(list.Items) != 1 || list.Items[0].State != croft.MergeQueued {
		t.Errorf("the queue is %+v, %v", list, err)
	}
	g.releaseCheck(t)
	if done, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(done.Merges) != 1 || done.Merges[0].Status != croft.MergeMerged {
		t.Errorf("driven again: %+v, %v", done, err)
	}

	// A revert whose caller has left stays in the queue, like a merge.
	if err := os.Remove(filepath.Join(g.out, "go")); err != nil {
		t.Fatal(err)
	}
	n := g.runs()
	ctx, leave = context.WithCancel(t.Context())
	go func() { _, err := croft.Revert(ctx, e, croft.RevertRequest{Ref: "a"}); left <- err }()
	g.begun(t, n+1)
	leave()
	wantStillWaits(t, <-left, "the revert")
	g.releaseCheck(t)
	if done, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil || len(done.Merges) != 1 || done.Merges[0].Kind != croft.KindRevert || done.Merges[0].Status != croft.MergeMerged {
		t.Errorf("driven again: %+v, %v", done, err)
	}
}

// TestRevertAskedAgain: the caller that asked for a revert has left, and asks again. It
// gets the revert that is in the queue, and no second one is queued.
func TestRevertAskedAgain(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	e := engineIn(t, g.Repo, 0)
	id := g.submit(t, e, "a")
	g.releaseCheck(t)
	if m, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: id}); err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	if err := os.Remove(filepath.Join(g.out, "go")); err != nil {
		t.Fatal(err)
	}
	n := g.runs()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := croft.Revert(ctx, e, croft.RevertRequest{Ref: "a"}); left <- err }()
	g.begun(t, n+1)
	leave()
	wantStillWaits(t, <-left, "the revert")
	waiting, err := e.Merges(t.Context(), croft.MergesRequest{})
	if err != nil || len(waiting.Items) != 1 {
		t.Fatalf("the queue is %+v, %v", waiting, err)
	}
	g.releaseCheck(t)
	m, err := croft.Revert(t.Context(), e, croft.RevertRequest{Ref: "a"})
	if err != nil || m.ID != waiting.Items[0].ID || m.Status != croft.MergeMerged {
		t.Errorf("asked again: %+v, %v", m, err)
	}
	if got := strings.Count(g.Git("log", "--format=%s", "main"), "Revert"); got != 1 {
		t.Errorf("%d reverts", got)
	}
}

func wantStillWaits(t *testing.T, err error, what string) {
	t.Helper()
	e := croft.AsError("", err)
	if e == nil || e.Code != croft.Canceled || !strings.Contains(e.Message, what+" has not: it is queued for main") || strings.Contains(e.Error(), "taken back") {
		t.Errorf("who left was told %v", err)
	}
}

// TestWaitingCostsNothing: many callers wait for a merge that this engine checks, many for
// one that another engine checks, and many follow the events. Each of them uses less than a
// hundredth of a core.
func TestWaitingCostsNothing(t *testing.T) {
	g := newGated(t)
	e, other := engineIn(t, g.Repo, 0), engineIn(t, g.Repo, 0)
	id := g.submit(t, e, "a")
	// Engines in one process exclude each other as processes do.
	for _, by := range []*engine.Engine{e, other} {
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { _, _ = by.WaitMerge(ctx, croft.WaitRequest{Merge: id}) })
		}
		g.begun(t, 1)
		wantIdle(t, "50 who wait for a merge")
		if by == other {
			stop()
			wg.Wait()
			continue
		}
		defer wg.Wait()
		defer stop()
	}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range e.Events(ctx, croft.EventsRequest{From: croft.FromNow, Follow: croft.FollowNew}) {
				t.Error("an event from nowhere")
			}
		})
	}
	wantIdle(t, "50 who follow the events")
	stop()
	wg.Wait()
}

// wantIdle measures the CPU time that this process uses in a period, once it has been idle
// for a moment: on a slow machine it takes seconds until all of the callers wait.
func wantIdle(t *testing.T, what string) {
	t.Helper()
	const moment, while = 300 * time.Millisecond, 3 * time.Second
	for begun := time.Now(); ; {
		before := cpuTime(t)
		time.Sleep(moment)
		if cpuTime(t)-before <= raceFactor*moment/100 || time.Since(begun) > 30*time.Second {
			break
		}
	}
	before := cpuTime(t)
	time.Sleep(while)
	used := cpuTime(t) - before
	t.Logf("%s: %v of %v", what, used, while)
	if used > raceFactor*while/100 {
		t.Errorf("%s: %v of %v, which is more than a hundredth", what, used, while)
	}
}
