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

// MergeAgain returns the paths in conflict of a merge that takes back the reverts of a workspace's work, as a lane does.
func (svc *Views) MergeAgain(ctx context.Context, a *mergetree.Session, w croft.Workspace, commit, tip string) (paths []string, isReverted bool, err error) {
	landed, err := svc.Journal.LandedOn(ctx, w.ID, w.Target)
	if err != nil {
		return nil, false, err
	}
	reverts := RevertsOf(landed)
	if len(reverts) == 0 {
		return nil, false, nil
	}
	paths, err = merge.Trial(a, time.Now).Meets(ctx, tip, merge.Item{Kind: croft.KindMerge, Head: commit, Reverts: reverts})
	return paths, true, err
}
