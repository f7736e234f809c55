package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestFairAmongGoroutines: of many who make and remove workspaces through one
// engine, nobody waits much longer than the others.
func TestFairAmongGoroutines(t *testing.T) {
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	const workers, cycles = 20, 25
	times := make([][]time.Duration, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for k := range cycles {
				began := time.Now()
				w, err := e.Create(t.Context(), croft.CreateRequest{Name: fmt.Sprintf("w%d-%d", i, k)})
				if err != nil {
					t.Errorf("create: %v", err)
					return
				}
				if _, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{w.Name}}); err != nil {
					t.Errorf("remove: %v", err)
					return
				}
				times[i] = append(times[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	all := slices.Sorted(slices.Values(slices.Concat(times...)))
	median, slowest := all[len(all)/2], all[len(all)-1]
	t.Logf("%d cycles: median %v, 99 %% %v, slowest %v", len(all), median, all[len(all)*99/100], slowest)
	if slowest > 5*median {
		t.Errorf("the slowest cycle took %v, the median is %v", slowest, median)
	}
}
