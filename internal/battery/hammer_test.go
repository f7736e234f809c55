//go:build unix

package battery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestHammer has many agents create a workspace, commit in it, list, and remove it, over
// and over, while the user works in the main checkout and runs upkeep.
func TestHammer(t *testing.T) {
	const agents = 16
	cycles := size(6, 50)
	p := bigProject(t, 50)
	start := time.Now()

	var stop atomic.Bool
	var user sync.WaitGroup
	var rounds int
	var userFailed []string
	var again atomic.Int32
	user.Go(func() {
		for !stop.Load() || rounds == 0 {
			rounds++
			userFailed = append(userFailed, p.userRound(rounds)...)
		}
	})
	failed := atOnce(agents, func(agent int) []string {
		var failures []string
		for cycle := range cycles {
			failures = append(failures, p.agentCycle(fmt.Sprintf("agent%d-%d", agent, cycle), &again)...)
		}
		return failures
	})
	took := time.Since(start)
	stop.Store(true)
	user.Wait()

	surfaced := 0
	for _, list := range append(failed, userFailed) {
		surfaced += len(list)
		for _, f := range list {
			t.Error(f)
		}
	}
	leaks := p.leaks()
	for _, l := range leaks {
		t.Errorf("left behind: %s", l)
	}
	fsck := p.run(p.dir, "git", "fsck", "--full", "--no-dangling", "--no-progress")
	if fsck.code != 0 || strings.Contains(fsck.stdout+fsck.stderr, "error") || strings.Contains(fsck.stdout, "missing") {
		t.Errorf("git fsck: %v", fsck)
	}
	report(t, "hammer", "%d processes × %d cycles beside %d rounds of the user's commit, branch, gc and prune: "+
		"%d failures, %d leaks, fsck exit %d, %.1f s; %d times an agent's own git ran into the user's gc and was run again",
		agents, cycles, rounds, surfaced, len(leaks), fsck.code, took.Seconds(), again.Load())
}

// ownGit runs an agent's own git. git gc deletes empty directories of objects, and another
// git that has just made one to write an object into fails. Croft has no part in that: the
// command is run again, and counted.
func (p *project) ownGit(dir string, again *atomic.Int32, args ...string) result {
	for range 5 {
		r := p.run(dir, "git", args...)
		if !strings.Contains(r.stderr, "unable to create temporary file: No such file or directory") {
			return r
		}
		again.Add(1)
	}
	return p.run(dir, "git", args...)
}

// agentCycle is the life of one workspace. It returns the failures.
func (p *project) agentCycle(name string, again *atomic.Int32) (failures []string) {
	ok := func(r result, what string) bool {
		if r.code == 0 && r.err == nil {
			return true
		}
		failures = append(failures, fmt.Sprintf("%s: %s: %v", name, what, r))
		return false
	}
	if !ok(p.croft("new", name), "croft new") {
		return failures
	}
	at := filepath.Join(p.workspaces(), name)
	if err := os.WriteFile(filepath.Join(at, name+".txt"), []byte(name), 0o644); err != nil {
		failures = append(failures, err.Error())
	}
	ok(p.ownGit(at, again, "add", "--all"), "git add")
	ok(p.ownGit(at, again, "commit", "--quiet", "--message", name), "git commit")
	if r := p.croft("list"); ok(r, "croft list") && !strings.Contains(r.stdout, `"name":"`+name+`"`) {
		failures = append(failures, name+": croft list does not show it")
	}
	ok(p.croft("remove", "--force", name), "croft remove")
	if _, err := os.Lstat(at); err == nil {
		failures = append(failures, name+": the directory is still there after croft remove")
	}
	return failures
}

// userRound does what a user does at the same time. It returns the failures.
func (p *project) userRound(n int) (failures []string) {
	branch := fmt.Sprintf("user/%d", n)
	for _, args := range [][]string{
		{"commit", "--quiet", "--allow-empty", "--message", branch},
		{"branch", branch},
		{"worktree", "prune"},
		{"branch", "--quiet", "-D", branch},
		{"gc", "--quiet"},
	} {
		if r := p.run(p.dir, "git", args...); r.code != 0 || r.err != nil {
			failures = append(failures, fmt.Sprintf("the user's git %s: %v", strings.Join(args, " "), r))
		}
	}
	return failures
}

// leaks lists files and refs that removed workspaces left behind, except for the trash and
// the archive.
func (p *project) leaks() (found []string) {
	p.t.Helper()
	found = append(found, lines(p.git(p.dir, "for-each-ref", "--format=%(refname)", "refs/heads/croft/"))...)
	for _, ref := range lines(p.git(p.dir, "for-each-ref", "--format=%(refname)", "refs/croft/ws/")) {
		if !strings.HasSuffix(ref, "/record") {
			found = append(found, ref)
		}
	}
	if list := lines(p.git(p.dir, "worktree", "list")); len(list) != 1 {
		found = append(found, list[1:]...)
	}
	for _, dir := range []string{
		p.workspaces(), filepath.Join(p.dir, ".git", "worktrees"), filepath.Join(p.dir, ".git", "croft", "staging"),
		filepath.Join(p.dir, ".git", "croft", "tmp"), filepath.Join(p.state(), "ops"),
	} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if e.Name() != ".trash" {
				found = append(found, filepath.Join(dir, e.Name()))
			}
		}
	}
	for _, w := range p.mustCroft("list").Workspaces {
		found = append(found, "the record of "+w.Name)
	}
	locks, _ := filepath.Glob(filepath.Join(p.dir, ".git", "*.lock"))
	return append(found, locks...)
}
