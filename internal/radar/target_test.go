package radar

import (
	"fmt"
	"slices"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/mergetree"
)

// TestScanTargetIsScan: what is found of each head and the target is what a scan of all pairs finds, also of heads that are named twice
// and of the target itself.
func TestScanTargetIsScan(t *testing.T) {
	collides := 0
	for seed := range seeds() {
		f := newField(t, gittest.Corpus{Files: []int{60, 300}[seed%2], Agents: 14, Heat: []int{60, 20, 5}[seed%3], Seed: seed})
		f.input.Heads = append(f.input.Heads, f.input.Heads[3], f.input.Target)
		want := map[string]Collision{}
		for _, c := range f.full(t, slices.Compact(slices.Sorted(slices.Values(f.input.Heads[:14])))) {
			if c.B == f.input.Target {
				want[c.A] = c
			}
		}
		told := map[string]int{}
		err := f.scanner.ScanTarget(t.Context(), f.input, func(head string, c *Collision) {
			told[head]++
			if was, is := want[head]; is != (c != nil) || is && !slices.Equal(was.Paths, c.Paths) {
				t.Errorf("seed %d: %s: %v, want %v", seed, head, c, was)
			}
		})
		for _, h := range f.input.Heads {
			if told[h] != 1 {
				t.Errorf("seed %d: %s was told %d times", seed, h, told[h])
			}
		}
		if collides += len(want); err != nil {
			t.Fatal(err)
		}
	}
	if collides == 0 {
		t.Error("nothing collides with a target")
	}
}

// BenchmarkTarget: many heads that began at commits of the target's history of their own, and all touched one path.
func BenchmarkTarget(b *testing.B) {
	for _, n := range []int{1000, 2000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var all []string
			var commits []mergetree.Ancestor
			var pairs []pair
			for i := range n {
				all, pairs = append(all, fmt.Sprint("head", i)), append(pairs, pair{i, n})
				commits = append(commits, mergetree.Ancestor{Commit: all[i], Parents: []string{fmt.Sprint("main", i)}},
					mergetree.Ancestor{Commit: fmt.Sprint("main", i+1), Parents: []string{fmt.Sprint("main", i)}})
			}
			l := &scan{all: append(all, fmt.Sprint("main", n)), target: n}
			for b.Loop() {
				k := newAncestry(l.all, pairs)
				k.setCommits(commits)
				k.findBases()
				spans, ways := l.divideSides(k, pairs)
				meets := findMeetingsWith(longestWay(ways, n), slices.Repeat([][]string{{"dir/hot"}}, len(spans)))
				for _, p := range pairs {
					base := k.base(p.a, p.b)
					if !meets(ways[side{p.a, base}], len(ways[side{n, base}])) {
						b.Fatal("a pair does not meet")
					}
				}
			}
		})
	}
}

// TestScanTargetOfSeveralBases: a head that parted from its target at several commits is merged, whatever the sides touched.
func TestScanTargetOfSeveralBases(t *testing.T) {
	f := newField(t, gittest.Corpus{Files: 9, Agents: 1, Heat: 50, Seed: 1})
	base := f.advance(t, f.input.Target, "x", "base\n")
	left, right := f.advance(t, base, "left", "l\n"), f.advance(t, base, "right", "r\n")
	tree := f.Git("merge-tree", "--write-tree", left, right)
	one, other := f.Git("commit-tree", tree, "-p", left, "-p", right, "-m", "one"), f.Git("commit-tree", tree, "-p", right, "-p", left, "-m", "other")
	head := f.advance(t, one, "x", "mine\n")
	f.input = Input{Target: f.advance(t, other, "x", "theirs\n"), Heads: []string{head}}
	told := 0
	err := f.scanner.ScanTarget(t.Context(), f.input, func(of string, c *Collision) {
		if told++; of != head || c == nil || !slices.Equal(c.Paths, []string{"x"}) {
			t.Errorf("%s: %v", of, c)
		}
	})
	if err != nil || told != 1 {
		t.Errorf("told %d times, %v", told, err)
	}
}
