package view

import (
	"context"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/merge"
	"github.com/croft-sh/croft/internal/radar"
)

var _ radar.Reverts = (*Views)(nil)

// MergeAgain returns what a merge of a workspace's work does that takes the reverts of it back, as a lane does.
func (svc *Views) MergeAgain(ctx context.Context, a *mergetree.Session, w croft.Workspace, commit, tip string) (radar.Again, error) {
	landed, err := svc.Journal.LandedOn(ctx, w.ID, w.Target)
	if err != nil {
		return radar.Again{}, err
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
