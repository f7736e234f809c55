package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
)

// RequireBranch refuses a workspace that is not on the branch which its record
// names, or whose branch is not its alone: whatever Croft does for a workspace
// moves that branch and no other.
func (p *Projects) RequireBranch(ctx context.Context, r *Project, rec journal.Record) error {
	return ExplainBranch(rec, r.Trees.At(SpecOf(rec)).RequireBranch(ctx, rec.Workspace.Branch))
}

// ExplainBranch says what stands between a workspace and its branch, and what to
// run. Any other error stays as it is.
func ExplainBranch(rec journal.Record, err error) error {
	wrong, ok := errors.AsType[*git.BranchError](err)
	if !ok {
		return err
	}
	w := rec.Workspace
	e := &croft.Error{Code: croft.WrongBranch, Workspace: w.Name, Details: w.Path}
	switch {
	case wrong.Elsewhere != "":
		return BranchInUse(w.Branch, wrong.Elsewhere)
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

// BranchInUse says that a branch is checked out elsewhere.
func BranchInUse(branch, where string) error {
	return &croft.Error{
		Code: croft.BranchInUse, Message: fmt.Sprintf("branch %q is checked out elsewhere", branch), Details: where, Hint: "git worktree list",
	}
}

// TargetNotFound explains why a target could not be read.
func TargetNotFound(target string, err error) error {
	if !errors.Is(err, refs.ErrNoRef) {
		return err
	}
	return &croft.Error{Code: croft.TargetNotFound, Message: fmt.Sprintf("there is no branch %q", target), Hint: "git branch"}
}

// BranchOf is the branch that a target's name leads to. A name that is a symbolic
// ref stands for what it names, whose rules and lane count. But a name that a lane has
// moved was a branch of its own: an agent that made it a symbolic ref would choose other
// rules by that, so it is refused.
func (p *Projects) BranchOf(ctx context.Context, r *Project, target string) (string, error) {
	if target == "" {
		return "", nil
	}
	to, err := r.Git.BranchOf(ctx, target)
	if err != nil || to == target {
		return to, err
	}
	_, err = p.Journal.LaneTip(ctx, r.ID, target)
	if errors.Is(err, journal.ErrNotFound) {
		return to, nil
	}
	if err != nil {
		return "", err
	}
	return "", &croft.Error{
		Code: croft.TargetMoved, Message: fmt.Sprintf("%s was a branch, and somebody made it a symbolic ref to %s", target, to),
		Hint: fmt.Sprintf("git log %s; then git symbolic-ref --delete refs/heads/%s, and git branch %s COMMIT", to, target, target),
	}
}

// RefuseIsolatedTarget refuses a target that an isolated workspace has checked out.
// Such a workspace has refs of its own: what is merged into the project's would not
// reach it, and its own work would not follow from there any more.
func (p *Projects) RefuseIsolatedTarget(ctx context.Context, r *Project, m croft.Merge) error {
	live, err := p.Journal.Live(ctx, r.ID)
	if err != nil {
		return err
	}
	for _, rec := range live {
		if w := rec.Workspace; w.Mode == croft.ModeIsolated && w.Branch == m.Target {
			return &croft.Error{
				Code: croft.BranchInUse, Details: w.Path,
				Message: fmt.Sprintf("%s is the branch of the isolated workspace %s, whose refs are its own: a merge would not reach it", m.Target, w.Name),
				Hint:    fmt.Sprintf("croft merge --into %s %s", cmp.Or(w.Target, "BRANCH"), m.Workspace),
			}
		}
	}
	return nil
}

// NoticeOfHook says that a hook which guards refs was not asked.
func (p *Projects) NoticeOfHook(r *Project) {
	if hook := r.Git.ReferenceHook(); hook != "" {
		p.Notice("%s was not asked: Croft runs no hooks of a repository. Checks guard a target: [merge] checks", hook)
	}
}

// LagMerges is how many merges the doctor looks back.
const LagMerges = 50

// DeleteBranch deletes the branch of a removed workspace if it is still at the
// tip that was archived and no other worktree has it checked out.
func DeleteBranch(ctx context.Context, r *Project, rec journal.Record, tip string) (bool, error) {
	updates, gone, err := BranchDeletion(ctx, r, rec, tip)
	if err != nil || len(updates) == 0 {
		return gone, err
	}
	err = r.Git.UpdateRefs(ctx, updates...)
	if errors.Is(err, gitcmd.KindRefStale) {
		return false, nil // another process moved it
	}
	return err == nil, err
}

// BranchDeletion is what deletes the branch of a workspace, and whether it is
// gone after that. Both are empty if it has to stay.
func BranchDeletion(ctx context.Context, r *Project, rec journal.Record, tip string) ([]refs.Update, bool, error) {
	ref := "refs/heads/" + rec.Workspace.Branch
	now, err := r.Git.ReadRef(ctx, ref)
	if errors.Is(err, refs.ErrNoRef) {
		return nil, true, nil
	}
	// The workspace's own registration may still be on its way out.
	if err != nil || now != tip || len(r.Git.CheckedOut(rec.Workspace.Branch, r.Trees.At(SpecOf(rec)).Admin)) > 0 {
		return nil, false, err
	}
	return []refs.Update{{Ref: ref, Old: tip}}, true, nil
}

// DropRef deletes a ref, whatever it names. One that is not there is no error.
func DropRef(ctx context.Context, r *Project, ref string) error {
	oid, err := r.Git.ReadRef(ctx, ref)
	if errors.Is(err, refs.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Git.UpdateRefs(ctx, refs.Update{Ref: ref, Old: oid})
}
