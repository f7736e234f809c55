package provision

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/fsx"
)

// WhyNotShared is why an isolated workspace has no link to a file of the project: what its agent's sandbox shows ends there, and
// what is written there is written in the project.
const WhyNotShared = "an isolated workspace has no links to the project; provision.secrets of your own settings lets it have a copy"

// Shared returns the files and directories at the top of a project that match a pattern.
func Shared(project string, patterns []string) ([]string, error) {
	entries, err := os.ReadDir(project)
	var names []string
	for _, e := range entries {
		if e.Name() != ".git" && matchesPattern(patterns, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Link links files and directories at the top of a project into a checkout: those that
// match a pattern and that the checkout does not have itself. All checkouts with such a
// link share its content. Link returns the names that it linked.
func Link(project, checkout string, patterns []string) ([]string, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	names, err := Shared(project, patterns)
	if err != nil {
		return nil, err
	}
	top, err := fsx.OpenDir(checkout)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	var linked []string
	for _, name := range names {
		err := top.Symlink(filepath.Join(project, name), name)
		if errors.Is(err, os.ErrExist) {
			continue // the commit has the name
		}
		if err != nil {
			return linked, err
		}
		linked = append(linked, name)
	}
	return linked, nil
}

func matchesPattern(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}
