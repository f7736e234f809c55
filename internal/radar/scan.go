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

// Scanner finds the commits that collide, by merging them in pairs. It does not merge a
// pair if its sides touched no path in common, or if the last scan merged it.
type Scanner struct {
	Attempts *mergetree.Session
	Workers  int // how many processes at once; default: 1

	Drafts map[string]*Draft // commits that need not be in the session yet
	Facts  *facts            // what is known of commits; the scan adds to it
}

// Input has the commits that a scan compares.
type Input struct {
	Target string   // the commit of the target; empty if there is none
	Heads  []string // the commits of the workspaces
}

// ScanResult is the result of a scan. The next scan gets it, and merges only pairs with
// a new commit.
type ScanResult struct {
	Target     string      `json:"target,omitempty"`
	Heads      []string    `json:"heads,omitempty"` // the commits that the target lacks; each was compared with all others
	Idle       []string    `json:"idle,omitempty"`  // the commits that the target has already
	Collisions []Collision `json:"collisions,omitempty"`
	Counts     Counts      `json:"-"`
}

// Collision is a pair of commits that cannot be merged without a conflict.
type Collision struct {
	A      string       `json:"a"`
	B      string       `json:"b"`
	Paths  pathBytes    `json:"paths,omitempty"`
	Reason croft.Reason `json:"reason,omitempty"`
}

// Counts says how many pairs of commits a scan compared, and by which means.
type Counts struct {
	Pairs      int
	Remembered int // taken from the last scan
	Pruned     int // found to be free of conflicts without a merge
	Merged     int
}

// pair is two indices in a list of commits, the smaller first.
type pair struct{ a, b int }

// Scan compares each two of the heads, in their order, and each head with the target. A
// head that the target has already collides with no other.
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
	found, err := l.scanPairs(ctx, known.unknownPairs(l.all))
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

// knownPairs has the pairs of commits that an earlier scan compared.
type knownPairs struct {
	last  ScanResult
	idle  map[string]bool
	heads map[string]bool // and the target
	found map[[2]string]Collision
}

func knownFrom(last ScanResult) *knownPairs {
	m := &knownPairs{last: last, idle: map[string]bool{}, heads: map[string]bool{last.Target: true}, found: map[[2]string]Collision{}}
	for _, h := range last.Idle {
		m.idle[h] = true
	}
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
	return target != "" && m.last.Target == target && m.idle[head]
}

// collision returns the collision of two commits, in this order, if the earlier scan
// found one.
func (m *knownPairs) collision(a, b string) (Collision, bool) {
	c, ok := m.found[[2]string{a, b}]
	if !ok {
		c, ok = m.found[[2]string{b, a}]
	}
	c.A, c.B = a, b
	return c, ok
}

// unknownPairs lists the pairs of commits that the earlier scan did not compare.
func (m *knownPairs) unknownPairs(all []string) []pair {
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

// scan is one run of Scanner.Scan.
type scan struct {
	scanner *Scanner
	all     []string
	target  int // the target's index in all; -1: there is none
	idle    []int
	counts  Counts
}

// scanPairs finds the pairs that collide, among those that the last scan did not
// compare.
func (l *scan) scanPairs(ctx context.Context, fresh []pair) (map[pair]Collision, error) {
	found, merged, err := l.decide(ctx, fresh)
	if err != nil {
		return nil, err
	}
	return found, l.mergePairs(ctx, merged, found)
}

// decide finds out what can be known of pairs without a merge: those that collide because their histories are
// unrelated, and in l.idle the heads that the target has already. It returns the pairs that are left to be merged.
func (l *scan) decide(ctx context.Context, fresh []pair) (found map[pair]Collision, merges []pair, err error) {
	if len(fresh) == 0 {
		return nil, nil, nil
	}
	l.scanner.Attempts.Prestart(ctx)
	k, err := l.readAncestry(ctx, fresh)
	if err != nil {
		return nil, nil, err
	}
	isIdle := make([]bool, len(l.all))
	for _, p := range fresh {
		if p.b == l.target && k.isAncestor(p.a, p.b) {
			isIdle[p.a] = true
			l.idle = append(l.idle, p.a)
		}
	}
	fresh = slices.DeleteFunc(slices.Clone(fresh), func(p pair) bool { return isIdle[p.a] || isIdle[p.b] })
	found = map[pair]Collision{}
	var related []pair
	for _, p := range fresh {
		if k.base(p.a, p.b) == noBase {
			found[p] = Collision{A: l.all[p.a], B: l.all[p.b], Reason: croft.Unrelated}
			continue
		}
		related = append(related, p)
	}
	merges, err = l.prunePairs(ctx, k, related)
	if err != nil {
		return nil, nil, err
	}
	l.counts.Pruned, l.counts.Merged = len(fresh)-len(merges), len(merges)
	return found, merges, nil
}

// readAncestry reads the history of the commits of pairs, as far as it is needed.
func (l *scan) readAncestry(ctx context.Context, pairs []pair) (*ancestry, error) {
	k := newAncestry(l.all, pairs)
	var commits []mergetree.Ancestor
	var heads []string
	for _, head := range k.heads { // a draft need not exist to have parents
		if d := l.scanner.Drafts[head]; d != nil {
			commits, heads = append(commits, mergetree.Ancestor{Commit: head, Parents: d.Parents}), append(heads, d.Parents...)
		} else {
			heads = append(heads, head)
		}
	}
	enough := len(k.heads) + len(commits)
	for c, err := range l.scanner.Attempts.History(ctx, heads) {
		if err != nil {
			return nil, err
		}
		if commits = append(commits, c); len(commits) < enough {
			continue
		}
		if k.setCommits(commits); k.isSettled() {
			break
		}
		enough *= 2
	}
	k.setCommits(commits)
	k.findBases()
	return k, nil
}

// mergePairs merges pairs and adds those that collide to found.
func (l *scan) mergePairs(ctx context.Context, pairs []pair, found map[pair]Collision) error {
	commits := make([][2]string, len(pairs))
	var all []string
	for i, p := range pairs {
		commits[i] = [2]string{l.all[p.a], l.all[p.b]}
		all = append(all, l.all[p.a], l.all[p.b])
	}
	if err := l.scanner.writeDrafts(ctx, all); err != nil {
		return err
	}
	merged, err := askInParallel(l.scanner.Workers, commits, func(part [][2]string) ([]mergetree.MergeResult, error) {
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

// collisionOf returns the collision of two commits if their merge has conflicts.
func collisionOf(m mergetree.MergeResult, commits [2]string) (Collision, bool) {
	c := Collision{A: commits[0], B: commits[1], Paths: plainPaths(m.Conflicts, commits)}
	if m.Err != nil {
		c.Reason = croft.Unmergeable
	}
	return c, m.Err != nil || !m.IsClean()
}

// plainPaths lists the paths of conflicts. Git appends the name of a commit to a file
// that has to make room for a directory; that suffix is removed.
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

// worthAProcess is how many questions are worth the start of another process.
const worthAProcess = 16

// askInParallel distributes questions to several workers in turn, and returns the
// answers in the order of the questions.
func askInParallel[Q, A any](workers int, questions []Q, ask func([]Q) ([]A, error)) ([]A, error) {
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
