package removal

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/git/writers"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/view"
)

// IsIntegrated reports whether everything that a workspace committed is in its target
// now, or was merged at its host by a pull request of exactly these commits. Uncommitted work does not count. It is false if there is no repository, no
// target or no known commit, and if the work was merged and then reverted, unless the target
// has all of it again. It works for
// live and for removed workspaces.
func (svc *Removals) IsIntegrated(ctx context.Context, r *project.Project, rec journal.Record) (bool, error) {
	if r.Git == nil || rec.Workspace.Target == "" {
		return false, nil
	}
	reverts, err := svc.RevertsOf(ctx, rec.Workspace.ID, rec.Workspace.Target)
	if err != nil {
		return false, err
	}
	target, err := r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Target)
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return false, err
	}
	var tips []string
	if rec.Workspace.State != croft.Trashed {
		_, head, err := r.Trees.At(project.SpecOf(rec)).Head(ctx)
		if _, unknown := errors.AsType[*isolated.PrivateError](err); unknown {
			return false, nil
		}
		if err == nil && head != "" {
			tips = append(tips, head)
		}
	} else if rec.Trash != nil {
		tips = append(tips, rec.Trash.Tip)
		if head, err := svc.Pinned(ctx, r, project.ArchiveRef(rec.Workspace.ID)); err == nil && head != rec.Trash.Tip {
			tips = append(tips, head)
		}
		own, isAlone, err := svc.ownTips(ctx, r, rec.Workspace.ID)
		if err != nil || isAlone {
			return false, err
		}
		tips = append(tips, own...)
	}
	if tip, err := r.Git.ReadRef(ctx, "refs/heads/"+rec.Workspace.Branch); err == nil {
		tips = append(tips, tip)
	}
	if len(tips) == 0 {
		return false, nil
	}
	tips = append(tips, r.Trees.At(project.SpecOf(rec)).OwnTips()...)
	alone, err := svc.AdminTips(ctx, r, rec)
	if err != nil {
		return false, err
	}
	for _, tip := range append(tips, alone...) {
		if rec.Workspace.PullRequest.Proves(tip) {
			continue // its host has merged this commit; the project need not have fetched that
		}
		if target == "" {
			return false, nil
		}
		if in, err := svc.isIn(ctx, r, tip, target, reverts); err != nil || !in {
			return false, err
		}
	}
	return true, nil
}

// AdminTips returns the commits of refs that only a worktree has, such as refs/worktree/x. Those of an isolated one are
// among its own tips.
func (svc *Removals) AdminTips(ctx context.Context, r *project.Project, rec journal.Record) ([]string, error) {
	if rec.Workspace.State != croft.Trashed {
		return r.Trees.At(project.SpecOf(rec)).TipsOfAdmin(ctx)
	}
	if rec.Trash == nil || rec.Trash.Dir == "" {
		return nil, nil
	}
	return r.Git.WorktreeOf(worktree.Worktree{Admin: filepath.Join(rec.Trash.Dir, "admin")}).TipsOfAdmin(ctx)
}

// isIn reports whether a target has the work of a commit. The commits of work that was
// reverted are in its history, and prove nothing.
func (svc *Removals) isIn(ctx context.Context, r *project.Project, tip, target string, reverts []merge.Revert) (bool, error) {
	if len(reverts) == 0 {
		how, err := r.Git.Integrated(ctx, tip, target)
		return how != mergetree.NotIntegrated, err
	}
	attempts, err := r.Git.OpenMergeTree(writers.OnDisk)
	if err != nil {
		return false, err
	}
	defer attempts.Close()
	return merge.Trial(attempts, svc.Clock).IsBack(ctx, target, merge.Item{Kind: croft.KindMerge, Head: tip, Reverts: reverts})
}

// ownTips returns the commits that the agent of a removed isolated workspace had beside its
// branch. isAlone reports whether it also had an object that the project has by no ref,
// such as an annotated tag.
func (svc *Removals) ownTips(ctx context.Context, r *project.Project, id croft.ID) (tips []string, isAlone bool, err error) {
	own, err := svc.Pinned(ctx, r, project.ArchiveOwnRef(id))
	if errors.Is(err, refs.ErrNoRef) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	c, err := r.Git.ReadCommit(ctx, own)
	if err != nil {
		return nil, false, err
	}
	isAlone, err = r.Git.HasOnlyCopy(ctx, own)
	return c.Parents, isAlone, err
}

// RevertsOf lists the reverts of a workspace's work that are still in force on target,
// the oldest first. A later merge of the workspace, or a revert of the revert, ends
// one.
func (svc *Removals) RevertsOf(ctx context.Context, workspace croft.ID, target string) ([]merge.Revert, error) {
	landed, err := svc.Journal.LandedOn(ctx, workspace, target)
	if err != nil {
		return nil, err
	}
	return view.RevertsOf(landed), nil
}
