//go:build unix

package battery

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// TestNew compares creating a workspace with `git worktree add` and a first git status in
// it: Croft has run the status when it says that a workspace is ready. Nothing is removed
// between the runs, because a file system on which many files were just deleted is slow at
// making new ones. For the same reason this battery comes early.
func TestNew(t *testing.T) {
	files, runs := size(2000, 10000), size(7, 9)
	p := bigProject(t, files)
	p.mustCroft("new", "warm")
	p.addBare(t, "warm")
	var got sides
	for round := 1; ; round++ {
		for i := range runs {
			name := fmt.Sprintf("n%d-%d", round, i)
			if i%2 == 0 {
				got.git = append(got.git, p.addBare(t, name))
			}
			r := p.croft("new", name)
			if r.code != 0 || r.err != nil {
				t.Fatalf("croft new: %v", r)
			}
			got.croft = append(got.croft, r.took)
			if i%2 == 1 {
				got.git = append(got.git, p.addBare(t, name))
			}
		}
		ratio := float64(median(got.croft)) / float64(median(got.git))
		report(t, "new", "%d files, medians of %d: croft new %s, bare git worktree add and the first status %s, ratio %.2f",
			files, len(got.croft), ms(median(got.croft)), ms(median(got.git)), ratio)
		if ratio <= 1.10 {
			return
		}
		if round == rounds {
			t.Errorf("croft new takes %.2f times as long as git, the bound is 1.10", ratio)
			return
		}
	}
}

// addBare makes a worktree with plain git and returns how long that and the first status
// took.
func (p *project) addBare(t *testing.T, name string) time.Duration {
	t.Helper()
	path := filepath.Join(p.top, "bare", name)
	add := p.run(p.dir, "git", "worktree", "add", "--quiet", "-b", "bare/"+name, path)
	status := p.run(path, "git", "status", "--porcelain")
	if add.code != 0 || status.code != 0 || status.stdout != "" {
		t.Fatalf("bare git: %v\n%v", add, status)
	}
	return add.took + status.took
}
