//go:build unix

package battery

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// mergeBounds are the allowed costs of a merge relative to `git merge --no-ff` in a
// worktree: one by one, and many at once in an open engine.
var mergeBounds = map[int]struct{ single, batch float64 }{
	1000: {0.45, 0.10}, 10_000: {0.18, 0.04}, 100_000: {0.04, 0.01},
}

// TestMergeCost compares merging branches of a few files each with git, which merges in a
// worktree. Croft's target is not checked out. The cost of looking for uncommitted work
// first is reported separately, and so is that of the command, which does that, starts, and
// opens its database for one merge.
func TestMergeCost(t *testing.T) {
	sizes := []int{1000}
	if isLong() {
		sizes = append(sizes, 10_000, 100_000)
	}
	for _, files := range sizes {
		t.Run(fmt.Sprint(files), func(t *testing.T) { measureMerges(t, files) })
	}
}

func measureMerges(t *testing.T, files int) {
	count := map[int]int{1000: size(24, 60), 10_000: 24, 100_000: 6}[files] // a batch
	p := bigProject(t, files)
	p.git(p.dir, "branch", "one")
	p.git(p.dir, "branch", "many")
	p.git(p.dir, "worktree", "add", "--quiet", "-b", "bare", filepath.Join(p.top, "bare"))
	names := make([]string, count*batches)
	for i := range names {
		names[i] = fmt.Sprintf("w%03d", i)
	}
	list := p.mustCroft(append([]string{"new"}, names...)...).Workspaces
	for i, w := range list {
		for k := range 4 {
			at := (i*37 + k*211) % files
			gittest.WriteFile(t, filepath.Join(w.Path, fmt.Sprintf("d%02d/e%03d/new-%d-%d.txt", at/9/64, at/9, i, k)), "new\n")
		}
		p.git(w.Path, "add", "--all")
		p.git(w.Path, "commit", "--quiet", "-m", w.Name)
	}
	unix.Sync() // otherwise the side that syncs first waits for all that was just written
	bounds := mergeBounds[files]
	if !isLong() { // on a machine with other load, only a large increase counts
		bounds.single, bounds.batch = 1.2, 0.35
	}
	best := bounds // of all rounds, each figure for itself
	best.single, best.batch = math.Inf(1), math.Inf(1)
	for round := 1; ; round++ {
		git, single, submit := p.mergeSingly(t, list[:count], fmt.Sprint("one", round))
		besideBatch, batch := p.mergeBatches(t, list, count, round)
		beside, command := p.mergeByCommand(t, list[:count], fmt.Sprint("command", round))
		one, many := ratio(single, git), ratio(batch, besideBatch)
		report(t, "merge", "%d files, medians of %d: git merge --no-ff %s; one merge in an open engine %s, ratio %.3f; "+
			"%d together, median of %d batches: %s each, ratio %.3f, %.0f a second; looking for uncommitted work first %s; croft merge %s, ratio %.2f",
			files, count, ms(median(git)), ms(median(single)), one,
			count, batches, ms(median(batch)), many, 1/median(batch).Seconds(), ms(median(submit)), ms(median(command)), ratio(command, beside))
		best.single, best.batch = min(best.single, one), min(best.batch, many)
		if best.single <= bounds.single && best.batch <= bounds.batch {
			return
		}
		if round == rounds {
			t.Errorf("ratios %.3f and %.3f, the bounds are %.2f and %.2f", best.single, best.batch, bounds.single, bounds.batch)
			return
		}
	}
}

// batches is how many batches are measured, each with other branches.
const batches = 3

// mergeBatches merges batches of branches, and some of each with git before and after it.
// It returns the time of one merge.
func (p *project) mergeBatches(t *testing.T, list []workspace, count, round int) (git, batch []time.Duration) {
	t.Helper()
	for i := range batches {
		part := list[i*count : (i+1)*count]
		mergeBare := p.bareTarget(t, fmt.Sprintf("beside%d-%d", round, i))
		merge := func(some []workspace) {
			for _, w := range some {
				git = append(git, mergeBare(w))
			}
		}
		merge(part[:count/2])
		batch = append(batch, p.mergeTogether(t, part, fmt.Sprintf("many%d-%d", round, i))/time.Duration(count))
		merge(part[count/2:])
	}
	return git, batch
}

func ratio(a, b []time.Duration) float64 { return float64(median(a)) / float64(median(b)) }

// open opens an engine in the project.
func (p *project) open(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.Open(t.Context(), p.dir, &engine.Options{Environ: p.environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// mergeSingly merges each branch with git and with Croft in turn.
func (p *project) mergeSingly(t *testing.T, list []workspace, target string) (git, single, submit []time.Duration) {
	t.Helper()
	mergeBare := p.bareTarget(t, target)
	e := p.open(t)
	for i, w := range list {
		if i%2 == 0 {
			git = append(git, mergeBare(w))
		}
		start := time.Now()
		m, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: w.Name, Target: target, After: croft.AfterKeep})
		if err != nil {
			t.Fatal(err)
		}
		submitted := time.Now()
		done, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: m.ID})
		if err != nil || done.Status != croft.MergeMerged {
			t.Fatalf("%+v, %v", done, err)
		}
		single, submit = append(single, time.Since(submitted)), append(submit, submitted.Sub(start))
		if i%2 == 1 {
			git = append(git, mergeBare(w))
		}
	}
	if got, want := p.git(p.dir, "rev-parse", target+"^{tree}"), p.git(p.dir, "rev-parse", "bare-"+target+"^{tree}"); got != want {
		t.Fatalf("another tree than git's: %s, %s", got, want)
	}
	return git, single, submit
}

// bareTarget makes a target for Croft, and one for git, which is checked out.
// The function merges a branch into the latter.
func (p *project) bareTarget(t *testing.T, target string) func(workspace) time.Duration {
	t.Helper()
	p.git(p.dir, "branch", target, "main")
	bare := filepath.Join(p.top, "bare")
	p.git(bare, "checkout", "--quiet", "-B", "bare-"+target, "main")
	return func(w workspace) time.Duration {
		r := p.run(bare, "git", "merge", "--quiet", "--no-ff", "-m", "m", w.Branch)
		if r.code != 0 {
			t.Fatal(r)
		}
		return r.took
	}
}

// mergeByCommand merges some branches by git and by croft merge in turn.
func (p *project) mergeByCommand(t *testing.T, list []workspace, target string) (git, command []time.Duration) {
	t.Helper()
	mergeBare := p.bareTarget(t, target)
	for _, w := range list[:min(len(list), 12)] {
		git = append(git, mergeBare(w))
		r := p.croft("merge", "--keep", "--into", target, w.Name)
		if r.code != 0 || r.err != nil {
			t.Fatal(r)
		}
		command = append(command, r.took)
	}
	return git, command
}

// mergeTogether merges all branches from one queue.
func (p *project) mergeTogether(t *testing.T, list []workspace, target string) time.Duration {
	t.Helper()
	p.git(p.dir, "branch", target, "main")
	e := p.open(t)
	for _, w := range list {
		if _, err := e.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: w.Name, Target: target, After: croft.AfterKeep}); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now()
	done, err := e.DriveLanes(t.Context(), croft.DriveRequest{Target: target})
	took := time.Since(start)
	if err != nil || len(done.Merges) != len(list) {
		t.Fatalf("%d merges, %v", len(done.Merges), err)
	}
	for _, m := range done.Merges {
		if m.Status != croft.MergeMerged {
			t.Fatalf("%+v", m)
		}
	}
	return took
}
