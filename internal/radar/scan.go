package radar

import (
	"context"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
)

// Scanner finds the commits that collide, by merging them two by two. A pair is
// merged only if what its sides touched does not rule a conflict out, and if the
// last scan did not merge it.
type Scanner struct {
	Attempts *mergetree.Session
	Workers  int // how many processes at once; default: 1
}

// Input is what is scanned.
type Input struct {
	Target string   // the commit that all of it goes to; empty if there is none
	Heads  []string // commits
}

// ScanResult is what a scan found. The next scan is given it, and merges only pairs
// with a commit that was not there.
type ScanResult struct {
	Target     string      `json:"target,omitempty"`
	Heads      []string    `json:"heads,omitempty"` // those that bring something; each was compared with all the others
	Idle       []string    `json:"idle,omitempty"`  // those that the target has already
	Collisions []Collision `json:"collisions,omitempty"`
	Counts     Counts      `json:"-"`
}

// Collision is a pair of commits that cannot be merged by itself.
type Collision struct {
	A      string       `json:"a"`
	B      string       `json:"b"`
	Paths  []string     `json:"paths,omitempty"`
	Reason croft.Reason `json:"reason,omitempty"`
}

// Counts says how the answer was come by, in pairs.
type Counts struct {
	Pairs      int
	Remembered int // known from the last scan
	Pruned     int // of which no merge was needed to know
	Merged     int
}

// pair names two commits by their places in a list, the smaller first.
type pair struct{ a, b int }

// Scan compares commits. The pairs are those of the heads among each other, in
// their order, and of each head with the target. A head that the target has
// already collides with no other.
func (s *Scanner) Scan(ctx context.Context, in Input, last ScanResult) (ScanResult, error) {
	known := knownFrom(last)
	out := ScanResult{Target: in.Target}
	seen, idle := map[string]bool{in.Target: in.Target != ""}, map[string]bool{}
	var all []string // the heads, and then the target
	for _, h := range in.Heads {
		if h == in.Target || known.isIdle(h, in.Target) {
			idle[h] = true
		} else if !seen[h] {
			all = append(all, h)
		}
		seen[h] = true
	}
	l := &scan{scanner: s, all: all, target: -1}
	if in.Target != "" {
		l.target = len(all)
		l.all = append(all, in.Target)
	}
	found, err := l.scanPairs(ctx, known.missing(l.all))
	if err != nil {
		return ScanResult{}, err
	}
	for _, i := range l.idle {
		idle[all[i]] = true
	}
	out.Counts, out.Idle = l.counts, slices.Sorted(maps.Keys(idle))
	out.Heads = slices.DeleteFunc(slices.Clone(all), func(h string) bool { return idle[h] })
	for i, a := range l.all {
		for j := i + 1; j < len(l.all); j++ {
			b := l.all[j]
			if idle[a] || idle[b] && j != l.target {
				continue
			}
			out.Counts.Pairs++
			c, collides := found[pair{i, j}]
			if known.has(a, b) {
				out.Counts.Remembered++
				c, collides = known.collision(a, b)
			}
			if collides {
				out.Collisions = append(out.Collisions, c)
			}
		}
	}
	return out, nil
}

// knownPairs finds pairs in the result of an earlier scan.
type knownPairs struct {
	last  ScanResult
	heads map[string]bool // with the target
	found map[[2]string]Collision
}

func knownFrom(last ScanResult) *knownPairs {
	m := &knownPairs{last: last, heads: map[string]bool{last.Target: true}, found: map[[2]string]Collision{}}
	for _, h := range last.Heads {
		m.heads[h] = true
	}
	for _, c := range last.Collisions {
		m.found[[2]string{c.A, c.B}] = c
	}
	return m
}

func (m *knownPairs) has(a, b string) bool { return m.heads[a] && m.heads[b] }

func (m *knownPairs) isIdle(head, target string) bool {
	return target != "" && m.last.Target == target && slices.Contains(m.last.Idle, head)
}

// collision finds a pair in either order, and gives it in the one asked for.
func (m *knownPairs) collision(a, b string) (Collision, bool) {
	c, ok := m.found[[2]string{a, b}]
	if !ok {
		c, ok = m.found[[2]string{b, a}]
	}
	c.A, c.B = a, b
	return c, ok
}

