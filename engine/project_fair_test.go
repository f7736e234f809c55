package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestFairAmongGoroutines: of many goroutines that create and remove workspaces through one
// engine, none waits much longer than the others. The measure is how many cycles of others
// end within one cycle: a machine that stalls delays all goroutines alike, and that is not
// unfair.
func TestFairAmongGoroutines(t *testing.T) {
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	const workers, cycles = 20, 25
	var ended atomic.Int64
	overtaken, took := make([][]int64, workers), make([][]time.Duration, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for k := range cycles {
				began, start := ended.Load(), time.Now()
				w, err := e.Create(t.Context(), croft.CreateRequest{Name: fmt.Sprintf("w%d-%d", i, k)})
				if err != nil {
					t.Errorf("create: %v", err)
					return
				}
				if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{w.Name}}); err != nil {
					t.Errorf("remove: %v", err)
					return
				}
				overtaken[i] = append(overtaken[i], ended.Add(1)-1-began)
				took[i] = append(took[i], time.Since(start))
			}
		})
	}
	wg.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(overtaken...)))
	median, most := all[len(all)/2], all[len(all)-1]
	times := slices.Sorted(slices.Values(slices.Concat(took...)))
	t.Logf("%d cycles: median %v, slowest %v", len(times), times[len(times)/2], times[len(times)-1])
	t.Logf("%d cycles: within one end %d of others, within one of a hundred %d, at most %d", len(all), median, all[len(all)*99/100], most)
	if most > 2*workers {
		t.Errorf("within one cycle %d of others ended, in the median %d", most, median)
	}
}
