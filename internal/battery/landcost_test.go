//go:build unix

package battery

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// landingTimes are the times of one merge each, with git by itself and in one croft merge of many.
type landingTimes struct {
	git, keep     []time.Duration // git merge --no-ff; croft merge --keep
	away, putAway []time.Duration // git merge, git worktree remove, git branch -d; croft merge
}

// TestLandCost compares one `croft merge` of many workspaces, into a branch that is checked out, with
// git: with --keep to a `git merge` of each, without to what git needs to put the worktree and its
// branch away, too. Each workspace has a commit of five files.
func TestLandCost(t *testing.T) {
	files, count, rounds := size(1000, 10_000), size(12, 40), 3
	// They only notice large increases: what is required on a quiet machine is 0.25 and 0.15, and the
	// first is not reached (docs/figures.md). In the short form the start of the command counts for more.
	bounds := struct{ keep, putAway float64 }{0.55, 0.5}
	if !isLong() {
		bounds.keep = 2.5
	}
	p := bigProject(t, files)
	p.git(p.dir, "worktree", "add", "--quiet", "-b", "bare-main", filepath.Join(p.top, "bare-main"))
	names, bare := p.makeWork(t, files, count)
	var got landingTimes
	for round := range rounds {
		got.keep = append(got.keep, p.landKept(t, names, bare, fmt.Sprint("kept", round), &got))
	}
	p.landAway(t, names, bare, &got)
	keep, putAway := ratio(got.keep, got.git), ratio(got.putAway, got.away)
	if keep > bounds.keep || putAway > bounds.putAway {
		t.Errorf("%.3f of git's with --keep and %.3f without, the bounds are %.2f and %.2f", keep, putAway, bounds.keep, bounds.putAway)
	}
	report(t, "land", "%d files, %d workspaces in one command: git merge --no-ff %s, croft merge --keep %s each (median of %d), ratio %.3f; "+
		"git merge, worktree remove and branch -d %s, croft merge %s each, ratio %.3f",
		files, count, ms(median(got.git)), ms(median(got.keep)), rounds, keep, ms(median(got.away)), ms(median(got.putAway)), putAway)
}

// makeWork makes workspaces, and worktrees of git's, with a commit each.
func (p *project) makeWork(t *testing.T, files, count int) (names []string, bare []workspace) {
	t.Helper()
	for i := range count {
		names = append(names, fmt.Sprintf("w%03d", i))
		b := workspace{Name: names[i], Branch: "bare/" + names[i], Path: filepath.Join(p.top, "bare", names[i])}
		p.addBare(t, b.Name)
		bare = append(bare, b)
	}
	for i, w := range append(p.mustCroft(append([]string{"new"}, names...)...).Workspaces, bare...) {
		i %= count
		for k := range 4 {
			at := (i*37 + k*211) % files
			path := filepath.Join(w.Path, fmt.Sprintf("d%02d/e%03d/f%d.txt", at/9/64, at/9, at%9))
			was, err := os.ReadFile(path)
			mustDo(t, err)
			gittest.WriteFile(t, path, string(was)+w.Name+"\n")
		}
		gittest.WriteFile(t, filepath.Join(w.Path, "own", w.Name+".txt"), w.Name+"\n")
		p.git(w.Path, "add", "--all")
		p.git(w.Path, "commit", "--quiet", "-m", w.Name)
	}
	unix.Sync() // otherwise the side that syncs first waits for all that was just written
	return names, bare
}

// timeGit runs git commands and returns how long they took.
func (p *project) timeGit(t *testing.T, dir string, commands ...[]string) (took time.Duration) {
	t.Helper()
	for _, args := range commands {
		r := p.run(dir, "git", args...)
		if r.code != 0 || r.err != nil {
			t.Fatal(args, r)
		}
		took += r.took
	}
	return took
}

// landKept lands all workspaces in a new branch that is checked out, with git's merges before and
// after it, and returns the time of one.
func (p *project) landKept(t *testing.T, names []string, bare []workspace, target string, got *landingTimes) time.Duration {
	t.Helper()
	at := filepath.Join(p.top, "bare-main")
	p.git(at, "checkout", "--quiet", "-B", "bare-"+target, "main")
	p.git(p.dir, "checkout", "--quiet", "-b", target, "main")
	merge := func(some []workspace) {
		for _, w := range some {
			got.git = append(got.git, p.timeGit(t, at, []string{"merge", "--quiet", "--no-ff", "-m", "m", w.Branch}))
		}
	}
	merge(bare[:len(bare)/2])
	r := p.croft(append([]string{"merge", "--keep", "--into", target}, names...)...)
	if r.code != 0 || r.err != nil {
		t.Fatal(r)
	}
	merge(bare[len(bare)/2:])
	p.requireLanded(t, target, "bare-"+target)
	return r.took / time.Duration(len(names))
}

// landAway lands all workspaces in main, and puts them away.
func (p *project) landAway(t *testing.T, names []string, bare []workspace, got *landingTimes) {
	t.Helper()
	at := filepath.Join(p.top, "bare-main")
	p.git(at, "checkout", "--quiet", "-B", "bare-main", "main")
	p.git(p.dir, "checkout", "--quiet", "main")
	land := func(some []workspace) {
		for _, w := range some {
			got.away = append(got.away, p.timeGit(t, at, []string{"merge", "--quiet", "--no-ff", "-m", "m", w.Branch},
				[]string{"worktree", "remove", w.Path}, []string{"branch", "--quiet", "-d", w.Branch}))
		}
	}
	land(bare[:len(bare)/2])
	r := p.croft(append([]string{"merge"}, names...)...)
	if r.code != 0 || r.err != nil {
		t.Fatal(r)
	}
	got.putAway = append(got.putAway, r.took/time.Duration(len(names)))
	land(bare[len(bare)/2:])
	p.requireLanded(t, "main", "bare-main")
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(p.workspaces(), name)); err == nil {
			t.Errorf("%s was not put away", name)
		}
	}
}

// requireLanded requires that a branch has the files of another, and that its checkout has them, too.
func (p *project) requireLanded(t *testing.T, branch, other string) {
	t.Helper()
	if got, want := p.git(p.dir, "rev-parse", branch+"^{tree}"), p.git(p.dir, "rev-parse", other+"^{tree}"); got != want {
		t.Fatalf("another tree than git's: %s, %s", got, want)
	}
	if got := p.git(p.dir, "status", "--porcelain"); got != "" {
		t.Errorf("the checkout of %s shows %s", branch, got)
	}
}
