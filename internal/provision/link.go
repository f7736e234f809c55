package provision

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/fsx"
)

// Link links files and directories at the top of a project into a checkout: those that
// match a pattern and that the checkout does not have itself. All checkouts with such a
// link share its content. Link returns the names that it linked.
func Link(project, checkout string, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	entries, err := os.ReadDir(project)
	if err != nil {
		return nil, err
	}
	top, err := fsx.OpenDir(checkout)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	var linked []string
	for _, e := range entries {
		if e.Name() == ".git" || !matchesPattern(patterns, e.Name()) {
			continue
		}
		err := top.Symlink(filepath.Join(project, e.Name()), e.Name())
		if errors.Is(err, os.ErrExist) {
			continue // the commit has the name
		}
		if err != nil {
			return linked, err
		}
		linked = append(linked, e.Name())
	}
	return linked, nil
}

func matchesPattern(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}
