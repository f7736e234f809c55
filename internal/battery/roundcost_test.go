//go:build unix

package battery

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// TestRoundStart compares the start of a round with as many `git worktree add`, as many at
// once as there are cores, in turns. The workspaces of a round are verified when the call
// returns, which includes the work of git's first status in a fresh worktree; that is
// measured too, and bounded.
func TestRoundStart(t *testing.T) {
	files, agents := size(2000, 10000), size(4, 8)
	bound := 1.15
	if !isLong() {
		bound = 1.6 // fewer files, so that fixed costs weigh more
	}
	p := bigProject(t, files)
	g := &tournament{project: p}
	e := g.engine(t)
	var ours, bare, first []time.Duration
	names := make([]string, agents)
	for i := range names {
		names[i] = fmt.Sprintf("player%d", i)
	}
	ratio := 0.0
	for try := range size(3, 5) {
		for range 2 { // nothing is deleted between repeats
			n := len(ours)
			ses, err := e.StartSession(t.Context(), croft.SessionRequest{Name: fmt.Sprintf("cup%d", n)})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if _, err := e.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: names}); err != nil {
				t.Fatal(err)
			}
			ours = append(ours, time.Since(start))
			bare = append(bare, p.addManyBare(agents, n))
			first = append(first, bare[n]+p.statusOfMany(agents, n))
		}
		ratio = float64(median(ours)) / float64(median(first))
		report(t, "round start", "%d agents, %d files, medians of %d: StartRound %s; as many git worktree add on %d cores %s, ratio %.2f; with the first status in each %s, ratio %.2f",
			agents, files, len(ours), ms(median(ours)), runtime.NumCPU(), ms(median(bare)), float64(median(ours))/float64(median(bare)), ms(median(first)), ratio)
		if ratio <= bound && try > 0 {
			return
		}
	}
	if ratio > bound {
		t.Errorf("the start of a round takes %.2f times as long, the bound is %.2f", ratio, bound)
	}
}

// addManyBare adds worktrees with git alone.
func (p *project) addManyBare(count, n int) time.Duration {
	p.t.Helper()
	return p.atOnce(count, func(i int) bool {
		name := fmt.Sprintf("bare-%d-%d", n, i)
		return p.run(p.dir, "git", "worktree", "add", "--quiet", "-B", name, filepath.Join(p.work(), "bare", name), "HEAD").code == 0
	})
}

// statusOfMany asks git for the status in worktrees that addManyBare added.
func (p *project) statusOfMany(count, n int) time.Duration {
	p.t.Helper()
	return p.atOnce(count, func(i int) bool {
		return p.run(filepath.Join(p.work(), "bare", fmt.Sprintf("bare-%d-%d", n, i)), "git", "status", "--porcelain").code == 0
	})
}

// atOnce calls f for each item, as many at once as there are cores. git fails where two add
// at the same moment; then it is tried again.
func (p *project) atOnce(count int, try func(i int) bool) time.Duration {
	p.t.Helper()
	turn := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	start := time.Now()
	for i := range count {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			for range 50 {
				if try(i) {
					return
				}
			}
			p.t.Errorf("git failed 50 times")
		})
	}
	wg.Wait()
	return time.Since(start)
}
