package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/condition"
	"github.com/croft-sh/croft/internal/everywhere"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/page"
	"github.com/croft-sh/croft/internal/project"
)

// ListEverywhere lists the workspaces of all projects that match a filter, oldest first.
// Those of a project that cannot be used are listed as they are recorded. The projects share
// the time to look at workspaces.
func (svc *Views) ListEverywhere(ctx context.Context, f croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	list := []croft.Workspace{}
	var unseen []croft.ID
	one, begun := f, time.Now()
	one.Page = croft.Page{}
	err := everywhere.Each(ctx, svc.Projects, func(s project.Location, problem string) error {
		if problem != "" {
			absent, err := svc.absent(ctx, s, f, problem)
			list = append(list, absent...)
			return err
		}
		if f.Look > 0 && f.Look != croft.NoLimit {
			one.Look = max(f.Look-croft.Duration(time.Since(begun)), 1)
		}
		some, err := svc.ListWorkspaces(ctx, s, one)
		if err != nil && ctx.Err() == nil && !errors.Is(err, journal.ErrCorrupt) {
			absent, err := svc.absent(ctx, s, f, everywhere.Problem(s.CommonDir, err))
			list = append(list, absent...)
			return err
		}
		if err != nil {
			return err
		}
		list, unseen = append(list, some.Items...), append(unseen, some.Unseen...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	by := svc.callerOf(ctx)
	list = slices.DeleteFunc(list, func(w croft.Workspace) bool { return !matchesFilter(&w, f, by) })
	slices.SortStableFunc(list, func(a, b croft.Workspace) int { return a.CreatedAt.Compare(b.CreatedAt) })
	out, err := page.Cut(list, f.Page, page.Oldest, page.Workspace)
	if err == nil {
		out.Unseen = unseen
	}
	return out, err
}

// absent returns the workspaces of a project that cannot be used, as they are recorded.
func (svc *Views) absent(ctx context.Context, s project.Location, f croft.WorkspacesRequest, problem string) ([]croft.Workspace, error) {
	records, err := svc.recordsFor(ctx, s.ID, f)
	if err != nil {
		return nil, err
	}
	v := &view{sessions: svc.sessions(ctx)}
	list := make([]croft.Workspace, len(records))
	for i, rec := range records {
		w := rec.Workspace
		if w.State == croft.Trashed {
			w = v.viewOf(ctx, rec)
			verdict := condition.Decide(v.factsOf(rec, w))
			w.Status, w.Why = verdict.Condition, verdict.Why
		} else {
			w.RepoID, w.Revision = rec.RepoID, rec.Generation
			w.State, w.Fault, w.Status, w.Why = croft.Broken, croft.FaultMissing, croft.ConditionMissing, fmt.Sprintf("its project, %s: %s", s.Path, problem)
		}
		list[i] = w
	}
	return list, nil
}
