package radar

import (
	"cmp"
	"context"
	"math/big"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/odb"
)

// prunePairs returns the pairs without those that provably do not collide.
//
// Two sides that parted at one commit can only be in conflict where one of them touched
// a path that the other touched too, or below which the other touched something. A file
// or a submodule is touched if it differs, a directory if it is gone. That covers
// renames, because both the old and the new file are touched; directories in the place
// of files; and directories that were renamed as a whole, into which git moves what the
// other side adds to the old one. Pairs that parted at several commits, or at none, are
// kept: git makes up a common ancestor for them.
//
// The pairs of a workspace that began at an older commit of the target all have that
// commit as their base, so that the same parts of the target's history are on many
// sides. Each side is therefore divided into spans, and each span is read once. All
// spans of a side together touch at least what the side does.
func (l *scan) prunePairs(ctx context.Context, k *ancestry, pairs []pair) ([]pair, error) {
	c := newCourses(k, pairs)
	touched, err := askInParallel(l.scanner.Workers, c.spans, func(part []odb.Span) ([][]string, error) {
		return l.scanner.Attempts.TouchedPaths(ctx, part)
	})
	if err != nil {
		return nil, err
	}
	meet := findMeetings(touched)
	var kept []pair
	for _, p := range pairs {
		base := k.base(p.a, p.b)
		if base == severalBase || c.hasMeeting(meet, base, p) {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// courses has for each commit its course: the way from the oldest base of its pairs,
// over the younger bases, to the commit.
type courses struct {
	spans []odb.Span
	ways  map[int]course // by the commit's index
}

// course is the way from the bases of a commit's pairs to the commit: its spans, and
// for each base the index of the first span after it.
type course struct {
	spans []int
	from  map[int]int
}

func newCourses(k *ancestry, pairs []pair) *courses {
	bases := map[int][]int{} // of each commit's pairs
	for _, p := range pairs {
		if base := k.base(p.a, p.b); base >= 0 {
			bases[p.a] = append(bases[p.a], base)
			bases[p.b] = append(bases[p.b], base)
		}
	}
	c := &courses{ways: map[int]course{}}
	numbers := map[odb.Span]int{}
	for side := range k.number {
		stops := bases[side]
		if len(stops) == 0 {
			continue
		}
		slices.SortFunc(stops, func(a, b int) int { return cmp.Compare(k.nodes[b].age, k.nodes[a].age) })
		stops = slices.Compact(stops)
		way := course{from: map[int]int{}}
		for i, stop := range stops {
			next := k.heads[k.number[side]]
			if i+1 < len(stops) {
				next = k.nodes[stops[i+1]].commit
			}
			way.from[stop] = len(way.spans)
			span := odb.Span{From: k.nodes[stop].commit, To: next}
			if span.From == span.To {
				continue
			}
			n, known := numbers[span]
			if !known {
				n = len(c.spans)
				numbers[span] = n
				c.spans = append(c.spans, span)
			}
			way.spans = append(way.spans, n)
		}
		c.ways[side] = way
	}
	return c
}

// hasMeeting reports whether the two sides of a pair touched something in common since
// they parted.
func (c *courses) hasMeeting(meet []*big.Int, base int, p pair) bool {
	a, b := c.ways[p.a], c.ways[p.b]
	for _, s := range a.spans[a.from[base]:] {
		if slices.ContainsFunc(b.spans[b.from[base]:], func(t int) bool { return meet[s].Bit(t) == 1 }) {
			return true
		}
	}
	return false
}

// findMeetings returns for each span the set of spans that touched a path which it
// touched, or one above or below it.
func findMeetings(touched [][]string) []*big.Int {
	by := map[string][]int{}
	for n, paths := range touched {
		for _, path := range paths {
			// A path that was a directory and became a file is in the list twice.
			if list := by[path]; len(list) == 0 || list[len(list)-1] != n {
				by[path] = append(list, n)
			}
		}
	}
	meet := make([]*big.Int, len(touched))
	for n := range meet {
		meet[n] = new(big.Int)
	}
	for path, here := range by {
		noteMeetings(meet, here, here)
		for i := strings.IndexByte(path, '/'); i >= 0; {
			if above := by[path[:i]]; len(above) > 0 {
				noteMeetings(meet, above, here)
				noteMeetings(meet, here, above)
			}
			next := strings.IndexByte(path[i+1:], '/')
			if next < 0 {
				break
			}
			i += 1 + next
		}
	}
	return meet
}

// noteMeetings records that each of some spans meets each of others.
func noteMeetings(meet []*big.Int, some, others []int) {
	for _, s := range some {
		for _, t := range others {
			meet[s].SetBit(meet[s], t, 1)
		}
	}
}
