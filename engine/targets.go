package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
)

// branchOf is the branch that a target's name leads to. A name that is a symbolic
// ref stands for what it names, whose rules and lane count; but one that a lane
// has moved was a branch of its own, and whoever made it a symbolic ref chose other
// rules.
func (e *Engine) branchOf(ctx context.Context, r *repo, target string) (string, error) {
	if target == "" {
		return "", nil
	}
	to, err := r.git.BranchOf(ctx, target)
	if err != nil || to == target {
		return to, err
	}
	_, err = e.journal.LaneTip(ctx, r.id, target)
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

// refuseIsolatedTarget refuses a target that an isolated workspace has checked out.
// Such a workspace has refs of its own: what is merged into the project's would not
// reach it, and its own work would not follow from there any more.
func (e *Engine) refuseIsolatedTarget(ctx context.Context, r *repo, m croft.Merge) error {
	live, err := e.journal.Live(ctx, r.id)
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

// noticeOfHook says that a hook which guards refs was not asked.
func (e *Engine) noticeOfHook(r *repo) {
	if hook := r.git.ReferenceHook(); hook != "" {
		e.notice("%s was not asked: Croft runs no hooks of a repository. Checks guard a target: [merge] checks", hook)
	}
}

// lagMerges is how many merges the doctor looks back.
const lagMerges = 50

// lagging looks for checkouts that have a target's branch, and the files of an
// earlier commit of it: a git checkout that was just going there when a merge
// moved the branch leaves that.
func (d *doctor) lagging(ctx context.Context) error {
	tips, err := d.journal.LaneTips(ctx, d.r.id)
	if err != nil {
		return err
	}
	for _, t := range tips {
		tip, err := d.r.git.ReadRef(ctx, "refs/heads/"+t.Target)
		if err != nil {
			continue // it is gone, or told as something else
		}
		if err := d.laggingOn(ctx, t.Target, tip); err != nil {
			return err
		}
	}
	return nil
}

func (d *doctor) laggingOn(ctx context.Context, target, tip string) error {
	now, err := d.r.git.ReadCommit(ctx, tip)
	if err != nil {
		return nil //nolint:nilerr // an object that is missing is told by others
	}
	for _, h := range d.r.git.Hosts(target) {
		tree, err := h.IndexTree()
		if err != nil || h.InProgress || tree == now.Tree {
			continue
		}
		merges, err := d.journal.Merges(ctx, d.r.id, target, lagMerges)
		if err != nil {
			return err
		}
		for _, m := range merges {
			was, err := d.r.git.ReadCommit(ctx, m.Before)
			if m.Before == "" || err != nil || was.Tree != tree {
				continue
			}
			d.find(findLags, h.Path, fmt.Sprintf("It has %s checked out, and the files of %.7s, from before a merge: git status shows the merge undone. "+
				"croft doctor --fix brings it along, and touches nothing of yours.", target, m.Before), func() error {
				advance, err := h.Prepare(ctx, m.Before, tip)
				if err != nil {
					return err
				}
				defer advance.Cancel()
				return advance.Apply(ctx)
			})
			break
		}
	}
	return nil
}
