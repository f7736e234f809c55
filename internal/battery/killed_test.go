//go:build unix

package battery

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestKilledInGit kills Croft from inside each of its calls of git: before git has run,
// while it runs on alone, and after it has run.
func TestKilledInGit(t *testing.T) {
	p := smallProject(t)
	calls := countCalls(t, p, append([]string{"new"}, trio()...))
	killed := 0
	for i, how := range []string{killBefore, killDuring, killAfter} {
		for at := 1; at <= calls; at++ {
			if at != calls && !isLong() && at%3 != i {
				continue // the short form kills in each call in one way, in turn, and in the last in all
			}
			t.Run(fmt.Sprintf("%s call %d", how, at), func(t *testing.T) {
				p := smallProject(t)
				s := newShim(t, p, at, how)
				before := p.foreign()
				r := p.croft(append([]string{"new"}, trio()...)...)
				s.remove(p)
				if r.code != -1 {
					t.Fatalf("it was not killed: %v", r)
				}
				killed++
				if how == killBefore && (at == calls || isLong()) {
					leaveLocks(t, p)
				}
				requireRecovery(t, p, before, at%2 == 0)
			})
		}
	}
	report(t, "all-or-none", "killed from inside each of %d calls of git: %d kills, all taken back, the same names worked afterwards", calls, killed)
}

// countCalls runs croft and returns how often it called git.
func countCalls(t *testing.T, p *project, args []string) int {
	t.Helper()
	s := newShim(t, p, 0, killBefore)
	p.mustCroft(args...)
	s.remove(p)
	if s.count(t) == 0 {
		t.Fatalf("croft %v did not call git", args)
	}
	return s.count(t)
}

// TestKilledRemoving kills a removal from inside each of its calls of git, and at random
// moments. The same command afterwards must finish it, and leave nothing but trash.
func TestKilledRemoving(t *testing.T) {
	p := smallProject(t)
	requireTrio(t, p)
	calls := countCalls(t, p, removeTrio())
	killed := 0
	for i, how := range []string{killBefore, killDuring, killAfter} {
		for at := 1; at <= calls; at++ {
			if at != calls && !isLong() && at%3 != i {
				continue // the short form kills in each call in one way, in turn, and in the last in all
			}
			t.Run(fmt.Sprintf("%s call %d", how, at), func(t *testing.T) {
				p := busyTrio(t)
				s := newShim(t, p, at, how)
				r := p.croft(removeTrio()...)
				s.remove(p)
				if r.code != -1 {
					t.Fatalf("it was not killed: %v", r)
				}
				killed++
				requireRemoved(t, p)
			})
		}
	}
	p = busyTrio(t)
	usual := p.croft(removeTrio()...)
	rnd := rand.New(rand.NewPCG(5, 6))
	runs := size(5, 100)
	for i := range runs {
		t.Run(fmt.Sprintf("random %d", i), func(t *testing.T) {
			p := busyTrio(t)
			p.signalled(syscall.SIGKILL, time.Duration(rnd.Int64N(int64(usual.took))), removeTrio())
			requireRemoved(t, p)
		})
	}
	report(t, "killed removals", "%d kills from inside each of %d calls of git and %d at random moments: "+
		"all finished afterwards, no leak, all uncommitted work in the trash", killed, calls, runs)
}

func removeTrio() []string { return append([]string{"remove", "--force", "--missing-ok"}, trio()...) }

// busyTrio makes three workspaces with uncommitted work.
func busyTrio(t *testing.T) *project {
	t.Helper()
	p := smallProject(t)
	p.mustCroft(append([]string{"new"}, trio()...)...)
	for _, name := range trio() {
		mustDo(t, writeFile(filepath.Join(p.workspaces(), name, "untracked.txt"), name))
	}
	return p
}

// signalled runs croft and sends it a signal after a delay.
func (p *project) signalled(sig syscall.Signal, after time.Duration, args []string) result {
	return p.runWith(func(proc *os.Process) {
		time.AfterFunc(after, func() { _ = proc.Signal(sig) })
	}, p.dir, "croft", asJSON(args)...)
}

