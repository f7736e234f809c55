package radar

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/work"
)

// Forecasts are the radars of all projects.
type Forecasts struct {
	*project.Projects
}

// ShowConflicts forecasts which workspaces will collide.
func (svc *Forecasts) ShowConflicts(ctx context.Context, s project.Location, _ croft.ConflictsRequest) (*croft.Forecast, error) {
	records, err := svc.Journal.Live(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	return svc.RadarOf(s.Project).Forecast(ctx, func(ctx context.Context, a *mergetree.Session) []Candidate {
		return svc.readWork(ctx, s.Project, a, records)
	})
}

// RadarOf is the radar of a project.
func (svc *Forecasts) RadarOf(r *project.Project) *Radar {
	return &Radar{Git: r.Git, File: filepath.Join(svc.Settings.Config().StateDir, "forecasts", string(r.ID)+".json")}
}

// readWork reads what the workspaces hold, on all cores.
func (svc *Forecasts) readWork(ctx context.Context, r *project.Project, a *mergetree.Session, records []journal.Record) []Candidate {
	records = slices.DeleteFunc(slices.Clone(records), func(rec journal.Record) bool {
		return rec.Workspace.Mode == croft.ModeLegacy || rec.Workspace.State == croft.Creating
	})
	works := make([]Candidate, len(records))
	var wg sync.WaitGroup
	// If it fails, so does the first call that needs it.
	wg.Go(func() { _ = a.Prepare(ctx) })
	n := min(runtime.NumCPU(), len(records))
	for k := range n {
		wg.Go(func() {
			for i := k; i < len(records) && ctx.Err() == nil; i += n {
				works[i] = svc.readCandidate(ctx, r, a, records[i])
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(works, func(c Candidate) bool {
		return c.Err != nil && c.Err.Code == croft.WorktreeNotFound // it was removed meanwhile
	})
}

// readCandidate reads the head and the work commit of one workspace; a failure is put
// into Candidate.Err.
func (svc *Forecasts) readCandidate(ctx context.Context, r *project.Project, a *mergetree.Session, rec journal.Record) Candidate {
	c := Candidate{Workspace: rec.Workspace}
	var err error
	if c.Head, c.Commit, err = workCommit(ctx, r, a, rec); err != nil {
		c.Err = croft.AsError("conflicts", explain.Error("conflicts", rec.Workspace.Name, svc.Vanished(ctx, rec, err)))
	}
	return c
}

// workCommit is the last commit of a workspace, and that or a commit of what is not
// committed on top of it.
func workCommit(ctx context.Context, r *project.Project, a *mergetree.Session, rec journal.Record) (head, commit string, err error) {
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return "", "", project.Broken(rec, h)
	}
	if err := failpoint.Hit("conflicts.found"); err != nil {
		return "", "", err
	}
	tree := r.Trees.At(project.SpecOf(rec))
	found, err := work.Sort(ctx, r, tree, rec, work.HoldLarge)
	if err != nil {
		return "", "", err
	}
	if _, head, err = tree.Head(ctx); err != nil || !found.IsSomething() {
		return head, head, err
	}
	commit, err = tree.WorkCommit(ctx, a, found.Request())
	return head, commit, err
}
