// Package everywhere visits all projects that a journal has, also those that are not at
// their paths any more.
package everywhere

import (
	"context"
	"errors"
	"os"
	"syscall"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
)

// Each calls visit for every project in the journal, in the order in which they were first
// seen. problem says why one cannot be used, and is empty for the others. The location of
// one that cannot be used has only the ID, the path and the common directory. Each stops at
// the first error.
func Each(ctx context.Context, p *project.Projects, visit func(s project.Location, problem string) error) error {
	known, err := p.Journal.Repos(ctx)
	if err != nil {
		return err
	}
	for _, r := range known {
		s, err := p.Locate(ctx, croft.ByID(r.ID))
		if err != nil && ctx.Err() != nil {
			return err
		}
		problem := ""
		if err != nil || s.ID != r.ID {
			problem = Problem(r.CommonDir, err)
			s = project.Location{Project: &project.Project{ID: r.ID, Path: r.Path, CommonDir: r.CommonDir}}
		}
		if err := visit(s, problem); err != nil {
			return err
		}
	}
	return nil
}

// Problem says in a few words why a project cannot be used: its directory is not there, or
// err.
func Problem(commonDir string, err error) string {
	_, statErr := os.Lstat(commonDir)
	switch {
	case errors.Is(statErr, os.ErrNotExist) || errors.Is(statErr, syscall.ENOTDIR):
		return "not there"
	case statErr != nil:
		if path, ok := errors.AsType[*os.PathError](statErr); ok {
			statErr = path.Err
		}
		return "cannot be read: " + statErr.Error()
	case err == nil || errors.Is(err, croft.NotARepo):
		return "another project is there"
	}
	return "cannot be read: " + croft.AsError("", err).Message
}

// Projects lists the projects of a journal.
type Projects struct {
	*project.Projects
}

// List lists the projects in the journal.
func (p Projects) List(ctx context.Context, _ croft.ReposRequest) ([]croft.Repo, error) {
	list := []croft.Repo{}
	err := Each(ctx, p.Projects, func(s project.Location, problem string) error {
		gone := croft.Repo{ID: s.ID, Path: s.Path, Name: s.Name(), GitDir: s.CommonDir, IsMissing: true, Problem: problem}
		if problem != "" {
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
				gone.Problem = Problem(s.CommonDir, err)
				repo = &gone
			}
		}
		list = append(list, *repo)
		return nil
	})
	return list, err
}
