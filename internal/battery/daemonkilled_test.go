//go:build unix

package battery

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestDaemonKilled kills a daemon again and again while programs make workspaces, change and
// lock them through it. What was answered is there, and a call with a key has one answer,
// however often it was sent and whichever daemon gave it.
func TestDaemonKilled(t *testing.T) {
	kills := size(8, 50)
	p := smallProject(t)
	d := p.serve()
	w := &keyedWork{t: t, d: d, answers: map[string]croft.ID{}, metas: map[croft.ID]string{}}
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() { w.run(ctx, i) })
	}
	for range kills {
		time.Sleep(time.Duration(50+rand.IntN(400)) * time.Millisecond)
		d.kill()
		d.start()
	}
	time.Sleep(500 * time.Millisecond)
	stop()
	wg.Wait()
	lost, doubled := w.verify()
	report(t, "daemon killed", "%d kills, %d acknowledged calls with a key, %d of them lost, %d with another answer; %d calls failed and were made again",
		kills, w.acknowledged, lost, doubled, w.again)
	if lost > 0 || doubled > 0 || w.acknowledged < kills {
		t.Errorf("%d acknowledged, %d lost, %d doubled", w.acknowledged, lost, doubled)
	}
}

// keyedWork is calls with keys, and what was answered to them.
type keyedWork struct {
	t *testing.T
	d *served

	mu           sync.Mutex
	answers      map[string]croft.ID // by key
	metas        map[croft.ID]string // the last acknowledged change of a workspace
	acknowledged int
	again        int
}

// run makes workspaces and changes them, one after the other. A call that fails is made again
// with its key.
func (w *keyedWork) run(ctx context.Context, i int) {
	c := w.d.client(10 * time.Second)
	defer func() { _ = c.Close() }()
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("k%d-%d", i, n)
		var made *croft.Workspace
		if !w.insist(ctx, func() (err error) {
			made, err = c.Create(context.WithoutCancel(ctx), croft.CreateRequest{Key: key, Name: key})
			return err
		}) {
			return
		}
		w.mu.Lock()
		w.answers[key] = made.ID
		w.mu.Unlock()
		if !w.insist(ctx, func() error {
			_, err := c.UpdateWorkspace(context.WithoutCancel(ctx), croft.UpdateRequest{Key: key + "-meta", Workspace: croft.ByID(made.ID), Meta: map[string]string{"by": key}})
			return err
		}) {
			return
		}
		w.mu.Lock()
		w.metas[made.ID] = key
		w.mu.Unlock()
	}
}

// insist makes a call until it is acknowledged. It reports false if the time is over first.
func (w *keyedWork) insist(ctx context.Context, call func() error) bool {
	for {
		err := call()
		w.mu.Lock()
		if err == nil {
			w.acknowledged++
		} else {
			w.again++
		}
		w.mu.Unlock()
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case !croft.AsError("", err).Code.Retryable():
			w.t.Errorf("a call with a key failed: %v", err)
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// verify compares what was acknowledged with what is there, and makes every call once more.
func (w *keyedWork) verify() (lost, doubled int) {
	c := w.d.client(10 * time.Second)
	defer func() { _ = c.Close() }()
	list, err := c.Workspaces(w.t.Context(), croft.WorkspacesRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	names, metas := map[string]int{}, map[croft.ID]string{}
	for _, ws := range list.Items {
		names[ws.Name]++
		metas[ws.ID] = ws.Meta["by"]
	}
	for key, id := range w.answers {
		if names[key] != 1 {
			lost++
		}
		if by := w.metas[id]; by != "" && metas[id] != by {
			lost++
		}
		again, err := c.Create(w.t.Context(), croft.CreateRequest{Key: key, Name: key})
		if err != nil || again.ID != id {
			doubled++
		}
	}
	return lost, doubled
}