// requireNoOperation checks that nothing is left of operations. If a process died when it
// recorded its operation, upkeep deletes the lock file after some time.
func (p *project) requireNoOperation() {
	p.t.Helper()
	pattern := filepath.Join(p.state(), "ops", "*")
	left, _ := filepath.Glob(pattern)
	if len(left) == 0 {
		return
	}
	past := time.Now().Add(-time.Hour)
	for _, path := range left {
		mustDo(p.t, os.Chtimes(path, past, past))
	}
	p.mustCroft("gc")
	if left, _ := filepath.Glob(pattern); len(left) > 0 {
		p.t.Errorf("operations left: %v", left)
	}
}

// requireRemoved removes the three workspaces, some of which may be gone, and checks that
// nothing is left of them.
func requireRemoved(t *testing.T, p *project) {
	t.Helper()
	if r := p.croft(removeTrio()...); r.code != 0 {
		t.Errorf("the same command again: %v", r)
	}
	p.requireNoOperation()
	for _, l := range p.leaks() {
		t.Errorf("left behind: %s", l)
	}
	trash := filepath.Join(p.workspaces(), ".trash", "*")
	kept, _ := filepath.Glob(filepath.Join(trash, "tree", "untracked.txt"))
	admin, _ := filepath.Glob(filepath.Join(trash, "admin", "gitdir"))
	if len(kept) != 3 || len(admin) != 3 {
		t.Errorf("the trash has %d of 3 uncommitted files and %d of 3 admin directories", len(kept), len(admin))
	}
	requireTrio(t, p)
}

// leaveLocks locks the refs of unfinished workspaces, like a git that is killed together
// with its Croft.
func leaveLocks(t *testing.T, p *project) {
	t.Helper()
	for _, ref := range lines(p.git(p.dir, "for-each-ref", "--format=%(refname)", "refs/heads/croft/", "refs/croft/ws/")) {
		mustDo(t, os.WriteFile(filepath.Join(p.dir, ".git", ref+".lock"), nil, 0o644))
	}
}

// requireRecovery checks a project whose Croft was killed. Either it had done its work and
// only the answer is missing, or nothing of it may remain. With doctored, the doctor mends
// what was left and everything must be as before; without, the next creation itself has to.
// Where the workspaces were complete and only their record was missing, either finishes the
// creation: then all three are there.
func requireRecovery(t *testing.T, p *project, before manifest, doctored bool) (done bool) {
	t.Helper()
	if isTrioReady(p) {
		return true
	}
	if doctored {
		if r := p.croft("doctor", "--fix"); r.code != 0 {
			t.Errorf("croft doctor --fix: %v", r)
		}
		if isTrioReady(p) {
			return true
		}
		requireSame(t, "after the doctor", before, p.foreign())
	}
	r := p.croft(append([]string{"new"}, trio()...)...)
	if !doctored && p.answer(r).code() == "WORKTREE_EXISTS" && isTrioReady(p) {
		return true
	}
	requireMade(t, p, r)
	return false
}

// isTrioReady reports whether the three workspaces, and no others, are there and clean.
func isTrioReady(p *project) bool {
	list := p.mustCroft("list").Workspaces
	return len(list) == 3 && !slices.ContainsFunc(list, func(w workspace) bool {
		return w.State != "ready" || p.git(w.Path, "status", "--porcelain") != ""
	})
}

// TestKilledAtRandom kills Croft, or interrupts it, at random moments.
func TestKilledAtRandom(t *testing.T) {
	var usual []time.Duration
	for range 3 {
		usual = append(usual, smallProject(t).croft(append([]string{"new"}, trio()...)...).took)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		runs, finished := size(12, 120), 0
		for i := range runs {
			t.Run(fmt.Sprintf("%v %d", sig, i), func(t *testing.T) {
				p := smallProject(t)
				before := p.foreign()
				delay := time.Duration(rnd.Int64N(int64(median(usual))))
				r := p.signalled(sig, delay, append([]string{"new"}, trio()...))
				switch {
				case r.code == 0:
					finished++
					if n := len(p.mustCroft("list").Workspaces); n != 3 {
						t.Errorf("it said that it was done, and there are %d workspaces", n)
					}
				case sig == syscall.SIGINT && r.code != -1:
					if a := p.answer(r); a.code() != "CANCELED" {
						t.Errorf("an interrupted croft new says %v", r)
					}
					requireSame(t, "after the interrupt", before, p.foreign())
					requireTrio(t, p)
				case requireRecovery(t, p, before, i%2 == 0):
					finished++
				}
			})
		}
		report(t, "all-or-none", "%v at %d random moments of croft new (%d had ended before): nothing remained, the same names worked afterwards", sig, runs, finished)
	}
}
