package shadow_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/proc"
)

// TestPullCost compares a pull with a status of the checkout by plain git, in alternation:
// one that finds nothing new, and one that brings a commit. The bound is on the ratio of
// the medians; it is looser for few files, where waiting for the disk, which a status does
// not do, is most of a pull.
func TestPullCost(t *testing.T) {
	files, rounds, bound := 2000, 9, 8.0
	if slices.Contains(proc.Environ(), "CROFT_LONG=1") {
		files, rounds, bound = 10_000, 31, 3
	}
	f, c := fixture(t, false)
	for i := range files {
		f.Repo.Write(fmt.Sprintf("d%d/e%d/f%d.txt", i%20, i%200, i), strings.Repeat(fmt.Sprintf("line %d\n", i), 40))
	}
	f.Repo.Git("config", "gc.auto", "0")
	f.Repo.Commit("many")
	f.Repo.Git("gc", "--quiet")
	f.Repo.Git("branch", "--force", f.Spec.Branch)
	f.Spec.Base = f.Repo.Git("rev-parse", "HEAD")
	makeCheckout(t, f)
	agent(t, f, "status")
	var status, idle, busy []time.Duration
	timed := func(act func()) time.Duration {
		began := time.Now()
		act()
		return time.Since(began)
	}
	harvest := func() {
		if err := c.At(f.Spec).Pull(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for attempt := range 3 {
		for i := range rounds {
			gittest.WriteFile(t, filepath.Join(f.Spec.Path, "d0", "e0", "f0.txt"), fmt.Sprintf("round %d %d\n", attempt, i))
			agent(t, f, "commit", "--quiet", "--all", "--message", "round")
			busy = append(busy, timed(harvest))
			status = append(status, timed(func() { agent(t, f, "--no-optional-locks", "status", "--porcelain=v2") }))
			idle = append(idle, timed(harvest))
		}
		median := func(list []time.Duration) time.Duration { return slices.Sorted(slices.Values(list))[len(list)/2] }
		one, nothing := float64(median(busy))/float64(median(status)), float64(median(idle))/float64(median(status))
		t.Logf("%d files, medians of %d: git status %v, harvest of a commit %v (%.2f), of nothing new %v (%.3f)",
			files, len(status), median(status), median(busy), one, median(idle), nothing)
		if one <= bound && nothing <= 0.5 {
			return
		}
	}
	t.Errorf("a harvest takes more than %.0f times as long as a status, or half of one if nothing is new", bound)
}
