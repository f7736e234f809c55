//go:build unix && !race

package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestStatusesOfMany measures the status of many checkouts of 100 files, a tenth of which have work,
// beside a git process for each, on all cores, in turns: with nothing remembered, and again. What
// bounds it is the time of the processors, of this process and its children: that is the same on a
// busy machine. CROFT_LONG=1 takes 1,000 checkouts.
func TestStatusesOfMany(t *testing.T) {
	n, rounds := 40, 5
	if os.Getenv("CROFT_LONG") != "" {
		n, rounds = 1000, 7
	}
	r := gittest.New(t)
	for i := range 100 {
		r.Write(fmt.Sprintf("d%d/f%d", i%11, i), fmt.Sprintf("file %d\n", i))
	}
	r.Commit("files")
	repo := open(t, r)
	trees := make([]*Worktree, n)
	for i := range trees {
		trees[i] = addWorktree(t, r, repo, fmt.Sprint("w", i))
		if i%10 == 0 {
			gittest.WriteFile(t, filepath.Join(trees[i].Path, "d0/f0"), "work\n")
		}
	}
	each := func(do func(w *Worktree) int) (took time.Duration, changed int) {
		var mu sync.Mutex
		next := 0
		began := time.Now()
		var all sync.WaitGroup
		for range 2 * runtime.NumCPU() {
			all.Go(func() {
				for {
					mu.Lock()
					i := next
					next++
					mu.Unlock()
					if i >= n {
						return
					}
					if do(trees[i]) > 0 {
						mu.Lock()
						changed++
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		return time.Since(began), changed
	}
	bare := func(locks string) (time.Duration, int) {
		return each(func(w *Worktree) int {
			cmd := exec.Command("git", "status", "--porcelain", "--untracked-files=all")
			cmd.Dir, cmd.Env = w.Path, append(slices.Clone(r.Env), "GIT_OPTIONAL_LOCKS="+locks)
			out, err := cmd.Output()
			if err != nil {
				t.Error(err)
			}
			return len(out)
		})
	}
	of := func(s *Statuses) (time.Duration, int) {
		defer s.Close()
		return each(func(w *Worktree) int {
			list, err := s.Of(t.Context(), w, UntrackedAll)
			if err != nil {
				t.Error(err)
			}
			return len(list)
		})
	}
	time.Sleep(1100 * time.Millisecond)
	bare("1") // an agent's git has noted the times in a later second
	took, cpu := map[string][]time.Duration{}, map[string][]time.Duration{}
	for range rounds {
		_ = os.Remove(repo.statusMemoryFile())
		for _, k := range []struct {
			name string
			do   func() (time.Duration, int)
		}{
			{"bare git", func() (time.Duration, int) { return bare("0") }},
			{"nothing remembered", func() (time.Duration, int) { return of(repo.RememberedStatuses(t.Context())) }},
			{"remembered", func() (time.Duration, int) { return of(repo.RememberedStatuses(t.Context())) }},
		} {
			before := processorTime(t)
			d, changed := k.do()
			cpu[k.name] = append(cpu[k.name], processorTime(t)-before)
			if changed != n/10 {
				t.Errorf("%s: %d with work, want %d", k.name, changed, n/10)
			}
			took[k.name] = append(took[k.name], d)
		}
	}
	walls, cpus := medians(took), medians(cpu)
	t.Logf("%d checkouts of 100 files: %v; of the processors %v", n, walls, cpus)
	if bare := cpus["bare git"]; cpus["nothing remembered"]*2 > bare || cpus["remembered"]*3 > bare {
		t.Errorf("a git for each takes %v of the processors, this %v, and again %v", bare, cpus["nothing remembered"], cpus["remembered"])
	}
}

func medians(of map[string][]time.Duration) map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, list := range of {
		slices.Sort(list)
		out[name] = list[len(list)/2]
	}
	return out
}

// processorTime returns what this process and its children have used.
func processorTime(t *testing.T) (sum time.Duration) {
	t.Helper()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
