package engine

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
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/radar"
)

// showConflicts forecasts which workspaces will collide.
func (e *Engine) showConflicts(ctx context.Context, s standing, _ croft.ConflictsRequest) (*croft.Forecast, error) {
	records, err := e.journal.Live(ctx, s.id)
	if err != nil {
		return nil, err
	}
	return e.radarOf(s.repo).Forecast(ctx, func(ctx context.Context, a *git.Attempts) []radar.Candidate {
		return e.readWork(ctx, s.repo, a, records)
	})
}

// radarOf is the radar of a project.
func (e *Engine) radarOf(r *repo) *radar.Radar {
	return &radar.Radar{Git: r.git, File: filepath.Join(e.set.Config().StateDir, "forecasts", string(r.id)+".json")}
}

// readWork reads what the workspaces hold, on all cores.
func (e *Engine) readWork(ctx context.Context, r *repo, a *git.Attempts, records []journal.Record) []radar.Candidate {
	records = slices.DeleteFunc(slices.Clone(records), func(rec journal.Record) bool {
		return rec.Workspace.Mode == croft.ModeLegacy || rec.Workspace.State == croft.Creating
	})
	works := make([]radar.Candidate, len(records))
	var wg sync.WaitGroup
	// If it fails, so does the first call that needs it.
	wg.Go(func() { _ = a.Prepare(ctx) })
	n := min(runtime.NumCPU(), len(records))
	for k := range n {
		wg.Go(func() {
			for i := k; i < len(records) && ctx.Err() == nil; i += n {
				works[i] = e.readOne(ctx, r, a, records[i])
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(works, func(c radar.Candidate) bool {
		return c.Err != nil && c.Err.Code == croft.WorktreeNotFound // it was removed meanwhile
	})
}

func (e *Engine) readOne(ctx context.Context, r *repo, a *git.Attempts, rec journal.Record) radar.Candidate {
	c := radar.Candidate{Workspace: rec.Workspace}
	var err error
	if c.Head, c.Commit, err = r.workCommit(ctx, a, rec); err != nil {
		c.Err = croft.AsError("conflicts", explain.Error("conflicts", rec.Workspace.Name, e.vanished(ctx, rec, err)))
	}
	return c
}

// workCommit is the last commit of a workspace, and that or a commit of what is not
// committed on top of it.
func (r *repo) workCommit(ctx context.Context, a *git.Attempts, rec journal.Record) (head, commit string, err error) {
	if h := r.trees.Health(specOf(rec)); h != checkout.Intact {
		return "", "", broken(rec, h)
	}
	if err := failpoint.Hit("conflicts.found"); err != nil {
		return "", "", err
	}
	tree := r.trees.At(specOf(rec))
	found, err := r.sortWork(ctx, tree, rec, holdLarge)
	if err != nil {
		return "", "", err
	}
	if _, head, err = tree.Head(ctx); err != nil || !found.isSomething() {
		return head, head, err
	}
	commit, err = tree.WorkCommit(ctx, a, found.request())
	return head, commit, err
}
