package merge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/object"
)

// Item is one piece of work.
type Item struct {
	ID       croft.ID
	Kind     croft.MergeKind
	Strategy croft.Strategy
	Message  string // of the commit that is made
	Author   string // of that commit; empty: the identity's

	// Committer is that of the commit, unless it is signed: the key is that of the identity.
	// Empty: the identity's.
	Committer string

	// Head is the commit whose work is merged; of a revert, the commit that is
	// reverted.
	Head string
	// Base is the commit that Head is compared with: of a revert, the commit before the
	// reverted one; of an apply, the base of the review. For a merge it is empty: git
	// finds the merge base.
	Base string
	// Reverts are the earlier reverts of this work, the first first. If git takes the
	// work for merged, because its commits are in the target's history, undoing these
	// reverts is part of the merge.
	Reverts []Revert
}

// Revert is a commit on a target that reverted work. All fields are commits; the last two
// may be unknown.
type Revert struct {
	Commit   string
	Reverted string // what it reverted: a merge, or the revert of a revert
	First    string // the first merge of that work into the target
	Before   string // the target before that
}

// Step is an item stacked on the steps before it.
type Step struct {
	Item
	Parent string // the commit that it was stacked on
	Commit string // the result; Parent if there was nothing to do
	Tree   string

	// Conflicts keep the item out: the steps after it are stacked without it.
	Conflicts []croft.ConflictedPath
}

// IsEmpty reports whether the target had all of the item's work already.
func (s Step) IsEmpty() bool { return len(s.Conflicts) == 0 && s.Commit == s.Parent }

// Stacker stacks items on a target.
type Stacker struct {
	MergeTree *mergetree.Session
	Identity  gitcmd.Identity
	Now       func() time.Time
}

// Stack stacks items on a tip in their order, and returns a step for each. An item that
// conflicts is left out and does not stop the others.
func (s *Stacker) Stack(ctx context.Context, tip string, items []Item) ([]Step, error) {
	steps := make([]Step, 0, len(items))
	for _, it := range items {
		step, err := s.step(ctx, tip, it)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", it.Kind, it.ID, err)
		}
		steps = append(steps, step)
		tip = step.Commit
	}
	return steps, nil
}

func (s *Stacker) step(ctx context.Context, tip string, it Item) (Step, error) {
	step := Step{Item: it, Parent: tip, Commit: tip}
	at, err := s.MergeTree.ReadCommit(ctx, tip)
	if err != nil {
		return step, err
	}
	step.Tree = at.Tree
	merged, err := s.merge(ctx, tip, it)
	if err != nil {
		return step, err
	}
	if !merged.IsClean() {
		step.Conflicts, err = s.describeConflicts(ctx, it, tip, merged)
		return step, err
	}
	commit := object.Commit{Tree: merged.Tree, Parents: []string{tip}, Message: it.Message}
	if it.Kind == croft.KindMerge && it.Strategy != croft.StrategySquash {
		commit.Parents = append(commit.Parents, it.Head)
	}
	if merged.Tree == step.Tree {
		if done, err := s.hasNothingLeft(ctx, tip, it); err != nil || done {
			return step, err
		}
	}
	if it.Kind == croft.KindMerge && it.Strategy == croft.StrategySquash {
		if err := s.creditAuthors(ctx, tip, it, &commit); err != nil {
			return step, err
		}
	}
	step.Tree = merged.Tree
	step.Commit, err = s.commit(ctx, commit, it)
	return step, err
}

// merge computes the tree of an item merged on a tip.
func (s *Stacker) merge(ctx context.Context, tip string, it Item) (mergetree.Merged, error) {
	switch it.Kind {
	case croft.KindRevert:
		return s.MergeTree.MergeOver(ctx, it.Head, tip, it.Base)
	case croft.KindApply:
		return s.MergeTree.MergeOver(ctx, it.Base, tip, it.Head)
	}
	again, err := s.UndoReverts(ctx, tip, it)
	if err != nil || len(again.Conflicts) > 0 {
		return mergetree.Merged{Tree: again.Tree, Conflicts: again.conflicts()}, err
	}
	return s.MergeTree.Merge(ctx, again.Commit, it.Head)
}

// Unreverted is a target on which the reverts of an item's work are undone.
type Unreverted struct {
	Commit string // the tip itself if no revert was undone
	Tree   string
	// Conflicts have markers in Tree.
	Conflicts []UnrevertConflict
}

// UnrevertConflict is a file that changed after the revert that is undone in it.
type UnrevertConflict struct {
	mergetree.MergeConflict
	Revert Revert
}

func (a Unreverted) conflicts() []mergetree.MergeConflict {
	var all []mergetree.MergeConflict
	for _, c := range a.Conflicts {
		all = append(all, c.MergeConflict)
	}
	return all
}

// UndoReverts undoes, on top of tip, the reverts of an item's work, the last one first.
func (s *Stacker) UndoReverts(ctx context.Context, tip string, it Item) (Unreverted, error) {
	again := Unreverted{Commit: tip}
	for _, taken := range slices.Backward(it.Reverts) {
		isTaken, err := s.isTakenForMerged(ctx, tip, it, taken)
		if err != nil {
			return again, err
		}
		if !isTaken {
			continue
		}
		before, err := s.beforeRevert(ctx, taken)
		if err != nil {
			return again, err
		}
		back, err := s.MergeTree.MergeOver(ctx, taken.Commit, again.Commit, before)
		if err != nil {
			return again, err
		}
		for _, c := range back.Conflicts {
			again.Conflicts = append(again.Conflicts, UnrevertConflict{c, taken})
		}
		again.Tree = back.Tree
		if again.Commit, err = s.scratchCommit(ctx, back.Tree, again.Commit, "again"); err != nil {
			return again, err
		}
	}
	return again, nil
}

