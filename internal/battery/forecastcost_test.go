//go:build unix

package battery

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestForecastCost forecasts the collisions of a fleet of which a tenth has work, half of it
// committed, half not: with nothing remembered, with nothing changed, and after one file was
// written. Beside it stands what plain git takes for nothing but a status of each workspace,
// as many at once as there are cores: whoever wants to know what changed asks for no less.
func TestForecastCost(t *testing.T) {
	n, runs := size(60, 1000), size(3, 5)
	p := bigProject(t, 100)
	p.makeFleet(n)
	var cold, warm, changed, statuses, coldRest, warmRest, changedRest []time.Duration
	pairs := 0
	for run := range runs {
		p.forget()
		if run > 0 {
			p.forgetLooks()
		}
		f := p.conflicts()
		if len(f.Order) != n/10 || f.Effort.Remembered != 0 {
			t.Fatalf("run %d: %d in order, %+v", run, len(f.Order), f.Effort)
		}
		cold, coldRest = append(cold, f.took), append(coldRest, time.Duration(f.Effort.Comparing))
		statuses = append(statuses, p.allStatuses(n))
		w := p.conflicts()
		if pairs = w.Effort.Pairs; w.Effort.Remembered != pairs {
			t.Fatalf("run %d: nothing changed, and yet %+v", run, w.Effort)
		}
		if diff := cmp.Diff(f.Pairs, w.Pairs); diff != "" {
			t.Fatalf("run %d: what is remembered differs:\n%s", run, diff)
		}
		warm, warmRest = append(warm, w.took), append(warmRest, time.Duration(w.Effort.Comparing))
		p.litterAt(filepath.Join(p.workspaces(), agentName(10)), "work/more.txt", fmt.Sprint("run ", run))
		c := p.conflicts()
		if fresh := c.Effort.Pairs - c.Effort.Remembered; fresh != n/10 {
			t.Fatalf("run %d: one changed, and %d pairs were compared", run, fresh)
		}
		changed, changedRest = append(changed, c.took), append(changedRest, time.Duration(c.Effort.Comparing))
	}
	report(t, "forecast cost", "%d workspaces, %d with work, %d pairs, medians of %d: cold %s, of which comparing %s; warm %s, of which comparing %s; "+
		"one changed %s, of which comparing %s; the statuses by bare git %s",
		n, n/10, pairs, runs, ms(median(cold)), ms(median(coldRest)), ms(median(warm)), ms(median(warmRest)),
		ms(median(changed)), ms(median(changedRest)), ms(median(statuses)))
	if most := 3*median(statuses) + 500*time.Millisecond; median(cold) > most {
		t.Errorf("a first forecast took %s, the statuses %s", ms(median(cold)), ms(median(statuses)))
	}
	if most := 3*median(statuses) + 200*time.Millisecond; median(warm) > most || median(changed) > most {
		t.Errorf("a forecast that remembers took %s and %s, the statuses %s", ms(median(warm)), ms(median(changed)), ms(median(statuses)))
	}
}

// makeFleet makes workspaces of which a tenth has work, half of it committed, half not.
func (p *project) makeFleet(n int) {
	p.t.Helper()
	for at := 0; at < n; at += 20 {
		names := make([]string, 20)
		for i := range names {
			names[i] = agentName(at + i)
		}
		p.mustCroft(append([]string{"new"}, names...)...)
	}
	for i := 0; i < n; i += 10 {
		dir := filepath.Join(p.workspaces(), agentName(i))
		for k := range 3 { // with other workspaces, and seldom in the same place
			p.litterAt(dir, fmt.Sprintf("work/of%d.txt", (i*7+k*13)%n), fmt.Sprint("by ", i))
		}
		if i%20 == 0 {
			p.git(dir, "add", "--all")
			p.git(dir, "commit", "--quiet", "--message", "work")
		}
	}
}

// litterAt writes one file of a workspace.
func (p *project) litterAt(dir, path, text string) {
	p.t.Helper()
	gittest.WriteFile(p.t, filepath.Join(dir, path), text+"\n")
}

// allStatuses returns how long plain git takes for a status of each workspace.
func (p *project) allStatuses(n int) time.Duration {
	p.t.Helper()
	start := time.Now()
	var wg sync.WaitGroup
	workers := runtime.NumCPU()
	for k := range workers {
		wg.Go(func() {
			for i := k; i < n; i += workers {
				p.gitIn(filepath.Join(p.workspaces(), agentName(i)), nil, "", "status", "--porcelain=v2", "-z", "--untracked-files=all")
			}
		})
	}
	wg.Wait()
	return time.Since(start)
}
