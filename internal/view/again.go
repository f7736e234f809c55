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
	paths, brings, err := merge.Trial(a, time.Now).Meets(ctx, tip, merge.Item{Kind: croft.KindMerge, Head: commit, Reverts: reverts})
	if err != nil || brings {
		return radar.Again{Does: radar.BringsBack, Paths: paths}, err
	}
	return radar.Again{Does: radar.BringsNothing}, nil
}
