//go:build unix

package battery

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// atOnce runs f n times at the same time and returns what each gave.
func atOnce[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			<-gate
			out[i] = f(i)
		})
	}
	ready.Wait()
	close(gate)
	done.Wait()
	return out
}

// TestParallel creates many workspaces at once, each by a process of its own, from a branch
// of a remote: plain git writes the configuration of the tracking branch then, and its
// processes fail at each other's locks.
func TestParallel(t *testing.T) {
	for range size(1, 10) {
		parallelRound(t)
	}
}

func parallelRound(t *testing.T) {
	const processes, bare = 64, 32
	p := bigProject(t, 50)

	start := time.Now()
	results := atOnce(processes, func(i int) result {
		return p.croft("new", "--base", "origin/main", fmt.Sprintf("w%02d", i))
	})
	took := time.Since(start)
	failed := 0
	for i, r := range results {
		if r.code != 0 || r.err != nil {
			failed++
			t.Errorf("process %d: %v", i, r)
		}
	}
	made := p.mustCroft("list").Workspaces
	branches := lines(p.git(p.dir, "for-each-ref", "--format=%(refname)", "refs/heads/"))
	registered := strings.Count(p.git(p.dir, "worktree", "list", "--porcelain"), "worktree ") - 1
	stray := len(branches) - 1 - len(made)
	if failed != 0 || len(made) != processes || registered != processes || stray != 0 {
		t.Errorf("%d failures, %d workspaces, %d worktrees, %d stray branches; want 0, %d, %d, 0",
			failed, len(made), registered, stray, processes, processes)
	}
	for _, w := range made {
		if s := p.git(w.Path, "status", "--porcelain"); s != "" || w.State != "ready" {
			t.Errorf("%s is %s and its status says %q", w.Name, w.State, s)
		}
	}
	if config := p.git(p.dir, "config", "--local", "--list"); strings.Contains(config, "branch.croft/") {
		t.Errorf("a workspace's branch tracks another one:\n%s", config)
	}

	bareFailed := 0
	for _, r := range atOnce(bare, func(i int) result {
		path := filepath.Join(p.top, "bare", itoa(i))
		return p.run(p.dir, "git", "worktree", "add", "-b", "bare"+itoa(i), path, "origin/main")
	}) {
		if r.code != 0 || r.err != nil {
			bareFailed++
		}
	}
	report(t, "parallel", "croft: %d processes, %d workspaces, %d failures, %d stray branches, %.1f s; bare git worktree add: %d of %d failed",
		processes, len(made), failed, stray, took.Seconds(), bareFailed, bare)
}
