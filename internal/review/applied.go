package review

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// leaveOutApplied leaves the parts out of a review that were applied to its target and
// are still there: they become part of the review's base.
func (svc *Reviews) leaveOutApplied(ctx context.Context, attempts *mergetree.Session, work *croft.Review) error {
	merges, err := svc.Journal.MergesOf(ctx, work.Workspace)
	if err != nil {
		return err
	}
	base := work.Base
	for _, m := range slices.Backward(merges) { // the first first: a later part may change an earlier one
		if m.Kind != croft.KindApply || m.Status != croft.MergeMerged || m.Target != work.Target {
			continue
		}
		if base, err = svc.addApplied(ctx, attempts, work.TargetCommit, base, m); err != nil {
			return err
		}
	}
	if base == work.Base {
		return nil
	}
	work.Base = base
	patch, err := attempts.Patch(ctx, work.Base, work.Head)
	work.Files = merge.ReviewFiles(patch)
	return err
}

// addApplied returns a commit with a part that was applied on top of base. It returns base
// if the target does not have the part any more, or if it does not fit.
func (svc *Reviews) addApplied(ctx context.Context, attempts *mergetree.Session, target, base string, m journal.Merge) (string, error) {
	from, to := m.Base, m.Head
	if _, err := attempts.ReadCommit(ctx, to); errors.Is(err, object.ErrMissing) { // the part went with its review
		landed, err := attempts.ReadCommit(ctx, m.Commit)
		if errors.Is(err, object.ErrMissing) || err == nil && len(landed.Parents) == 0 {
			return base, nil
		}
		if err != nil {
			return base, err
		}
		from, to = landed.Parents[0], m.Commit
	}
	there, err := svc.onTop(ctx, attempts, from, to, target)
	isThere := there == target
	if err == nil && there == "" { // the target changed the same lines since
		isThere, err = attempts.IsAncestor(ctx, m.Commit, target)
	}
	if err != nil || !isThere {
		return base, err
	}
	next, err := svc.onTop(ctx, attempts, from, to, base)
	return cmp.Or(next, base), err
}

// onTop returns a commit with the changes between two commits on top of another one. It
// returns that one itself if it has the changes, and the empty string if they do not fit.
func (svc *Reviews) onTop(ctx context.Context, attempts *mergetree.Session, from, to, of string) (string, error) {
	merged, err := attempts.MergeOver(ctx, from, of, to)
	if err != nil || !merged.IsClean() {
		return "", err
	}
	was, err := attempts.ReadCommit(ctx, of)
	if err != nil || was.Tree == merged.Tree {
		return of, err
	}
	return attempts.Commit(ctx, object.Commit{
		Tree: merged.Tree, Parents: []string{of}, Signature: svc.croftSignature(), Message: "Applied before",
	}, gitcmd.Identity{})
}
