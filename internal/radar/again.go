package radar

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
)

// Reverts knows of work that was merged and taken back.
type Reverts interface {
	// MergeAgain returns the paths that a merge of a commit of a workspace's work into its target, which is at tip, would have
	// in conflict. isReverted is false if no revert of the work is in force there, and then git's own merge is the answer.
	MergeAgain(ctx context.Context, a *mergetree.Session, w croft.Workspace, commit, tip string) (paths []string, isReverted bool, err error)
}

// reportAgain corrects what a forecast says of the collisions of reverted work with its target: a merge takes the
// revert back, too, which the merge of two commits does not.
func (r *Radar) reportAgain(ctx context.Context, a *mergetree.Session, g *targetGroup, out *croft.Forecast) error {
	if r.Reverts == nil || g.tip == "" {
		return nil
	}
	for _, c := range g.candidates {
		if c.Workspace.MergeCommit == "" { // nothing of it has landed
			continue
		}
		if c.Draft != nil {
			if err := c.Draft.writeTo(ctx, c.Commit); err != nil {
				return err
			}
		}
		paths, isReverted, err := r.Reverts.MergeAgain(ctx, a, c.Workspace, c.Commit, g.tip)
		if err != nil {
			return err
		}
		if !isReverted {
			continue
		}
		out.Pairs = slices.DeleteFunc(out.Pairs, func(p croft.Collision) bool { return p.IsTarget && p.AID == c.Workspace.ID })
		if len(paths) > 0 {
			out.Pairs = append(out.Pairs, croft.Collision{A: c.Workspace.Name, AID: c.Workspace.ID, B: g.target, IsTarget: true, Paths: paths})
		}
	}
	return nil
}
