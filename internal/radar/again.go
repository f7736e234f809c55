package radar

import (
	"context"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/mergetree"
)

// Reverts knows of work that was merged before, and of what was taken back.
type Reverts interface {
	// MergeAgain returns what a merge of a commit of a workspace's work into its target, which is at tip, does.
	MergeAgain(ctx context.Context, a *mergetree.Session, w croft.Workspace, commit, tip string) (Again, error)
}

// Again is what a merge does of work of which something has landed.
type Again struct {
	Does   AgainKind
	Commit string       // of the target with the work, if it BringsBack the work without a conflict
	Paths  []string     // in conflict with the target
	Reason croft.Reason // empty: Paths say it
}

// AgainKind is a kind of such a merge.
type AgainKind string

// The kinds of merges of work of which something has landed.
const (
	MergesCommits AgainKind = ""        // what git's merge of the two commits does
	BringsBack    AgainKind = "brings"  // it takes reverts of the work back, too, and may conflict
	BringsNothing AgainKind = "nothing" // nothing: the target has the work
)

// collision returns the collision of a workspace with its target, if there is one.
func (k Again) collision(w croft.Workspace) (c croft.Collision, collides bool) {
	c = croft.Collision{A: w.Name, AID: w.ID, B: w.Target, IsTarget: true, Paths: append([]string{}, k.Paths...), Reason: k.Reason}
	return c, len(k.Paths) > 0 || k.Reason != ""
}

// mergesAgain finds out what merges of those candidates do of which something has landed, as far as that is not what git's
// merge of the two commits does: work that landed is not merged again, and a merge takes the reverts of its work back, too.
// A candidate of which reverts are taken back stands for the target with its work from then on. Work that git fails to
// merge collides.
func (r *Radar) mergesAgain(ctx context.Context, a *mergetree.Session, g *targetGroup) (map[croft.ID]Again, error) {
	again := map[croft.ID]Again{}
	if r.Reverts == nil || g.tip == "" {
		return again, nil
	}
	for i, c := range g.candidates {
		if c.Workspace.MergeCommit == "" { // nothing of it has landed
			continue
		}
		if c.Draft != nil {
			if err := c.Draft.writeTo(ctx, c.Commit); err != nil {
				return nil, err
			}
		}
		is, err := r.Reverts.MergeAgain(ctx, a, c.Workspace, c.Commit, g.tip)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			is = Again{Does: BringsBack, Reason: croft.Unmergeable}
		}
		if is.Does != MergesCommits {
			again[c.Workspace.ID] = is
		}
		if is.Commit != "" { // the target has the work's own commits, which therefore collide with nobody's
			g.candidates[i].Commit = is.Commit
		}
	}
	return again, nil
}
