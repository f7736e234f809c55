//go:build unix

package battery

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/client"
)

// followers follow the events of a daemon. One of ten ends its stream and begins it again, all
// the time.
type followers struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	start  croft.Cursor

	mu        sync.Mutex
	seen      [][]croft.Cursor
	latencies []time.Duration
}

// follow begins to follow with n readers, from now on.
func follow(t *testing.T, d *served, n int) *followers {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &followers{cancel: cancel, seen: make([][]croft.Cursor, n)}
	c := d.client(0)
	list, err := c.Workspaces(ctx, croft.WorkspacesRequest{Page: croft.Page{Limit: 1}})
	if err != nil {
		t.Fatal(err)
	}
	f.start = list.Cursor
	for i := range n {
		own := d.client(30 * time.Second)
		f.wg.Go(func() {
			defer func() { _ = own.Close() }()
			f.read(ctx, own, i)
		})
	}
	return f
}

// read follows until the context ends.
func (f *followers) read(ctx context.Context, c *client.Client, i int) {
	after := f.start
	for ctx.Err() == nil {
		left := -1
		if i%10 == 0 {
			left = 1 + rand.IntN(20)
		}
		for ev, err := range c.Events(ctx, croft.EventsRequest{After: after, Follow: croft.FollowNew}) {
			if err != nil {
				break
			}
			after = ev.Cursor
			f.mu.Lock()
			f.seen[i] = append(f.seen[i], ev.Cursor)
			f.latencies = append(f.latencies, time.Since(ev.Time))
			f.mu.Unlock()
			if left--; left == 0 {
				break
			}
		}
	}
}

// told is what the followers have seen.
type told struct {
	events, gaps, duplicates int
	latencies                []time.Duration
}

// stop waits until every follower has seen the last event, and compares what they saw with
// what there was.
func (f *followers) stop(t *testing.T, c *client.Client) told {
	t.Helper()
	var want []croft.Cursor
	for ev, err := range c.Events(t.Context(), croft.EventsRequest{After: f.start}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, ev.Cursor)
	}
	for deadline := time.Now().Add(20 * time.Second); !f.haveAll(len(want)) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	f.cancel()
	f.wg.Wait()
	out := told{events: len(want), latencies: f.latencies}
	for _, seen := range f.seen {
		times := map[croft.Cursor]int{}
		for _, c := range seen {
			if times[c]++; times[c] > 1 {
				out.duplicates++
			}
		}
		for _, c := range want {
			if times[c] == 0 {
				out.gaps++
			}
		}
	}
	return out
}

func (f *followers) haveAll(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, seen := range f.seen {
		if len(seen) < n {
			return false
		}
	}
	return true
}
