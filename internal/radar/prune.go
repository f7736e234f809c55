package radar

import (
	"cmp"
	"context"
	"math/big"
	"slices"

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
	spans, ways := l.divideSides(k, pairs)
	touched, err := l.scanner.touchedPaths(ctx, spans)
	if err != nil {
		return nil, err
	}
	if target, isOne := commonTarget(pairs); isOne {
		meets := findMeetingsWith(longestWay(ways, target), touched)
		return slices.DeleteFunc(slices.Clone(pairs), func(p pair) bool {
			base := k.base(p.a, p.b)
			return base != severalBase && !meets(ways[side{p.a, base}], len(ways[side{target, base}]))
		}), nil
	}
	meet := findMeetings(touched)
	hasMeeting := func(p pair, base int) bool {
		for _, s := range ways[side{p.a, base}] {
			if slices.ContainsFunc(ways[side{p.b, base}], func(t int) bool { return meet[s].Bit(t) == 1 }) {
				return true
			}
		}
		return false
	}
	var kept []pair
	for _, p := range pairs {
		if base := k.base(p.a, p.b); base == severalBase || hasMeeting(p, base) {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

// side is the changes of a commit since the base of one of its pairs: the indices of the
// commit and of the node.
type side struct{ commit, base int }

// divideSides divides each side of pairs at the younger bases of its commit. It returns
// all spans, and those of each side by their indices.
func (l *scan) divideSides(k *ancestry, pairs []pair) (spans []odb.Span, ways map[side][]int) {
	bases := make([][]int, len(l.all)) // of each commit's pairs
	for _, p := range pairs {
		if base := k.base(p.a, p.b); base >= 0 {
			bases[p.a], bases[p.b] = append(bases[p.a], base), append(bases[p.b], base)
		}
	}
	ways = map[side][]int{}
	numbers := map[odb.Span]int{}
	for commit, stops := range bases {
		slices.SortFunc(stops, func(a, b int) int { return cmp.Compare(k.nodes[a].age, k.nodes[b].age) })
		var way []int
		to := l.all[commit]
		for _, stop := range slices.Compact(stops) {
			if span := (odb.Span{From: k.nodes[stop].commit, To: to}); span.From != span.To {
				if _, known := numbers[span]; !known {
					numbers[span] = len(spans)
					spans = append(spans, span)
				}
				way, to = append(way, numbers[span]), span.From
			}
			ways[side{commit, stop}] = way // a longer way of the commit begins with it
		}
	}
	return spans, ways
}

// longestWay returns the spans of the longest side of a commit. Those of its others are the first of these.
func longestWay(ways map[side][]int, commit int) (way []int) {
	for s, w := range ways {
		if s.commit == commit && len(w) > len(way) {
			way = w
		}
	}
	return way
}

// findMeetingsWith returns a function that reports whether some spans touched a path that one of the first spans of a way touched, or
// one above or below it. It takes as long as there are paths, not as pairs of spans that touched the same.
func findMeetingsWith(way []int, touched [][]string) func(spans []int, first int) bool {
	at, below := map[string]int{}, map[string]int{} // the place of the first span in the way that touched a path, or something below it
	for place, n := range way {
		for _, path := range touched[n] {
			noteFirst(at, path, place)
			for i := range len(path) {
				if path[i] == '/' {
					noteFirst(below, path[:i], place)
				}
			}
		}
	}
	isBefore := func(places map[string]int, path string, first int) bool {
		place, is := places[path]
		return is && place < first
	}
	return func(spans []int, first int) bool {
		for _, n := range spans {
			for _, path := range touched[n] {
				if isBefore(at, path, first) || isBefore(below, path, first) {
					return true
				}
				for i := range len(path) {
					if path[i] == '/' && isBefore(at, path[:i], first) {
						return true
					}
				}
			}
		}
		return false
	}
}

func noteFirst(places map[string]int, path string, place int) {
	if _, is := places[path]; !is {
		places[path] = place
	}
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
		for i := range len(path) {
			if path[i] == '/' {
				above := by[path[:i]]
				noteMeetings(meet, above, here)
				noteMeetings(meet, here, above)
			}
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