// missing lists the pairs that are not known.
func (m *knownPairs) missing(all []string) []pair {
	var list []pair
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			if !m.has(all[i], all[j]) {
				list = append(list, pair{i, j})
			}
		}
	}
	return list
}

// scan compares pairs of commits.
type scan struct {
	scanner *Scanner
	all     []string
	target  int // its place in all; -1: there is none
	idle    []int
	counts  Counts
}

// scanPairs finds out which of the pairs collide.
func (l *scan) scanPairs(ctx context.Context, fresh []pair) (map[pair]Collision, error) {
	if len(fresh) == 0 {
		return nil, nil
	}
	l.scanner.Attempts.Prestart(ctx)
	k, err := l.readAncestry(ctx, fresh)
	if err != nil {
		return nil, err
	}
	isIdle := make([]bool, len(l.all))
	for _, p := range fresh {
		if p.b == l.target && k.isAncestor(p.a, p.b) {
			isIdle[p.a] = true
			l.idle = append(l.idle, p.a)
		}
	}
	fresh = slices.DeleteFunc(slices.Clone(fresh), func(p pair) bool { return isIdle[p.a] || isIdle[p.b] })
	found := map[pair]Collision{}
	var related []pair
	for _, p := range fresh {
		if k.base(p.a, p.b) == noBase {
			found[p] = Collision{A: l.all[p.a], B: l.all[p.b], Reason: croft.Unrelated}
			continue
		}
		related = append(related, p)
	}
	merged, err := l.prunePairs(ctx, k, related)
	if err != nil {
		return nil, err
	}
	l.counts.Pruned, l.counts.Merged = len(fresh)-len(merged), len(merged)
	return found, l.mergePairs(ctx, merged, found)
}

// readAncestry finds out how the commits of pairs descend from each other.
func (l *scan) readAncestry(ctx context.Context, pairs []pair) (*ancestry, error) {
	involved := make([]bool, len(l.all))
	for _, p := range pairs {
		involved[p.a], involved[p.b] = true, true
	}
	k := newAncestry(l.all, involved)
	for c, err := range l.scanner.Attempts.History(ctx, k.heads) {
		if err != nil {
			return nil, err
		}
		if k.add(c); k.isSettled() {
			break
		}
	}
	k.findBases()
	return k, nil
}

// mergePairs merges pairs and adds those that collide to found.
func (l *scan) mergePairs(ctx context.Context, pairs []pair, found map[pair]Collision) error {
	commits := make([][2]string, len(pairs))
	for i, p := range pairs {
		commits[i] = [2]string{l.all[p.a], l.all[p.b]}
	}
	merged, err := spread(l.scanner.Workers, commits, func(part [][2]string) ([]mergetree.MergeResult, error) {
		return l.scanner.Attempts.MergeAll(ctx, part)
	})
	if err != nil {
		return err
	}
	for i, m := range merged {
		if c, collides := collisionOf(m, commits[i]); collides {
			found[pairs[i]] = c
		}
	}
	return nil
}

// collisionOf says whether two commits collide.
func collisionOf(m mergetree.MergeResult, commits [2]string) (Collision, bool) {
	c := Collision{A: commits[0], B: commits[1], Paths: plainPaths(m.Conflicts, commits)}
	if m.Err != nil {
		c.Reason = croft.Unmergeable
	}
	return c, m.Err != nil || !m.Clean()
}

// plainPaths lists the paths of conflicts. A file that has to make room for a
// directory gets the name of its commit appended by git, which is taken away.
func plainPaths(conflicts []mergetree.MergeConflict, commits [2]string) []string {
	var paths []string
	for _, c := range conflicts {
		path := c.Path
		for _, oid := range commits {
			path, _, _ = strings.Cut(path, "~"+oid)
		}
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// worthAProcess is how many questions pay for the start of another process.
const worthAProcess = 16

// spread hands out questions to several askers at once, in turn, and puts
// their answers in order.
func spread[Q, A any](workers int, questions []Q, ask func([]Q) ([]A, error)) ([]A, error) {
	n := max(1, min(workers, len(questions)/worthAProcess))
	parts := make([][]Q, n)
	for i, q := range questions {
		parts[i%n] = append(parts[i%n], q)
	}
	answers := make([][]A, n)
	var g errgroup.Group
	for i := range n {
		g.Go(func() (err error) {
			answers[i], err = ask(parts[i])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := make([]A, len(questions))
	for i := range all {
		all[i] = answers[i%n][i/n]
	}
	return all, nil
}
