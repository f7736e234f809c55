package radar

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// Forecasts makes forecasts of collisions in projects.
type Forecasts struct {
	*project.Projects
	Reverts Reverts // required
}

// ShowConflicts forecasts which workspaces will collide.
func (svc *Forecasts) ShowConflicts(ctx context.Context, s project.Location, _ croft.ConflictsRequest) (*croft.Forecast, error) {
	records, err := svc.Journal.Live(ctx, s.ID)
	if err != nil {
		return nil, err
	}
	return svc.RadarOf(s.Project).Forecast(ctx, func(ctx context.Context, a *mergetree.Session, seen map[croft.ID]SeenWork) []Candidate {
		return svc.readWork(ctx, s.Project, a, records, seen)
	})
}

// RadarOf returns the radar of a project.
func (svc *Forecasts) RadarOf(r *project.Project) *Radar {
	return &Radar{Git: r.Git, Reverts: svc.Reverts, File: filepath.Join(svc.Settings.Config().StateDir, "forecasts", string(r.ID)+".json")}
}

// readWork reads the head and the work commit of each workspace, in parallel. A
// workspace that is removed meanwhile is left out.
func (svc *Forecasts) readWork(ctx context.Context, r *project.Project, a *mergetree.Session, records []journal.Record, seen map[croft.ID]SeenWork) []Candidate {
	records = slices.DeleteFunc(slices.Clone(records), func(rec journal.Record) bool {
		return rec.Workspace.Mode == croft.ModeLegacy || rec.Workspace.State == croft.Creating
	})
	statuses := r.Git.RememberedStatusesAt(ctx, r.Git.Moment()) // a forecast only shows
	defer statuses.Close()
	works := make([]Candidate, len(records))
	var wg sync.WaitGroup
	// If this fails, the first merge fails with the same error.
	wg.Go(func() { _ = a.Prepare(ctx) })
	n := min(runtime.NumCPU(), len(records))
	for k := range n {
		wg.Go(func() {
			for i := k; i < len(records) && ctx.Err() == nil; i += n {
				works[i] = svc.readCandidate(ctx, statuses, r, a, records[i], seen)
			}
		})
	}
	wg.Wait()
	return slices.DeleteFunc(works, func(c Candidate) bool {
		return c.Err != nil && c.Err.Code == croft.WorktreeNotFound // the workspace was removed meanwhile
	})
}

// readCandidate reads the head and the work commit of one workspace, which is known if the
// workspace is as it was seen. An error is returned in Candidate.Err.
func (svc *Forecasts) readCandidate(ctx context.Context, statuses *git.Statuses, r *project.Project, a *mergetree.Session, rec journal.Record, seen map[croft.ID]SeenWork) Candidate {
	c := Candidate{Workspace: rec.Workspace}
	w, err := readWorkspace(ctx, statuses, r, a, rec)
	if c.Head, c.Commit = w.head, w.head; err == nil && len(w.status) > 0 {
		err = c.readUncommitted(ctx, w, seen[rec.Workspace.ID])
	}
	if err != nil {
		c.Err = croft.AsError("conflicts", explain.Error("conflicts", rec.Workspace.Name, svc.VanishedError(ctx, rec, err)))
	}
	return c
}

// readUncommitted finds the commit of the work of a workspace that has some. The stamp is
// taken before any file is read: what is written later has another one.
func (c *Candidate) readUncommitted(ctx context.Context, w workspace, last SeenWork) error {
	stamp, mayRemember := w.stamp(ctx, time.Now())
	if mayRemember && last.Stamp == stamp {
		c.Commit, c.Seen = last.Commit, last
		if c.Commit != c.Head {
			c.Draft = &Draft{Parents: last.Parents, make: w.commit}
		}
		return nil
	}
	commit, err := w.commit(ctx)
	if err != nil {
		return err
	}
	c.Commit = commit
	if commit != c.Head {
		made, err := w.session.ReadCommit(ctx, commit)
		if err != nil {
			return err
		}
		c.Draft = &Draft{Parents: made.Parents}
	}
	if mayRemember {
		c.Seen = SeenWork{Stamp: stamp, Commit: commit}
		if c.Draft != nil {
			c.Seen.Parents = c.Draft.Parents
		}
	}
	return nil
}
