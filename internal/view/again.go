package view

import (
	"context"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/radar"
)

var _ radar.Reverts = (*Views)(nil)

// MergeAgain returns what a merge of a workspace's work does: nothing if the work was merged before and that is still in
// force, and it takes the reverts of the work back, as a lane does.
func (svc *Views) MergeAgain(ctx context.Context, a *mergetree.Session, w croft.Workspace, commit, tip string) (radar.Again, error) {
	landed, err := svc.Journal.LandedOn(ctx, w.ID, w.Target)
	if err != nil {
		return radar.Again{}, err
	}
	if was, found := journal.BroughtBy(landed, commit); found && w.MergeStatus == croft.MergeMerged {
		if in, err := a.IsAncestor(ctx, was.Commit, tip); err != nil || in {
			return radar.Again{Does: radar.BringsNothing}, err
		}
	}
	reverts := RevertsOf(landed)
	if len(reverts) == 0 {
		return radar.Again{}, nil
	}
	// At the same time whenever it is made: what is remembered of the commit holds for the next forecast, too.
	stack := merge.Trial(a, func() time.Time { return time.Unix(0, 0) })
	met, err := stack.Meets(ctx, tip, merge.Item{Kind: croft.KindMerge, Head: commit, Reverts: reverts})
	if err != nil || len(met.Paths) > 0 {
		return radar.Again{Does: radar.BringsBack, Paths: met.Paths}, err
	}
	if !met.Brings {
		return radar.Again{Does: radar.BringsNothing}, nil
	}
	result, err := stack.Result(ctx, tip, met)
	return radar.Again{Does: radar.BringsBack, Commit: result}, err
}
