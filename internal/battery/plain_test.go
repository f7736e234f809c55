//go:build unix

package battery

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestPlainCopy compares creating the first workspace of a plain directory, for which every
// file is read, hashed, stored and copied, with what a user would do by hand: copy the
// directory, make a repository of the copy and commit everything. Every run has a directory
// of its own, all of them made before, so that each is the first. The bound is looser for
// few files, where starting programs counts more.
func TestPlainCopy(t *testing.T) {
	files, runs, bound := size(2000, 10000), size(3, 5), 1.5
	if files >= 10000 {
		bound = 1.2
	}
	p := newProject(t)
	var first, next, hand []time.Duration
	for round := 1; ; round++ {
		for i := range runs {
			writePlain(t, p.plainDir(round, i), files)
		}
		for i := range runs {
			dir := p.plainDir(round, i)
			if i%2 == 0 {
				hand = append(hand, p.copyByHand(t, dir))
			}
			for n, times := range []*[]time.Duration{&first, &next} {
				r := p.run(dir, "croft", "new", fmt.Sprintf("a%d", n), "--mode", "auto")
				if r.code != 0 || r.err != nil {
					t.Fatalf("croft new: %v", r)
				}
				*times = append(*times, r.took)
			}
			if i%2 == 1 {
				hand = append(hand, p.copyByHand(t, dir))
			}
			if r := p.run(dir+".croft/a0", "git", "status", "--porcelain"); r.code != 0 || r.stdout != "" {
				t.Fatalf("the copy is not clean: %v", r)
			}
			if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
				t.Fatal("something was written into the directory")
			}
		}
		ratio := float64(median(first)) / float64(median(hand))
		report(t, "plain", "%d files, medians of %d: first workspace of a plain directory %s, cp, git init, add and commit by hand %s, ratio %.2f; "+
			"the second workspace %s, ratio %.2f", files, len(first), ms(median(first)), ms(median(hand)), ratio,
			ms(median(next)), float64(median(next))/float64(median(hand)))
		if ratio <= bound {
			return
		}
		if round == rounds {
			t.Errorf("a workspace of a plain directory takes %.2f times as long as by hand, the bound is %.1f", ratio, bound)
			return
		}
	}
}

func (p *project) plainDir(round, i int) string {
	return filepath.Join(p.work(), fmt.Sprintf("plain-%d-%d", round, i))
}

// writePlain writes files like those of a project, and one that is ignored.
func writePlain(t *testing.T, dir string, files int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(11, uint64(files)))
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprintf("d%02d", i/9/64), fmt.Sprintf("e%03d", i/9))
		if i%9 == 0 {
			mustDo(t, os.MkdirAll(sub, 0o755))
		}
		mustDo(t, os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.txt", i%9)), content(rnd, 2000+rnd.IntN(10000)), 0o644))
	}
	mustDo(t, os.MkdirAll(filepath.Join(dir, "build"), 0o755))
	mustDo(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("build/\n"), 0o644))
	mustDo(t, os.WriteFile(filepath.Join(dir, "build", "out"), []byte("ignored\n"), 0o644))
}

// copyByHand does the same with standard programs.
func (p *project) copyByHand(t *testing.T, dir string) time.Duration {
	t.Helper()
	to := dir + ".by-hand"
	took := time.Duration(0)
	for _, step := range [][]string{
		{"cp", "-a", "--reflink=auto", dir, to},
		{"git", "-C", to, "init", "--quiet"},
		{"git", "-C", to, "add", "-A"},
		{"git", "-C", to, "commit", "--quiet", "--message", "base"},
	} {
		r := p.run(p.work(), step[0], step[1:]...)
		if r.code != 0 || r.err != nil {
			t.Fatalf("%v: %v", step, r)
		}
		took += r.took
	}
	return took
}
