package radar

import (
	"context"
	"slices"

	"github.com/croft-sh/croft/internal/git/odb"
)

// leaveOutTargetsWork returns the collisions without pairs whose own work touched nothing in
// common. Such a pair is in conflict only because one of the two began at a later commit of
// the target, or merged it, and the other one collides with what the target changed until
// then: its collision with the target says that. The collisions of a scan do have these
// pairs, because two commits collide or not whatever the target is.
func (s *Scanner) leaveOutTargetsWork(ctx context.Context, target string, list []Collision) ([]Collision, error) {
	l := &scan{scanner: s}
	at := map[string]int{} // of each commit in l.all
	for _, c := range list {
		for _, commit := range []string{c.A, c.B} {
			if _, known := at[commit]; !known && commit != target && c.B != target && c.Reason == "" {
				at[commit] = len(l.all)
				l.all = append(l.all, commit)
			}
		}
	}
	if target == "" || len(at) == 0 {
		return list, nil
	}
	l.target = len(l.all)
	l.all = append(l.all, target)
	var pairs []pair
	for i := range l.target {
		pairs = append(pairs, pair{i, l.target})
	}
	k, err := l.readAncestry(ctx, pairs)
	if err != nil {
		return nil, err
	}
	spans, number := []odb.Span{}, make([]int, l.target) // the span of each commit's own work; -1: there is no such one
	for i := range number {
		number[i] = -1
		if base := k.base(i, l.target); base >= 0 {
			number[i] = len(spans)
			spans = append(spans, odb.Span{From: k.nodes[base].commit, To: l.all[i]})
		}
	}
	touched, err := askInParallel(s.Workers, spans, func(part []odb.Span) ([][]string, error) { return s.Attempts.TouchedPaths(ctx, part) })
	if err != nil {
		return nil, err
	}
	meet := findMeetings(touched)
	return slices.DeleteFunc(slices.Clone(list), func(c Collision) bool {
		if c.B == target || c.Reason != "" {
			return false
		}
		a, b := number[at[c.A]], number[at[c.B]]
		return a >= 0 && b >= 0 && meet[a].Bit(b) == 0
	}), nil
}
