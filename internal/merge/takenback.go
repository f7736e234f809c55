package merge

import (
	"context"
	"slices"

	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/odb"
)

// TakenBack is a merge, and a published commit that should take it back. All fields are commits, and required.
type TakenBack struct {
	Commit, Before string // of the merge, and the target's before it
	Now, NowBefore string // what was published, and the target's before it
	Head           string // the work that was published
	Revert         string // takes the merge back, right after it: the first commit of who resolved its conflicts
}

// IsTakenBack reports whether a published commit has nothing of a merge any more: to take it back once more would change
// no file. Paths that this has in conflict were decided by who resolved them, which needs two things: the revert
// is in the history of the work, and its publication changed a path that the merge had changed.
func IsTakenBack(ctx context.Context, attempts *mergetree.Session, t TakenBack) (bool, error) {
	again, err := attempts.MergeOver(ctx, t.Commit, t.Now, t.Before)
	if err != nil {
		return false, err
	}
	now, err := attempts.ReadCommit(ctx, t.Now)
	if err != nil || again.IsClean() {
		return err == nil && again.Tree == now.Tree, err
	}
	left, err := attempts.Diff(ctx, now.Tree, again.Tree)
	if err != nil {
		return false, err
	}
	for _, c := range left {
		if !slices.ContainsFunc(again.Conflicts, func(o mergetree.MergeConflict) bool { return o.Path == c.Path }) {
			return false, nil
		}
	}
	if in, err := attempts.IsAncestor(ctx, t.Revert, t.Head); err != nil || !in {
		return false, err
	}
	brought, err := attempts.Diff(ctx, t.Before, t.Commit)
	if err != nil {
		return false, err
	}
	changed, err := attempts.Diff(ctx, t.NowBefore, t.Now)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(changed, func(c odb.Change) bool {
		return slices.ContainsFunc(brought, func(o odb.Change) bool { return o.Path == c.Path })
	}), nil
}
