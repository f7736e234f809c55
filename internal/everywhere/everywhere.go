// Package everywhere visits all projects that a journal has, also those that are not at
// their paths any more.
package everywhere

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// Each calls visit for every project in the journal, in the order in which they were first
// seen. The location of one that is not at its path has only the ID, the path and the common
// directory. Each stops at the first error.
func Each(ctx context.Context, p *project.Projects, visit func(s project.Location, isThere bool) error) error {
	known, err := p.Journal.Repos(ctx)
	if err != nil {
		return err
	}
	for _, r := range known {
		s, err := p.Locate(ctx, croft.ByID(r.ID))
		isThere := err == nil && s.ID == r.ID
		if err != nil && ctx.Err() != nil {
			return err
		}
		if !isThere {
			s = project.Location{Project: &project.Project{ID: r.ID, Path: r.Path, CommonDir: r.CommonDir}}
		}
		if err := visit(s, isThere); err != nil {
			return err
		}
	}
	return nil
}

// Projects lists the projects of a journal.
type Projects struct {
	*project.Projects
}

// List lists the projects in the journal.
func (p Projects) List(ctx context.Context, _ croft.ReposRequest) ([]croft.Repo, error) {
	list := []croft.Repo{}
	err := Each(ctx, p.Projects, func(s project.Location, isThere bool) error {
		gone := croft.Repo{ID: s.ID, Path: s.Path, Name: s.Name(), GitDir: s.CommonDir, IsMissing: true}
		if !isThere {
			list = append(list, gone)
			return nil
		}
		repo := &croft.Repo{ID: s.ID, Path: s.Path, Name: s.Name()}
		if s.Git != nil {
			var err error
			if repo, err = p.DescribeRepo(ctx, s, croft.RepoRequest{}); err != nil {
				if ctx.Err() != nil || errors.Is(err, journal.ErrCorrupt) {
					return err
				}
				repo = &gone
			}
		}
		list = append(list, *repo)
		return nil
	})
	return list, err
}
