package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// requireBranch refuses a workspace that is not on the branch which its record
// names, or whose branch is not its alone: whatever Croft does for a workspace
// moves that branch and no other.
func (e *Engine) requireBranch(ctx context.Context, r *repo, rec journal.Record) error {
	return explainBranch(rec, r.trees.At(specOf(rec)).RequireBranch(ctx, rec.Workspace.Branch))
}

// explainBranch says what stands between a workspace and its branch, and what to
// run. Any other error stays as it is.
func explainBranch(rec journal.Record, err error) error {
	wrong, ok := errors.AsType[*git.BranchError](err)
	if !ok {
		return err
	}
	w := rec.Workspace
	e := &croft.Error{Code: croft.WrongBranch, Workspace: w.Name, Details: w.Path}
	switch {
	case wrong.Elsewhere != "":
		return branchInUse(w.Branch, wrong.Elsewhere)
	case wrong.Symbolic != "":
		e.Message = fmt.Sprintf("branch %q is a symbolic ref to %s, so that a commit would move that", w.Branch, wrong.Symbolic)
		e.Hint = "git symbolic-ref --delete refs/heads/" + w.Branch
	case wrong.IsGone:
		e.Message = fmt.Sprintf("branch %q is gone, and a commit there would have no history", w.Branch)
		e.Hint = "git branch " + w.Branch + " <its last commit>; git -C " + w.Path + " reflog shows it"
	case wrong.IsDiverged:
		e.Message = fmt.Sprintf("branch %q was moved in the repository, and the workspace has gone another way on it", w.Branch)
		e.Hint = "git log " + w.Branch
	case w.Branch == "":
		e.Message = fmt.Sprintf("HEAD is on %s, and the workspace was made without a branch", namedBranch(wrong.On))
		e.Hint = "git -C " + w.Path + " switch --detach"
	default:
		e.Message = fmt.Sprintf("HEAD is on %s, and the workspace's branch is %q", namedBranch(wrong.On), w.Branch)
		e.Hint = "git -C " + w.Path + " switch " + w.Branch
	}
	return e
}

// namedBranch names what HEAD is on.
func namedBranch(branch string) string {
	if branch == "" {
		return "no branch"
	}
	return fmt.Sprintf("branch %q", branch)
}
