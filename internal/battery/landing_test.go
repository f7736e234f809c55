//go:build unix

package battery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestLanding queues many merges, a fifth of them in conflict, and kills the process that
// runs the queue at random moments, while a user commits to the target in its checkout.
// Each work is merged exactly once or reported, no commit is lost, and no temporary file is
// left.
func TestLanding(t *testing.T) {
	count, kills := size(40, 500), size(6, 50)
	p := smallProject(t)
	names := p.queueWork(t, count)
	stop := p.commitOutside(t)
	rnd := rand.New(rand.NewPCG(11, uint64(count)))
	killed := 0
	for killed < kills {
		wait := time.Duration(rnd.IntN(size(150, 400))) * time.Millisecond // a few merges are done soon
		r := p.runWith(func(proc *os.Process) {
			time.AfterFunc(wait, func() { _ = syscall.Kill(-proc.Pid, syscall.SIGKILL) })
		}, p.dir, "croft", "queue", "run", "--json")
		if r.code >= 0 {
			if p.waiting(t) == 0 {
				break
			}
			continue
		}
		killed++
	}
	p.finishQueue(t)
	outside := stop()
	merged, conflicts := p.verifyLanded(t, names, outside)
	report(t, "landing", "%d merges queued, %d in conflict, the driver killed %d times, %d commits by somebody else meanwhile: %d merged exactly once, %d reported, nothing left",
		count, conflicts, killed, len(outside), merged, conflicts)
	if killed < kills/2 {
		t.Errorf("killed only %d times", killed)
	}
}

// queueWork creates workspaces and queues them; every fifth conflicts with the one before
// it.
func (p *project) queueWork(t *testing.T, count int) []string {
	t.Helper()
	for i := range count {
		p.write(fmt.Sprintf("shared/%03d.txt", i), "base\n")
	}
	p.git(p.dir, "add", "--all")
	p.git(p.dir, "commit", "--quiet", "-m", "shared")
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("w%03d", i)
	}
	for i, w := range p.mustCroft(append([]string{"new"}, names...)...).Workspaces {
		at := i
		if i%5 == 4 {
			at = i - 1
		}
		gittest.WriteFile(t, filepath.Join(w.Path, fmt.Sprintf("shared/%03d.txt", at)), w.Name+"\n")
		gittest.WriteFile(t, filepath.Join(w.Path, "own", w.Name+".txt"), w.Name+"\n")
	}
	r := p.croft(append([]string{"merge", "--no-wait"}, names...)...)
	if r.code != 0 {
		t.Fatal(r)
	}
	return names
}

// commitOutside commits to main in its own checkout until it is stopped, and then returns
// its commits.
func (p *project) commitOutside(t *testing.T) (stop func() []string) {
	t.Helper()
	var commits []string
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-time.After(time.Duration(size(400, 1000)) * time.Millisecond):
			}
			name := fmt.Sprintf("outside-%d.txt", i)
			if err := writeFile(filepath.Join(p.dir, name), "x\n"); err != nil {
				t.Error(err)
				return
			}
			// A commit that finds a lock taken is tried again, as people do.
			for range 200 {
				if p.run(p.dir, "git", "add", name).code == 0 && p.run(p.dir, "git", "commit", "--quiet", "-m", name, "--", name).code == 0 {
					commits = append(commits, p.git(p.dir, "log", "-1", "--format=%H", "--", name))
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
	})
	return func() []string { close(done); wg.Wait(); return commits }
}

type mergesAnswer struct {
	Merges []croft.Merge `json:"merges"`
}

func (p *project) merges(t *testing.T, args ...string) []croft.Merge {
	t.Helper()
	r := p.croft(args...)
	var a mergesAnswer
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil {
		t.Fatalf("%v: %v", err, r)
	}
	return a.Merges
}

func (p *project) waiting(t *testing.T) int { return len(p.merges(t, "queue")) }

// finishQueue runs the queue until no merge waits.
func (p *project) finishQueue(t *testing.T) {
	t.Helper()
	for range 20 {
		if p.waiting(t) == 0 {
			return
		}
		if r := p.croft("queue", "run"); r.err != nil || r.code < 0 {
			t.Fatal(r)
		}
	}
	t.Fatal("the queue does not become empty")
}

func (p *project) verifyLanded(t *testing.T, names, outside []string) (merged, conflicts int) {
	t.Helper()
	log := p.git(p.dir, "log", "--first-parent", "--format=%(trailers:key=Croft-Merge,valueonly,separator=%x20)", "main")
	landed := map[string]int{}
	for id := range strings.FieldsSeq(log) {
		landed[id]++
	}
	ended := map[string]croft.Merge{}
	for _, m := range p.merges(t, "queue", "--all", "--limit", "100000") {
		ended[m.WorkspaceName] = m
	}
	for _, name := range names {
		m := ended[name]
		switch {
		case m.Status == croft.MergeMerged:
			merged++
			if landed[string(m.ID)] != 1 {
				t.Errorf("%s is on main %d times", name, landed[string(m.ID)])
			}
			if got := p.git(p.dir, "show", "main:own/"+name+".txt"); got != name {
				t.Errorf("%s landed as %q", name, got)
			}
		case m.Reason == croft.Conflict:
			conflicts++
			if landed[string(m.ID)] != 0 {
				t.Errorf("%s is reported and on main", name)
			}
		default:
			t.Errorf("%s ended as %s %s: %s", name, m.Status, m.Reason, m.Message)
		}
	}
	for _, c := range outside {
		if p.run(p.dir, "git", "merge-base", "--is-ancestor", c, "main").code != 0 {
			t.Errorf("the commit %s of somebody else is lost", c)
		}
	}
	p.verifyForward(t)
	if got := p.git(p.dir, "status", "--porcelain"); got != "" {
		t.Errorf("the checkout of main shows %s", got)
	}
	p.git(p.dir, "fsck", "--strict", "--no-dangling")
	for _, name := range []string{"index.lock", "refs/heads/main.lock", "packed-refs.lock", "HEAD.lock"} {
		if _, err := os.Lstat(filepath.Join(p.dir, ".git", name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	return merged, conflicts
}

// verifyForward fails if main ever moved to a commit that does not contain its previous
// one.
func (p *project) verifyForward(t *testing.T) {
	t.Helper()
	log := lines(p.git(p.dir, "reflog", "show", "--format=%H", "main"))
	for i := 1; i < len(log); i++ {
		if p.run(p.dir, "git", "merge-base", "--is-ancestor", log[i], log[i-1]).code != 0 {
			t.Errorf("main was forced from %s to %s", log[i], log[i-1])
		}
	}
}
