package engine

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/merge"
)

// takenBack lists the reverts by which a target is without the work of a workspace,
// the first first.
func (e *Engine) takenBack(ctx context.Context, workspace croft.ID, target string) ([]merge.Revert, error) {
	landed, err := e.journal.LandedOn(ctx, workspace, target)
	if err != nil {
		return nil, err
	}
	var reverts []merge.Revert
	for _, m := range inForce(landed) {
		reverts = append(reverts, merge.Revert{Commit: m.Commit, Reverted: m.Head})
	}
	return reverts, nil
}

// inForce finds the reverts among what landed of a workspace's work, in that order,
// that nothing has made up for: a merge brings back all that was taken back before,
// and the revert of a revert what that one took.
func inForce(landed []journal.Merge) []journal.Merge {
	var reverts []journal.Merge
	for _, m := range landed {
		switch {
		case m.Kind != croft.KindRevert:
			reverts = nil
		case m.Again:
			reverts = slices.DeleteFunc(reverts, func(r journal.Merge) bool { return r.ID == m.Reverts })
		default:
			reverts = append(reverts, m)
		}
	}
	return reverts
}
