package view

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/condition"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/radar"
)

// targetForecast is whether the head of a workspace collides with the tip of its target. It is about the commits of
// the comparison that it is remembered with.
type targetForecast struct {
	Under    string       `json:",omitempty"` // see looker.under; empty: there was no forecast
	Collides bool         `json:",omitempty"`
	Paths    [][]byte     `json:",omitempty"` // the first of those that are in conflict
	Count    int          `json:",omitempty"` // of all of them
	Reason   croft.Reason `json:",omitempty"`
}

// needsForecast reports whether a merge of the workspace's commits would be one that can have conflicts: it brings the
// target commits, or work that a revert took out of it.
func (s *sight) needsForecast() bool {
	return s.isCompared && s.tip != "" && !s.commits.IsIntegrated && (s.commits.Ahead > 0 || s.commits.IsTakenBack)
}

// recallForecasts sets what is known without a merge.
func (l *looker) recallForecasts() {
	for i := range l.sights {
		switch s := &l.sights[i]; {
		case !s.needsForecast():
		case s.work.Behind == 0 && len(s.reverts) == 0: // the target has nothing that the head lacks
			s.setForecast(targetForecast{})
		case s.isRemembered && l.compared.file != "":
			if was := l.compared.known[l.list[i].ID].Forecast; was.Under != "" && was.Under == l.under() {
				s.setForecast(was)
			}
		}
	}
}

// halfOf returns a context that ends when half of the time is over.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return context.WithTimeout(ctx, time.Until(end)/2)
	}
	return ctx, func() {}
}

// forecastTargets finds out which workspaces collide with their targets: those that have commits which their target
// lacks, the last active first.
func (l *looker) forecastTargets(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	var tips []string
	due := map[string][]int{} // by the tip of the target
	for _, i := range l.byActivity(func(i int) bool { return l.sights[i].needsForecast() && !l.sights[i].forecast.IsKnown }) {
		tip := l.sights[i].tip
		if due[tip] == nil {
			tips = append(tips, tip)
		}
		due[tip] = append(due[tip], i)
	}
	for _, tip := range tips {
		l.forecastTarget(ctx, tip, due[tip])
	}
}

func (l *looker) forecastTarget(ctx context.Context, tip string, of []int) {
	in := radar.Input{Target: tip}
	at := map[string][]int{}
	var again []int // what was taken back: a merge undoes the reverts, too
	for _, i := range of {
		if len(l.sights[i].reverts) > 0 {
			again = append(again, i)
			continue
		}
		head := l.list[i].Head
		in.Heads = append(in.Heads, head)
		at[head] = append(at[head], i)
	}
	found := map[int]targetForecast{}
	under := l.under()
	tell := func(of []int, c *radar.Collision) {
		f := targetForecast{Under: under}
		if c != nil {
			f.Collides, f.Reason, f.Count = true, c.Reason, len(c.Paths)
			for _, path := range c.Paths[:min(len(c.Paths), condition.MostPaths)] {
				f.Paths = append(f.Paths, []byte(path))
			}
		}
		for _, i := range of {
			l.sights[i].setForecast(f)
			found[i] = f
		}
	}
	scanner := radar.Scanner{Attempts: l.session, Workers: runtime.NumCPU()}
	// What there was no time for, or git failed at, stays unknown.
	if len(in.Heads) > 0 {
		_ = scanner.ScanTarget(ctx, in, func(head string, c *radar.Collision) { tell(at[head], c) })
	}
	l.forecastAgain(ctx, tip, again, tell)
	if now, err := l.r.Git.MergeConditions(context.WithoutCancel(ctx)); err == nil && now == under {
		for i, f := range found {
			l.keepForecast(i, f)
		}
	}
}

// forecastAgain finds out which workspaces, of whose work reverts are in force, collide with their target.
func (l *looker) forecastAgain(ctx context.Context, tip string, of []int, tell func(of []int, c *radar.Collision)) {
	stack := merge.Trial(l.session, time.Now)
	for _, i := range of {
		met, err := stack.Meets(ctx, tip, l.itemOf(i, l.list[i].Head))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // it stays unknown
		case len(met.Paths) > 0:
			tell([]int{i}, &radar.Collision{Paths: met.Paths})
		default:
			tell([]int{i}, nil)
		}
	}
}

func (s *sight) setForecast(f targetForecast) {
	s.forecast = condition.Forecast{IsKnown: true, Collides: f.Collides, Count: f.Count, Reason: f.Reason}
	for _, path := range f.Paths {
		s.forecast.Paths = append(s.forecast.Paths, string(path))
	}
}

// settleForecast returns what is known of the collision with the target, by this look or by the last forecast of all.
// The latter was about uncommitted work, too, as long as there is some.
func (s *sight) settleForecast(w *croft.Workspace, last condition.Forecast) condition.Forecast {
	isClean := s.work.Has(croft.AspectFiles) && s.files.Changed == 0
	if !s.forecast.IsKnown || last.IsKnown && !isClean {
		s.forecast = last
		return last
	}
	switch is := s.forecast.Collides; {
	case is && !last.Collides:
		w.Collides = slices.Insert(w.Collides, 0, w.Target)
	case last.Collides && !is && len(w.Collides) > 0: // of one that is shown alone, none is set
		w.Collides = w.Collides[1:] // the target is the first
	}
	return s.forecast
}

func (l *looker) keepForecast(i int, f targetForecast) {
	if !l.sights[i].isRemembered {
		return
	}
	m, id := l.compared, l.list[i].ID
	was := m.known[id]
	was.Forecast = f
	m.known[id], m.isNew = was, true
}
