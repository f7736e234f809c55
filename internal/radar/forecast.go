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

// Forecasts makes forecasts of collisions in projects.
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

// RadarOf returns the radar of a project.
func (svc *Forecasts) RadarOf(r *project.Project) *Radar {
	return &Radar{Git: r.Git, File: filepath.Join(svc.Settings.Config().StateDir, "forecasts", string(r.ID)+".json")}
}

// readWork reads the head and the work commit of each workspace, in parallel. A
// workspace that is removed meanwhile is left out.
func (svc *Forecasts) readWork(ctx context.Context, r *project.Project, a *mergetree.Session, records []journal.Record) []Candidate {
	records = slices.DeleteFunc(slices.Clone(records), func(rec journal.Record) bool {
		return rec.Workspace.Mode == croft.ModeLegacy || rec.Workspace.State == croft.Creating
	})
	works := make([]Candidate, len(records))
	var wg sync.WaitGroup
	// If this fails, the first merge fails with the same error.
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
		return c.Err != nil && c.Err.Code == croft.WorktreeNotFound // the workspace was removed meanwhile
	})
}

// readCandidate reads the head and the work commit of one workspace. An error is
// returned in Candidate.Err.
func (svc *Forecasts) readCandidate(ctx context.Context, r *project.Project, a *mergetree.Session, rec journal.Record) Candidate {
	c := Candidate{Workspace: rec.Workspace}
	var err error
	if c.Head, c.Commit, err = WorkCommit(ctx, r, a, rec); err != nil {
		c.Err = croft.AsError("conflicts", explain.Error("conflicts", rec.Workspace.Name, svc.VanishedError(ctx, rec, err)))
	}
	return c
}

// WorkCommit returns the last commit of a workspace, and a commit of its uncommitted
// work on top of that, or the same commit if there is none.
func WorkCommit(ctx context.Context, r *project.Project, a *mergetree.Session, rec journal.Record) (head, commit string, err error) {
	if h := r.Trees.Health(project.SpecOf(rec)); h != checkout.Intact {
		return "", "", project.BrokenError(rec, h)
	}
	if err := failpoint.Hit("conflicts.found"); err != nil {
		return "", "", err
	}
	tree := r.Trees.At(project.SpecOf(rec))
	found, err := work.SortUncommitted(ctx, r, tree, rec, work.HoldLarge)
	if err != nil {
		return "", "", err
	}
	if _, head, err = tree.Head(ctx); err != nil || !found.HasWork() {
		return head, head, err
	}
	commit, err = tree.WorkCommit(ctx, a, found.Request())
	return head, commit, err
}
