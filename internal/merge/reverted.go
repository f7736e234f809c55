package merge

import (
	"context"
	"slices"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/mergetree"
)

// Trial returns a Stacker for what is only looked at: its commits are Croft's own, and not
// to be published.
func Trial(attempts *mergetree.Session, now func() time.Time) *Stacker {
	return &Stacker{MergeTree: attempts, Identity: gitcmd.Identity{Committer: "Croft <croft@localhost>"}, Now: now}
}

// Base returns the commit that an item's work is compared with: the merge base with the
// target or, if the work was reverted and is not back, the merge base without the work. It
// is empty if the two have no common commit.
func (s *Stacker) Base(ctx context.Context, tip string, it Item) (string, error) {
	base, err := s.MergeTree.MergeBase(ctx, tip, it.Head)
	if err != nil || base == "" {
		return "", err
	}
	if isBack, err := s.IsBack(ctx, tip, it); err != nil || isBack {
		return base, err
	}
	for _, taken := range it.Reverts {
		isTaken, err := s.isTakenForMerged(ctx, tip, it, taken)
		if err != nil {
			return "", err
		}
		if !isTaken {
			continue
		}
		without, err := s.without(ctx, base, taken)
		if err != nil {
			return "", err
		}
		if without == "" && taken.Before == "" {
			return base, nil
		}
		if without == "" { // work of others that came later may be among what differs from this
			return s.MergeTree.MergeBase(ctx, taken.Before, it.Head)
		}
		base = without
	}
	return base, nil
}

// without returns a commit with the files of base without the work that a revert took back:
// as the revert did that or, where others had changed the same lines by then, by the opposite
// of the first merge of that work. It is empty if both are in conflict with base.
func (s *Stacker) without(ctx context.Context, base string, taken Revert) (string, error) {
	before, err := s.beforeRevert(ctx, taken)
	if err != nil {
		return "", err
	}
	merged, err := s.MergeTree.MergeOver(ctx, before, base, taken.Commit)
	if err == nil && !merged.IsClean() && taken.Before != "" {
		merged, err = s.MergeTree.MergeOver(ctx, taken.First, base, taken.Before)
	}
	if err != nil || !merged.IsClean() {
		return "", err
	}
	return s.scratchCommit(ctx, merged.Tree, base, "without")
}

// IsBack reports whether a target has the work of an item although reverts of it are in
// force: to merge it would change no file. It is false for work that contains the reverts.
func (s *Stacker) IsBack(ctx context.Context, tip string, it Item) (bool, error) {
	isWithout := true
	for _, taken := range it.Reverts {
		has, err := s.MergeTree.IsAncestor(ctx, taken.Commit, it.Head)
		if err != nil {
			return false, err
		}
		isWithout = isWithout && has
	}
	if isWithout {
		return false, nil
	}
	brings, err := s.Brings(ctx, tip, it)
	return err == nil && !brings, err
}

// Meeting is what a merge of an item would do to its target.
type Meeting struct {
	Paths  []string // in conflict
	Brings bool     // it would change a file of the target, or conflict
	Tree   string   // of the merge
}

// Meets finds out what a merge of an item would do to its target.
func (s *Stacker) Meets(ctx context.Context, tip string, it Item) (Meeting, error) {
	merged, err := s.merge(ctx, tip, it)
	if err != nil {
		return Meeting{}, err
	}
	met := Meeting{Tree: merged.Tree, Brings: true}
	for _, c := range merged.Conflicts {
		if !slices.Contains(met.Paths, c.Path) {
			met.Paths = append(met.Paths, c.Path)
		}
	}
	if !merged.IsClean() {
		return met, nil
	}
	at, err := s.MergeTree.ReadCommit(ctx, tip)
	met.Brings = err == nil && merged.Tree != at.Tree
	return met, err
}

// Result makes a commit of the target as it would be after a merge without conflicts. It is never published.
func (s *Stacker) Result(ctx context.Context, tip string, met Meeting) (string, error) {
	return s.scratchCommit(ctx, met.Tree, tip, "merged")
}

// Brings reports whether to merge an item would change a file of its target, or conflict.
func (s *Stacker) Brings(ctx context.Context, tip string, it Item) (bool, error) {
	met, err := s.Meets(ctx, tip, it)
	return met.Brings, err
}