// scratchCommit makes a commit to merge with. It is never published.
func (s *Stacker) scratchCommit(ctx context.Context, tree, parent, message string) (string, error) {
	return s.MergeTree.Commit(ctx, object.Commit{
		Tree: tree, Parents: []string{parent}, Signature: s.sign(s.Identity.Committer), Message: message,
	}, gitcmd.Identity{})
}

// beforeRevert returns the target before a revert, which is a merge if its conflicts were resolved in a workspace.
func (s *Stacker) beforeRevert(ctx context.Context, taken Revert) (string, error) {
	c, err := s.MergeTree.ReadCommit(ctx, taken.Commit)
	if err != nil {
		return "", err
	}
	if len(c.Parents) == 0 {
		return "", fmt.Errorf("%s is no commit that takes something back", taken.Commit)
	}
	return c.Parents[0], nil
}

// isTakenForMerged reports whether git would skip reverted work because the target has
// its commits: they came in by a merge with two parents, or the target was merged into
// the work in between. If the work came in as one commit, or as copies of its commits,
// or was rewritten since, the target has none of them.
func (s *Stacker) isTakenForMerged(ctx context.Context, tip string, it Item, taken Revert) (bool, error) {
	shared, err := s.MergeTree.MergeBase(ctx, tip, it.Head)
	if err != nil || shared == "" {
		return false, err
	}
	if seen, err := s.MergeTree.IsAncestor(ctx, taken.Commit, shared); err != nil || seen {
		return false, err // the work contains the revert
	}
	if taken.Reverted != "" {
		if had, err := s.MergeTree.IsAncestor(ctx, taken.Reverted, shared); err != nil || had {
			return had, err
		}
	}
	own, err := s.MergeTree.IsOnMainline(ctx, shared, tip)
	return !own, err
}

// hasNothingLeft reports whether an item that changes no file needs no commit. It is
// false for a merge whose head the target does not have: a merge commit records that
// the work was merged.
func (s *Stacker) hasNothingLeft(ctx context.Context, tip string, it Item) (bool, error) {
	if it.Kind != croft.KindMerge || it.Strategy == croft.StrategySquash {
		return true, nil
	}
	return s.MergeTree.IsAncestor(ctx, it.Head, tip)
}

func (s *Stacker) sign(who string) string { return object.Signature(who, s.Now()) }

func (s *Stacker) commit(ctx context.Context, c object.Commit, it Item) (string, error) {
	committer := s.Identity.Committer
	if it.Committer != "" && !s.Identity.Signs {
		committer = it.Committer
	}
	c.Signature = s.sign(committer)
	if c.Author == "" {
		c.Author = s.sign(cmp.Or(it.Author, s.Identity.Author))
	}
	return s.MergeTree.Commit(ctx, c, s.Identity)
}

// creditAuthors makes the last author of the work the author of the squash commit, and
// names the others as co-authors.
func (s *Stacker) creditAuthors(ctx context.Context, tip string, it Item, c *object.Commit) error {
	before, err := s.beforeWork(ctx, tip, it)
	if err != nil {
		return err
	}
	work, err := s.MergeTree.CommitsBetween(ctx, before, it.Head, mergetree.LeaveMerges)
	if err != nil || len(work) == 0 {
		return err
	}
	var others []string
	for _, oid := range slices.Backward(work) {
		was, err := s.MergeTree.ReadCommit(ctx, oid)
		if err != nil {
			return err
		}
		who, _, _ := strings.Cut(was.Author, "> ")
		who += ">"
		if c.Author == "" {
			c.Author = was.Author
		} else if !strings.HasPrefix(c.Author, who) && !slices.Contains(others, who) {
			others = append(others, who)
		}
	}
	if len(others) > 0 {
		c.Message = strings.TrimRight(c.Message, "\n") + "\n"
		if !strings.Contains(lastParagraph(c.Message), ": ") {
			c.Message += "\n"
		}
		for _, who := range others {
			c.Message += "Co-authored-by: " + who + "\n"
		}
	}
	return nil
}

// beforeWork returns a commit of the target that has none of an item's commits. The tip
// has them if the work was merged and reverted before.
func (s *Stacker) beforeWork(ctx context.Context, tip string, it Item) (string, error) {
	before := tip
	for _, taken := range it.Reverts {
		was, err := s.MergeTree.ReadCommit(ctx, taken.Reverted)
		if err != nil {
			return "", err
		}
		if len(was.Parents) < 2 {
			continue
		}
		if isEarlier, err := s.MergeTree.IsAncestor(ctx, was.Parents[0], before); err != nil {
			return "", err
		} else if isEarlier {
			before = was.Parents[0]
		}
	}
	return before, nil
}

func lastParagraph(text string) string {
	text = strings.TrimRight(text, "\n")
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		return text[i:]
	}
	return ""
}
