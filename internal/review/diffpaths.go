package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/shellword"
)

// requirePaths refuses a path that is neither in the work of a workspace nor in what it is compared with: an empty answer would look
// as if nothing had changed there. Of a review and of a merge the files are frozen, and any path may be asked for.
func (svc *Reviews) requirePaths(ctx context.Context, c *comparison, paths []string) error {
	if c.isStored || c.Merge != "" {
		return nil
	}
	var trees []string
	for _, path := range paths {
		if len(merge.FilesWithin(c.Files, []string{path})) > 0 {
			continue
		}
		path = strings.TrimSuffix(strings.TrimPrefix(path, "./"), "/")
		if path == "" || path == "." || slices.ContainsFunc(c.HeldBack, func(held string) bool { return held == path || strings.HasPrefix(held, path+"/") }) {
			continue
		}
		if trees == nil {
			var err error
			if trees, err = c.trees(ctx); err != nil {
				return err
			}
		}
		if isThere, err := c.isInAny(ctx, trees, path); err != nil {
			return err
		} else if !isThere {
			return svc.noPathError(ctx, c, path)
		}
	}
	return nil
}

// trees are those of the work, of what it is compared with, and of its target as that is now.
func (c *comparison) trees(ctx context.Context) (trees []string, err error) {
	commits := []string{c.Base, c.Head}
	if tip, err := c.project.Git.ReadRef(ctx, "refs/heads/"+c.Target); err == nil { // the target may be gone
		commits = append(commits, tip)
	}
	for _, oid := range commits {
		commit, err := c.attempts.ReadCommit(ctx, oid)
		if err != nil {
			return nil, err
		}
		trees = append(trees, commit.Tree)
	}
	return trees, nil
}

func (c *comparison) isInAny(ctx context.Context, trees []string, path string) (bool, error) {
	for _, tree := range trees {
		if entry, err := c.attempts.Entry(ctx, tree, path); err != nil || entry.Mode != "" {
			return err == nil, err
		}
	}
	return false, nil
}

func (svc *Reviews) noPathError(ctx context.Context, c *comparison, path string) error {
	e := &croft.Error{
		Code: croft.FileNotFound, Workspace: c.WorkspaceName, Message: fmt.Sprintf("%q is not in the work of %s", path, c.WorkspaceName),
		Fields: map[string]string{"path": path},
	}
	if c.Target != "" {
		e.Message = fmt.Sprintf("%q is neither in the work of %s nor in %s", path, c.WorkspaceName, c.Target)
	}
	e.Hint = "croft diff --stat " + shellword.Quote(c.WorkspaceName)
	if _, err := svc.Journal.LiveByName(ctx, c.project.ID, path); err == nil {
		e.Message += "; one workspace at a time is compared with its target"
		e.Hint = "croft diff " + shellword.Quote(path)
	}
	return e
}
