// Package radar forecasts which workspaces will collide when they are merged.
//
// It represents the work of each workspace by one commit, its last or one of its
// uncommitted work, and groups these commits by target. Scanner finds the commits that
// collide with each other and with the target: pairs that touched nothing in common are
// left out, the others are merged in memory by git. The results of each scan are cached
// in one file per project, by commits, so that the next scan merges only pairs with a
// new commit, and a listing shows the last forecast without computing any. The commit of
// uncommitted work is there by a stamp of the workspace (works.go), so that it is made
// again only if it has to be merged, and so are the paths that commits touched (facts.go).
//
// The package owns that file, and changes nothing else: its merges write to an object
// directory that is deleted. The file may be lost or damaged at any time; then
// everything is compared anew. Ancestry and pruning re-implement what git could be
// asked for pair by pair, because there are n² pairs; both are tested against git's own
// answers.
package radar

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/writers"
)

// Radar forecasts collisions in one project.
type Radar struct {
	Git  *git.Repository
	File string // the cache of the last forecast

	Reverts Reverts // nil: no work was taken back
}

// Candidate is a workspace with the commit of its work.
type Candidate struct {
	Workspace croft.Workspace
	Head      string       // its last commit
	Commit    string       // its last commit, or a commit of its uncommitted work on top of that; empty: it has none
	Err       *croft.Error // why it could not be read

	Draft *Draft   // of Commit, if that is not in the repository
	Seen  SeenWork // for the next forecast; empty: the work has to be read again
}

