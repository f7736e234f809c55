package engine

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// showConflicts forecasts which workspaces will collide.
func (e *Engine) showConflicts(ctx context.Context, s standing, _ croft.ConflictsRequest) (*croft.Forecast, error) {
	return e.forecast(ctx, s.repo)
}

// plot is what a workspace holds: its last commit, or a commit of everything
// that is not committed yet on top of that.
type plot struct {
	journal.Record
	head, commit string
	err          error
}

func (e *Engine) forecast(ctx context.Context, r *repo) (*croft.Forecast, error) {
	records, err := e.journal.Live(ctx, r.id)
	if err != nil {
		return nil, err
	}
	attempts, err := r.git.Attempts(git.OnDisk)
	if err != nil {
		return nil, err
	}
	defer attempts.Close()
	start := time.Now()
	works := r.readWork(ctx, attempts, records)
	read := time.Now()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := &croft.Forecast{Pairs: []croft.Collision{}, Order: []string{}}
	fields, err := r.fields(ctx, works, out)
	if err != nil {
		return nil, err
	}
	last := e.recallSightings(r)
	sightings := map[string]merge.Sighting{}
	radar := merge.Radar{Attempts: attempts, Workers: runtime.NumCPU()}
	for _, f := range fields {
		scene := merge.Scene{Target: f.tip}
		for _, w := range f.works {
			scene.Heads = append(scene.Heads, w.commit)
		}
		s, err := radar.Scan(ctx, scene, last[f.target])
		if err != nil {
			return nil, err
		}
		sightings[f.target] = s
		f.report(s, out)
	}
	out.Effort.Reading, out.Effort.Comparing = read.Sub(start), time.Since(read)
	e.rememberForecast(r, fields, sightings, out)
	return out, nil
}

// readWork reads what the workspaces hold, on all cores.
func (r *repo) readWork(ctx context.Context, a *git.Attempts, records []journal.Record) []plot {
	records = slices.DeleteFunc(slices.Clone(records), func(rec journal.Record) bool {
		return rec.Workspace.Mode == croft.ModeLegacy || rec.Workspace.State == croft.Creating
	})
	works := make([]plot, len(records))
	var wg sync.WaitGroup
	// If it fails, so does the first call that needs it.
	wg.Go(func() { _ = a.Prepare(ctx) })
	n := min(runtime.NumCPU(), len(records))
	for k := range n {
		wg.Go(func() {
			for i := k; i < len(records) && ctx.Err() == nil; i += n {
				works[i] = r.readOne(ctx, a, records[i])
			}
		})
	}
	wg.Wait()
	return works
}

func (r *repo) readOne(ctx context.Context, a *git.Attempts, rec journal.Record) plot {
	w := plot{Record: rec}
	if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
		w.err = broken(rec, h)
		return w
	}
	tree := r.trees.At(specOf(rec))
	found, err := r.sortWork(ctx, tree, rec, holdLarge)
	if err != nil {
		w.err = err
		return w
	}
	if _, w.head, w.err = tree.Head(ctx); w.err != nil {
		return w
	}
	w.commit = w.head
	if found.isSomething() {
		w.commit, w.err = tree.WorkCommit(ctx, a, found.request())
	}
	return w
}

// field is the workspaces that go to one target.
type field struct {
	target, tip string
	works       []plot
}

// fields sorts workspaces by their targets, in the order in which they come.
// Those that could not be read are skipped.
func (r *repo) fields(ctx context.Context, works []plot, out *croft.Forecast) ([]*field, error) {
	var list []*field
	for _, w := range works {
		if w.err != nil {
			reason := croft.AsError("conflicts", explain.Error("conflicts", w.Workspace.Name, w.err))
			out.Skipped = append(out.Skipped, croft.Kept{Name: w.Workspace.Name, Reason: reason})
			continue
		}
		if w.commit == "" { // a branch without a commit
			continue
		}
		at := slices.IndexFunc(list, func(f *field) bool { return f.target == w.Workspace.Target })
		if at < 0 {
			f := &field{target: w.Workspace.Target}
			if f.target != "" {
				tip, err := r.git.ReadRef(ctx, "refs/heads/"+f.target)
				if err != nil && !errors.Is(err, git.ErrNoRef) {
					return nil, err
				}
				f.tip = tip
			}
			at = len(list)
			list = append(list, f)
		}
		list[at].works = append(list[at].works, w)
	}
	return list, nil
}

// report adds what was seen to a forecast, by the names of workspaces.
func (f *field) report(s merge.Sighting, out *croft.Forecast) {
	busy := slices.DeleteFunc(slices.Clone(f.works), func(w plot) bool { return slices.Contains(s.Idle, w.commit) })
	at := map[string][]int{} // which workspaces hold a commit
	for i, w := range busy {
		at[w.commit] = append(at[w.commit], i)
	}
	var pairs [][2]int
	found := map[[2]int]croft.Collision{}
	last := map[int]bool{}
	for _, c := range s.Collisions {
		said := croft.Collision{Paths: append([]string{}, c.Paths...), Reason: c.Reason}
		for _, a := range at[c.A] {
			if c.B == f.tip {
				p := [2]int{a, len(busy)}
				said.A, said.B, said.IsTarget = busy[a].Workspace.Name, f.target, true
				pairs, found[p], last[a] = append(pairs, p), said, true
				continue
			}
			for _, b := range at[c.B] {
				p := [2]int{min(a, b), max(a, b)}
				said.A, said.B = busy[p[0]].Workspace.Name, busy[p[1]].Workspace.Name
				pairs, found[p] = append(pairs, p), said
			}
		}
	}
	slices.SortFunc(pairs, func(p, q [2]int) int { return slices.Compare(p[:], q[:]) })
	for _, p := range pairs {
		out.Pairs = append(out.Pairs, found[p])
	}
	among := slices.DeleteFunc(pairs, func(p [2]int) bool { return p[1] == len(busy) })
	for _, i := range merge.Order(len(busy), among, last) {
		out.Order = append(out.Order, busy[i].Workspace.Name)
	}
	out.Effort.Pairs += s.Counts.Pairs
	out.Effort.Remembered += s.Counts.Remembered
	out.Effort.Pruned += s.Counts.Pruned
	out.Effort.Merged += s.Counts.Merged
}
