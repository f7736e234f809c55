package radar

import (
	"context"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/odb"
)

// withoutTargets returns the collisions of a scan without those pairs of workspaces that only
// repeat the conflict of one of them with the target.
//
// A workspace that began at the target's tip has the target's changes among its own. Merged
// with it, work that conflicts with the target conflicts on the same paths, whatever the
// workspace did. Such a pair is left out if, on each of its paths, one side conflicts with
// the target and the other touched nothing since it left the target.
func (s *Scanner) withoutTargets(ctx context.Context, res ScanResult) ([]Collision, error) {
	conflicting := map[string][]string{} // the paths on which a head conflicts with the target
	for _, c := range res.Collisions {
		if c.B == res.Target && c.Reason == "" {
			conflicting[c.A] = c.Paths
		}
	}
	isDoubtful := func(c Collision) bool {
		return c.B != res.Target && c.Reason == "" && (conflicting[c.A] != nil || conflicting[c.B] != nil)
	}
	var heads []string
	for _, c := range res.Collisions {
		if isDoubtful(c) {
			heads = append(heads, c.A, c.B)
		}
	}
	if res.Target == "" || len(heads) == 0 {
		return res.Collisions, nil
	}
	own, err := s.touchedSince(ctx, res.Target, heads)
	if err != nil {
		return nil, err
	}
	// isTargets reports whether a path of the pair is in conflict without the other side.
	isTargets := func(side, other, path string) bool {
		touched, isKnown := own[other]
		return isKnown && slices.Contains(conflicting[side], path) && !slices.ContainsFunc(touched, func(p string) bool { return meets(p, path) })
	}
	return slices.DeleteFunc(slices.Clone(res.Collisions), func(c Collision) bool {
		return isDoubtful(c) && !slices.ContainsFunc(c.Paths, func(path string) bool {
			return !isTargets(c.A, c.B, path) && !isTargets(c.B, c.A, path)
		})
	}), nil
}

// touchedSince returns the paths that each head touched since it left the target. A head that
// left it at no commit, or at several, is left out.
func (s *Scanner) touchedSince(ctx context.Context, target string, heads []string) (map[string][]string, error) {
	slices.Sort(heads)
	heads = slices.Compact(heads)
	bases, err := s.basesOf(ctx, target, heads)
	if err != nil {
		return nil, err
	}
	var spans []odb.Span
	for _, h := range heads {
		if base := bases[h]; base != "" {
			spans = append(spans, odb.Span{From: base, To: h})
		}
	}
	paths, err := s.touchedPaths(ctx, spans)
	if err != nil {
		return nil, err
	}
	touched := map[string][]string{}
	for i, span := range spans {
		touched[span.To] = paths[i]
	}
	return touched, nil
}

// basesOf returns the commit at which each head left the target, if there is one.
func (s *Scanner) basesOf(ctx context.Context, target string, heads []string) (map[string]string, error) {
	if s.Facts == nil {
		s.Facts = newFacts()
	}
	l := &scan{scanner: s}
	bases := map[string]string{}
	for _, h := range heads {
		base, known := s.Facts.bases[[2]string{h, target}]
		if bases[h] = base; !known {
			l.all = append(l.all, h)
		}
	}
	if len(l.all) == 0 {
		return bases, nil
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
	for i, h := range l.all[:l.target] {
		if base := k.base(i, l.target); base >= 0 {
			bases[h] = k.nodes[base].commit
		}
		s.Facts.bases[[2]string{h, target}] = bases[h]
	}
	return bases, nil
}

// meets reports whether two paths are the same, or one lies in the other.
func meets(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}
