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
	"github.com/croft-sh/croft/internal/shellword"
)

// RequireBranch refuses a workspace whose HEAD is not on the branch that its record
// names, or whose branch is gone, symbolic, diverged, or checked out elsewhere. An act
// on a workspace moves that branch and no other.
func (p *Projects) RequireBranch(ctx context.Context, r *Project, rec journal.Record) error {
	return ExplainBranch(rec, r.Trees.At(SpecOf(rec)).RequireBranch(ctx, rec.Workspace.Branch))
}

// ExplainBranch turns a *git.BranchError into an error that says what is wrong with the
// branch of a workspace, and what to run. It returns any other error as it is.
func ExplainBranch(rec journal.Record, err error) error {
	wrong, ok := errors.AsType[*git.BranchError](err)
	if !ok {
		return err
	}
	w := rec.Workspace
	e := &croft.Error{Code: croft.WrongBranch, Workspace: w.Name, Details: w.Path}
	switch {
	case wrong.Elsewhere != "":
		return BranchInUseError(w.Branch, wrong.Elsewhere)
	case wrong.Symbolic != "":
		e.Message = fmt.Sprintf("branch %q is a symbolic ref to %s, so that a commit would move that", w.Branch, wrong.Symbolic)
		e.Hint = "git symbolic-ref --delete refs/heads/" + shellword.Quote(w.Branch)
	case wrong.IsGone:
		e.Message = fmt.Sprintf("branch %q is gone, and a commit there would have no history; git branch %s COMMIT makes it again", w.Branch, shellword.Quote(w.Branch))
		e.Hint = "git -C " + shellword.Quote(w.Path) + " reflog"
	case wrong.IsDiverged:
		e.Message = fmt.Sprintf("branch %q was moved in the repository, and the workspace has gone another way on it", w.Branch)
		e.Details = fmt.Sprintf("%s is at %s; nothing was committed, and both are kept. The hint takes the workspace's commits and gives up those of git log %s..%s",
			w.Path, wrong.At, wrong.At, w.Branch)
		e.Hint = TakeOwnCommits(w, wrong.At)
	case w.Branch == "":
		e.Message = fmt.Sprintf("HEAD is on %s, and the workspace was made without a branch", namedBranch(wrong.On))
		e.Hint = "git -C " + shellword.Quote(w.Path) + " switch --detach"
	default:
		e.Message = fmt.Sprintf("HEAD is on %s, and the workspace's branch is %q", namedBranch(wrong.On), w.Branch)
		e.Hint = "git -C " + shellword.Quote(w.Path) + " switch " + shellword.Quote(w.Branch)
		if wrong.IsAhead {
			e.Hint = "git -C " + shellword.Quote(w.Path) + " switch -C " + shellword.Quote(w.Branch)
		} else if wrong.At != "" {
			e.Hint += " && git -C " + shellword.Quote(w.Path) + " merge " + wrong.At
		}
	}
	return e
}

// TakeOwnCommits is the command that moves the branch of an isolated workspace in the
// project to the commit that the workspace has there.
func TakeOwnCommits(w croft.Workspace, own string) string {
	return fmt.Sprintf("git -C %s branch --force %s %s", shellword.Quote(w.Repo), shellword.Quote(w.Branch), own)
}

// namedBranch returns a name for the branch that HEAD is on, or "no branch".
func namedBranch(branch string) string {
	if branch == "" {
		return "no branch"
	}
	return fmt.Sprintf("branch %q", branch)
}

// BranchInUseError says that a branch is checked out elsewhere.
func BranchInUseError(branch, where string) error {
	return &croft.Error{
		Code: croft.BranchInUse, Message: fmt.Sprintf("branch %q is checked out elsewhere", branch), Details: where, Hint: "git worktree list",
	}
}

// TargetError returns a TargetNotFound error if err is refs.ErrNoRef, and otherwise
// err.
func TargetError(target string, err error) error {
	if !errors.Is(err, refs.ErrNoRef) {
		return err
	}
	return &croft.Error{Code: croft.TargetNotFound, Message: fmt.Sprintf("there is no branch %q", target), Hint: "git branch"}
}

