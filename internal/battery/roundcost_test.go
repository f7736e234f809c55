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

// TestRoundStart compares the start of a round with as many `git worktree add`,
// as many at once as there are cores, in turns.
func TestRoundStart(t *testing.T) {
	files, agents := size(2000, 10000), size(4, 8)
	bound := 1.15
	if !isLong() {
		bound = 1.6 // fewer files, so that what is paid once weighs more
	}
	p := bigProject(t, files)
	g := &tournament{project: p}
	e := g.engine(t)
	var ours, bare []time.Duration
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
			if _, err := e.StartRound(t.Context(), croft.RoundRequest{Session: ses.ID, Agents: names}); err != nil {
				t.Fatal(err)
			}
			ours = append(ours, time.Since(start))
			bare = append(bare, p.addManyBare(agents, n))
		}
		ratio = float64(median(ours)) / float64(median(bare))
		report(t, "round start", "%d agents, %d files, medians of %d: StartRound %s, as many git worktree add on %d cores %s, ratio %.2f",
			agents, files, len(ours), ms(median(ours)), runtime.NumCPU(), ms(median(bare)), ratio)
		if ratio <= bound && try > 0 {
			return
		}
	}
	if ratio > bound {
		t.Errorf("the start of a round takes %.2f times as long, the bound is %.2f", ratio, bound)
	}
}

// addManyBare adds worktrees with git alone, as many at once as there are cores.
func (p *project) addManyBare(count, n int) time.Duration {
	p.t.Helper()
	turn := make(chan struct{}, runtime.NumCPU())
	var wg sync.WaitGroup
	start := time.Now()
	for i := range count {
		turn <- struct{}{}
		wg.Go(func() {
			defer func() { <-turn }()
			// Git fails where two add at the same moment; then it is tried again.
			for range 50 {
				name := fmt.Sprintf("bare-%d-%d", n, i)
				if r := p.run(p.dir, "git", "worktree", "add", "--quiet", "-B", name, filepath.Join(p.work(), "bare", name), "HEAD"); r.code == 0 {
					return
				}
			}
			p.t.Errorf("git worktree add failed 50 times")
		})
	}
	wg.Wait()
	return time.Since(start)
}
