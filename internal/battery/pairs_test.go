//go:build linux

package battery

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// pairAct is one command that changes a workspace which others change at the same time.
type pairAct struct {
	name string
	args func(s *pairScene) []string
}

// pairActs are the acts on a workspace. The long form has more, among them reads and upkeep.
func pairActs() []pairAct {
	on := func(args ...string) func(*pairScene) []string {
		return func(s *pairScene) []string { return append(args, s.name) }
	}
	acts := []pairAct{
		{"finish", on("finish")},
		{"merge", on("merge")},
		{"merge and keep", on("merge", "--keep")},
		{"resolve", on("merge", "--resolve")},
		{"snapshot", on("snapshot")},
		{"restore a snapshot", func(s *pairScene) []string { return []string{"restore", s.snapshot} }},
		{"remove", on("remove", "--force")},
		{"discard", on("discard", "--yes")},
		{"apply", func(s *pairScene) []string { return []string{"apply", s.name, "chosen.txt"} }},
		{"revert", on("revert")},
		{"undo", func(*pairScene) []string { return []string{"undo", "--yes", "--force"} }},
	}
	if !isLong() {
		return acts
	}
	return append(acts,
		pairAct{"restore", on("restore")},
		pairAct{"lock", on("lock", "--reason", "mine")},
		pairAct{"merge into", func(s *pairScene) []string { return []string{"merge", "--keep", "--into", "croft/" + s.name, "other"} }},
		pairAct{"diff", on("diff")},
		pairAct{"show", on("show")},
		pairAct{"conflicts", func(*pairScene) []string { return []string{"conflicts"} }},
		pairAct{"gc", func(*pairScene) []string { return []string{"gc"} }},
		pairAct{"doctor", func(*pairScene) []string { return []string{"doctor", "--fix"} }},
		pairAct{"reap", func(*pairScene) []string { return []string{"reap", "--force", "--older-than", "1ms"} }},
	)
}

// TestPairs runs every two acts on one workspace at once, while its agent stages and
// commits there. Each succeeds or fails with a code that a person can act on; the index of
// neither checkout is wrong, the repository is whole, and no lock is left.
func TestPairs(t *testing.T) {
	turns := size(3, 20)
	acts := pairActs()
	var pairs, refused, done int
	var mu sync.Mutex
	t.Run("all", func(t *testing.T) {
		for i, a := range acts {
			for _, b := range acts[i:] {
				pairs++
				t.Run(a.name+" beside "+b.name, func(t *testing.T) {
					t.Parallel()
					p := smallProject(t)
					p.mustCroft("new", "other")
					p.mustCroft("lock", "other") // so that no reap removes it
					for turn := range turns {
						s := p.setPair(turn)
						results := s.run([]pairAct{a, b})
						mu.Lock()
						for _, r := range results {
							if r.code == 0 {
								done++
							} else {
								refused++
							}
						}
						mu.Unlock()
						if t.Failed() {
							return
						}
					}
				})
			}
		}
	})
	t.Logf("battery: pairs: %d pairs of acts, %d times each: %d done, %d refused with a code", pairs, turns, done, refused)
	if done == 0 || refused == 0 {
		t.Error("nothing was done, or nothing was ever in the way")
	}
}

// pairScene is a workspace with a merge, a snapshot, and work that is in neither.
type pairScene struct {
	*project
	name, path, snapshot string
}

func (p *project) setPair(turn int) *pairScene {
	p.t.Helper()
	s := &pairScene{project: p, name: fmt.Sprintf("q%d", turn)}
	s.path = p.mustCroft("new", s.name).Workspaces[0].Path
	s.put("landed.txt", turn)
	p.mustCroft("merge", "--keep", s.name)
	s.put("chosen.txt", turn)
	p.mustCroft("snapshot", s.name)
	s.snapshot = string(p.look().Snapshots[0].ID)
	s.put("later.txt", turn)
	p.write(fmt.Sprintf("main-%d.txt", turn), "main\n")
	p.git(p.dir, "add", "--all")
	p.git(p.dir, "commit", "--quiet", "--message", "main goes on")
	return s
}

func (s *pairScene) put(file string, turn int) {
	s.t.Helper()
	if err := writeFile(filepath.Join(s.path, file), fmt.Sprintln("turn", turn)); err != nil {
		s.t.Fatal(err)
	}
}

// run runs acts at once beside the agent, and checks the result.
func (s *pairScene) run(acts []pairAct) []result {
	s.t.Helper()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.agent(stop)
	}()
	results := make([]result, len(acts))
	var wg sync.WaitGroup
	for i, act := range acts {
		args := act.args(s)
		wg.Go(func() { results[i] = s.croft(args...) })
	}
	wg.Wait()
	close(stop)
	<-ended
	for i, r := range results {
		if raw := rawCode(r); raw != "" {
			s.t.Errorf("%s: %s: %v", acts[i].name, raw, r)
		}
	}
	s.check()
	return results
}

// rawCode finds a code, anywhere in an answer, that says only that something failed.
func rawCode(r result) string {
	if r.err != nil || r.code < 0 {
		return "no answer"
	}
	for _, code := range []string{"INTERNAL", "GIT_FAILED", "CLEANUP_FAILED"} {
		if strings.Contains(r.stdout, `"`+code+`"`) {
			return code
		}
	}
	return ""
}

// agent stages and commits one file after the other until it is stopped. It pauses in
// between: an agent that moves a branch without a pause keeps every other process from it.
func (s *pairScene) agent(stop <-chan struct{}) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("agent-%d.txt", i)
		if writeFile(filepath.Join(s.path, name), "agent\n") != nil {
			return // the workspace was removed
		}
		s.project.run(s.path, "git", "add", name)
		s.project.run(s.path, "git", "commit", "--quiet", "--message", "agent")
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(20*(1+i%4)) * time.Millisecond):
		}
	}
}

// check checks both checkouts, the repository and its locks. The next command comes first:
// it recovers what was left.
func (s *pairScene) check() {
	s.t.Helper()
	s.mustCroft("snapshot", "other")
	if _, err := os.Lstat(s.path); err == nil {
		for _, line := range lines(s.git(s.path, "status", "--porcelain")) {
			if strings.ContainsAny(line[:2], "D") {
				s.t.Errorf("a file that was committed shows as deleted in the workspace: %s", line)
			}
		}
	}
	if left := s.git(s.dir, "status", "--porcelain"); left != "" {
		s.t.Errorf("the user's checkout is not what its branch is:\n%s", left)
	}
	s.git(s.dir, "fsck", "--strict", "--no-dangling")
	err := filepath.WalkDir(filepath.Join(s.dir, ".git"), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".lock") {
			s.t.Errorf("a lock is left: %s", path)
		}
		return err
	})
	if err != nil {
		s.t.Error(err)
	}
}
