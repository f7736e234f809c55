package view

import (
	"context"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/everywhere"
	"github.com/croft-sh/croft/internal/page"
	"github.com/croft-sh/croft/internal/project"
)

// ListEverywhere lists the workspaces of all projects that match a filter, oldest first.
// Those of a project that is not at its path are missing, too. The projects share the time
// to look at workspaces.
func (svc *Views) ListEverywhere(ctx context.Context, f croft.WorkspacesRequest) (*croft.List[croft.Workspace], error) {
	list := []croft.Workspace{}
	var unseen []croft.ID
	one, begun := f, time.Now()
	one.Page = croft.Page{}
	err := everywhere.Each(ctx, svc.Projects, func(s project.Location, isThere bool) error {
		if !isThere {
			records, err := svc.Journal.Live(ctx, s.ID)
			for _, rec := range records {
				w := rec.Workspace
				w.RepoID, w.Revision = rec.RepoID, rec.Generation
				w.State, w.Fault, w.Status, w.Why = croft.Broken, croft.FaultMissing, croft.ConditionMissing, "its project is not at "+s.Path
				list = append(list, w)
			}
			return err
		}
		if f.Look > 0 {
			one.Look = max(f.Look-croft.Duration(time.Since(begun)), 1)
		}
		some, err := svc.ListWorkspaces(ctx, s, one)
		if err != nil {
			return err
		}
		list, unseen = append(list, some.Items...), append(unseen, some.Unseen...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(w croft.Workspace) bool { return !matchesFilter(&w, f) })
	slices.SortStableFunc(list, func(a, b croft.Workspace) int { return a.CreatedAt.Compare(b.CreatedAt) })
	out, err := page.Cut(list, f.Page, page.Oldest, page.Workspace)
	if err == nil {
		out.Unseen = unseen
	}
	return out, err
}
