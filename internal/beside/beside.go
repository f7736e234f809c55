// Package beside finds the project whose workspaces lie in a directory that is itself no project.
package beside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/shellword"
)

// Error explains ErrNoRepository for a directory that holds the workspaces of a project. It returns
// any other error, and that of any other directory, as it is.
func Error(ctx context.Context, j *journal.Journal, dir string, err error) error {
	if !errors.Is(err, gitdir.ErrNoRepository) {
		return err
	}
	path := projectOf(ctx, j, dir)
	if path == "" {
		return err
	}
	return &croft.Error{
		Code: croft.NotARepo, Message: fmt.Sprintf("this directory holds the workspaces of %s, and is not the project", path), Hint: "cd " + shellword.Quote(path), Err: err,
	}
}

// maxEntries is how many entries of a directory are looked at.
const maxEntries = 100

// projectOf returns the path of the project whose workspaces lie in a directory, or the empty
// string.
func projectOf(ctx context.Context, j *journal.Journal, dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	f, err := os.Open(real)
	if err != nil {
		return ""
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxEntries) // some are enough
	for _, name := range names {
		rec, err := j.WorkspaceAt(ctx, filepath.Join(real, name))
		if err != nil {
			continue
		}
		if known, err := j.Repo(ctx, rec.RepoID); err == nil {
			return known.Path
		}
	}
	own, isUsual := strings.CutSuffix(real, ".croft") // as the usual layout calls it, without a workspace now
	if !isUsual {
		return ""
	}
	repos, _ := j.Repos(ctx) // without them, no project is known
	for _, known := range repos {
		if known.Path == own {
			return own
		}
	}
	return ""
}