// Forecast finds the candidates that collide, and suggests an order in which to merge
// them. read returns the candidates; it writes commits of uncommitted work to the
// session's object directory, unless it was seen before.
func (r *Radar) Forecast(ctx context.Context, read func(context.Context, *mergetree.Session, map[croft.ID]SeenWork) []Candidate) (*croft.Forecast, error) {
	attempts, err := r.Git.OpenMergeTree(writers.OnDisk)
	if err != nil {
		return nil, err
	}
	defer attempts.Close()
	start := time.Now()
	under, err := r.Git.MergeConditions(ctx)
	if err != nil {
		under = ""
	}
	last := r.readMemory(under)
	for {
		candidates := read(ctx, attempts, last.Works)
		isRead := time.Now()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out := &croft.Forecast{Pairs: []croft.Collision{}, Order: []string{}}
		groups, next, err := r.compare(ctx, attempts, candidates, last, out)
		if errors.Is(err, errOtherWork) && len(last.Works) > 0 {
			last.Works = nil
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Effort.Reading, out.Effort.Comparing = croft.Duration(isRead.Sub(start)), croft.Duration(time.Since(isRead))
		if now, err := r.Git.MergeConditions(ctx); err != nil || now != under {
			under = ""
		}
		r.writeMemory(under, groups, next, out)
		return out, nil
	}
}

// compare compares the candidates with each other and with their targets, and adds what it
// finds to out. It returns what the next forecast is to know.
func (r *Radar) compare(ctx context.Context, a *mergetree.Session, candidates []Candidate, last memory, out *croft.Forecast) ([]*targetGroup, memory, error) {
	next := memory{Scans: map[string]ScanResult{}, Works: map[croft.ID]SeenWork{}, facts: last.facts}
	groups, err := r.groupByTarget(ctx, candidates, out)
	if err != nil {
		return nil, next, err
	}
	scanner := Scanner{Attempts: a, Workers: runtime.NumCPU(), Drafts: map[string]*Draft{}, Facts: last.facts}
	commits := map[string]bool{}
	for _, c := range candidates {
		if commits[c.Commit] = true; c.Seen.Stamp != "" {
			next.Works[c.Workspace.ID] = c.Seen
		}
		// Of two workspaces with the same work, the one that has written it is preferred.
		if known := scanner.Drafts[c.Commit]; c.Draft != nil && (known == nil || known.make != nil) {
			scanner.Drafts[c.Commit] = c.Draft
		}
	}
	for _, g := range groups {
		again, err := r.mergesAgain(ctx, a, g)
		if err != nil {
			return nil, next, err
		}
		commits[g.tip] = true
		in := Input{Target: g.tip}
		for _, c := range g.candidates {
			commits[c.Commit] = true
			in.Heads = append(in.Heads, c.Commit)
		}
		res, err := scanner.Scan(ctx, in, last.Scans[g.target])
		if err != nil {
			return nil, next, err
		}
		next.Scans[g.target] = res
		if res.Collisions, err = scanner.withoutTargets(ctx, res); err != nil {
			return nil, next, err
		}
		g.report(res, again, out)
	}
	next.facts.keep(commits)
	return groups, next, nil
}

// targetGroup has the candidates with the same target.
type targetGroup struct {
	target, tip string
	candidates  []Candidate
}

// groupByTarget groups candidates by their targets, in their order. It skips candidates
// that could not be read, and adds them to out.
func (r *Radar) groupByTarget(ctx context.Context, candidates []Candidate, out *croft.Forecast) ([]*targetGroup, error) {
	var list []*targetGroup
	for _, c := range candidates {
		if c.Err != nil {
			out.Skipped = append(out.Skipped, croft.Kept{Name: c.Workspace.Name, Reason: c.Err})
			continue
		}
		if c.Commit == "" { // the branch has no commit yet
			continue
		}
		at := slices.IndexFunc(list, func(g *targetGroup) bool { return g.target == c.Workspace.Target })
		if at < 0 {
			g := &targetGroup{target: c.Workspace.Target}
			if g.target != "" {
				tip, err := r.Git.ReadRef(ctx, "refs/heads/"+g.target)
				if err != nil && !errors.Is(err, refs.ErrNoRef) {
					return nil, err
				}
				g.tip = tip
			}
			at = len(list)
			list = append(list, g)
		}
		list[at].candidates = append(list[at].candidates, c)
	}
	return list, nil
}

// report adds the result of a scan to a forecast, with the names of workspaces for the
// commits. again corrects what the scan says of some workspaces and the target.
func (g *targetGroup) report(res ScanResult, again map[croft.ID]Again, out *croft.Forecast) {
	isIdle := map[string]bool{}
	for _, commit := range res.Idle {
		isIdle[commit] = true
	}
	busy := slices.DeleteFunc(slices.Clone(g.candidates), func(c Candidate) bool {
		is := again[c.Workspace.ID].Does
		return is == BringsNothing || is == MergesCommits && isIdle[c.Commit]
	})
	at := map[string][]int{} // the candidates with each commit
	for i, c := range busy {
		at[c.Commit] = append(at[c.Commit], i)
	}
	var pairs [][2]int
	found := map[[2]int]croft.Collision{}
	add := func(a, b int, said croft.Collision) {
		p := [2]int{a, b}
		pairs, found[p] = append(pairs, p), said
	}
	last := map[int]bool{}
	for i, c := range busy {
		if said, collides := again[c.Workspace.ID].collision(c.Workspace); collides {
			add(i, len(busy), said)
			last[i] = true
		}
	}
	for _, c := range res.Collisions {
		said := croft.Collision{Paths: append([]string{}, c.Paths...), Reason: c.Reason}
		for _, a := range at[c.A] {
			if c.B == g.tip {
				if again[busy[a].Workspace.ID].Does == MergesCommits {
					said.A, said.AID, said.B, said.IsTarget = busy[a].Workspace.Name, busy[a].Workspace.ID, g.target, true
					add(a, len(busy), said)
					last[a] = true
				}
				continue
			}
			for _, b := range at[c.B] {
				x, y := busy[min(a, b)].Workspace, busy[max(a, b)].Workspace
				said.A, said.AID, said.B, said.BID = x.Name, x.ID, y.Name, y.ID
				add(min(a, b), max(a, b), said)
			}
		}
	}
	slices.SortFunc(pairs, func(p, q [2]int) int { return slices.Compare(p[:], q[:]) })
	for _, p := range pairs {
		out.Pairs = append(out.Pairs, found[p])
	}
	among := slices.DeleteFunc(pairs, func(p [2]int) bool { return p[1] == len(busy) })
	for _, i := range Order(len(busy), among, last) {
		out.Order = append(out.Order, busy[i].Workspace.Name)
	}
	out.Effort.Pairs += res.Counts.Pairs
	out.Effort.Remembered += res.Counts.Remembered
	out.Effort.Pruned += res.Counts.Pruned
	out.Effort.Merged += res.Counts.Merged
}