// BranchOf returns the branch that a target's name leads to; the empty name leads to
// none. A symbolic ref leads to the branch that it names, whose rules and lane count.
// BranchOf refuses a symbolic ref whose name a lane has moved: that was a branch, and an
// agent that made it a symbolic ref would choose other rules by that.
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
		Code: croft.TargetMoved, Message: fmt.Sprintf("%s was a branch, and was made a symbolic ref to %s", target, to),
		Hint: fmt.Sprintf("git log %s; then git symbolic-ref --delete refs/heads/%s, and git branch %s COMMIT", shellword.Quote(to), shellword.Quote(target), shellword.Quote(target)),
	}
}

// RefuseIsolatedTarget refuses a target that is the recorded branch of a live isolated
// workspace. Such a workspace has refs of its own: a merge into the project's branch
// would not reach it, and the workspace's later commits would not descend from that
// merge.
func (p *Projects) RefuseIsolatedTarget(ctx context.Context, r *Project, m croft.Merge) error {
	on, err := p.Journal.LiveOnBranch(ctx, r.ID, m.Target)
	if err != nil {
		return err
	}
	for _, rec := range on {
		if w := rec.Workspace; w.Mode == croft.ModeIsolated {
			return &croft.Error{
				Code: croft.BranchInUse, Details: w.Path,
				Message: fmt.Sprintf("%s is the branch of the isolated workspace %s, whose refs are its own: a merge would not reach it", m.Target, w.Name),
				Hint:    fmt.Sprintf("croft merge --into %s %s", shellword.Quote(cmp.Or(w.Target, "BRANCH")), shellword.Quote(m.WorkspaceName)),
			}
		}
	}
	return nil
}

// NoticeOfHook tells the user, if the repository has a hook that guards refs, that Croft
// did not run it.
func (p *Projects) NoticeOfHook(r *Project) {
	if hook := r.Git.ReferenceHook(); hook != "" {
		p.Notice("%s was not asked: Croft runs no hooks of a repository. Checks guard a target: [merge] checks", hook)
	}
}

// LagMerges is the number of the last merges that the doctor looks at.
const LagMerges = 50

// DeleteBranch deletes the branch of a removed workspace if it is still at the tip that
// was archived and no other worktree has it checked out. It reports whether the branch
// does not exist any more, also if it did not before.
func DeleteBranch(ctx context.Context, r *Project, rec journal.Record, tip string) (bool, error) {
	updates, gone, err := BranchDeletion(ctx, r, r.Git.ReadHeads, rec, tip)
	if err != nil || len(updates) == 0 {
		return gone, err
	}
	err = r.Git.UpdateRefs(ctx, updates...)
	if errors.Is(err, gitcmd.KindRefStale) {
		return false, nil // another process moved the branch
	}
	return err == nil, err
}

// BranchDeletion returns the ref updates that delete the branch of a workspace, and
// whether the branch is deleted once they are applied. There are no updates if the
// branch is deleted already, or has to stay. heads returns what is checked out.
func BranchDeletion(ctx context.Context, r *Project, heads func() *refs.Heads, rec journal.Record, tip string) ([]refs.Update, bool, error) {
	ref := "refs/heads/" + rec.Workspace.Branch
	now, err := r.Git.ReadRef(ctx, ref)
	if errors.Is(err, refs.ErrNoRef) {
		return nil, true, nil
	}
	// The registration of the workspace itself may not be deleted yet.
	if err != nil || now != tip || len(heads().CheckedOut(rec.Workspace.Branch, r.Trees.At(SpecOf(rec)).Admin)) > 0 {
		return nil, false, err
	}
	return []refs.Update{{Ref: ref, Old: tip}}, true, nil
}

// DeleteRef deletes a ref, whatever object it names. It is no error if the ref does not
// exist; it is one if another process moves the ref meanwhile.
func DeleteRef(ctx context.Context, r *Project, ref string) error {
	oid, err := r.Git.ReadRef(ctx, ref)
	if errors.Is(err, refs.ErrNoRef) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Git.UpdateRefs(ctx, refs.Update{Ref: ref, Old: oid})
}
