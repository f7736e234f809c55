package everywhere

import (
	"context"
	"math"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/page"
	"github.com/croft-sh/croft/internal/project"
)

// Merges returns a function that lists the merges of all projects; list lists those of one.
func Merges(p *project.Projects, list func(context.Context, project.Location, croft.MergesRequest) (*croft.List[croft.Merge], error)) func(context.Context, croft.MergesRequest) (*croft.List[croft.Merge], error) {
	return func(ctx context.Context, req croft.MergesRequest) (*croft.List[croft.Merge], error) {
		all := []croft.Merge{}
		err := Each(ctx, p, func(s project.Location, _ string) error {
			one := req
			one.Page = croft.Page{Limit: math.MaxInt32 - 2} // all at once: merges leave the list
			some, err := list(ctx, s, one)
			if err != nil && ctx.Err() == nil { // what the journal has of a project whose git cannot be read
				some, err = list(ctx, project.Location{Project: &project.Project{ID: s.ID}}, one)
			}
			if err == nil {
				all = append(all, some.Items...)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if req.Scope == croft.ScopeAll {
			slices.SortStableFunc(all, func(a, b croft.Merge) int { return b.SubmittedAt.Compare(a.SubmittedAt) })
		}
		return page.Cut(all, req.Page, page.Listed, page.Merge)
	}
}
