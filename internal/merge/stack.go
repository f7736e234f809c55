package merge

import (
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

	// Head is the commit whose work is brought in; of a revert, the commit to
	// be undone.
	Head string
	// Base is what Head's work is measured from: of a revert, the commit before
	// the one to be undone; of an apply, the base of the review. A merge finds
	// its own.
	Base string
	// TakenBack are the reverts that took this work back earlier, the first first.
	// Where git takes the work for merged, because its commits are in the target's
	// history, undoing them is part of the merge.
	TakenBack []Revert
}

// Revert is a commit on a target that took work back, and the one that it undid.
type Revert struct{ Commit, Reverted string }

// Step is an item on top of what comes before it.
type Step struct {
	Item
	Parent string // what it was put on
	Commit string // what came of it; Parent where there was nothing to do
	Tree   string

	// Conflicts keep the item out: the steps after it do without it.
	Conflicts []croft.ConflictedPath
}

// Nothing reports whether the target had all of it already.
func (s Step) Nothing() bool { return len(s.Conflicts) == 0 && s.Commit == s.Parent }

// Stacker puts items on a target.
type Stacker struct {
	MergeTree *mergetree.Session
	Identity  gitcmd.Identity
	Now       func() time.Time
}

// Stack puts items on a tip in their order, and says for each what came of it.
// A conflict keeps an item out and does not stop the others.
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
	if !merged.Clean() {
		step.Conflicts, err = s.explain(ctx, it, tip, merged)
		return step, err
	}
	commit := object.Commit{Tree: merged.Tree, Parents: []string{tip}, Message: it.Message}
	if it.Kind == croft.KindMerge && it.Strategy != croft.StrategySquash {
		commit.Parents = append(commit.Parents, it.Head)
	}
	if merged.Tree == step.Tree {
		if done, err := s.nothingLeft(ctx, tip, it); err != nil || done {
			return step, err
		}
	}
	if it.Kind == croft.KindMerge && it.Strategy == croft.StrategySquash {
		if err := s.creditAuthors(ctx, tip, it, &commit); err != nil {
			return step, err
		}
	}
	step.Tree = merged.Tree
	step.Commit, err = s.commit(ctx, commit)
	return step, err
}

// merge computes the tree of an item on a tip.
func (s *Stacker) merge(ctx context.Context, tip string, it Item) (mergetree.Merged, error) {
	switch it.Kind {
	case croft.KindRevert:
		return s.MergeTree.MergeOver(ctx, it.Head, tip, it.Base)
	case croft.KindApply:
		return s.MergeTree.MergeOver(ctx, it.Base, tip, it.Head)
	}
	again, err := s.Again(ctx, tip, it)
	if err != nil || len(again.Conflicts) > 0 {
		return mergetree.Merged{Tree: again.Tree, Conflicts: again.conflicts()}, err
	}
	return s.MergeTree.Merge(ctx, again.Commit, it.Head)
}

// Again is a target on which the reverts of an item's work are undone.
type Again struct {
	Commit string // the tip itself where nothing was to be undone
	Tree   string
	// Conflicts have markers in the tree.
	Conflicts []AgainConflict
}

// AgainConflict is a file that changed since the revert that is undone in it.
type AgainConflict struct {
	mergetree.MergeConflict
	Revert Revert
}

func (a Again) conflicts() []mergetree.MergeConflict {
	var all []mergetree.MergeConflict
	for _, c := range a.Conflicts {
		all = append(all, c.MergeConflict)
	}
	return all
}

// Again undoes on a tip what took an item's work back, the last revert first.
func (s *Stacker) Again(ctx context.Context, tip string, it Item) (Again, error) {
	again := Again{Commit: tip}
	for _, taken := range slices.Backward(it.TakenBack) {
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
			again.Conflicts = append(again.Conflicts, AgainConflict{c, taken})
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

// beforeRevert is what a revert was put on.
func (s *Stacker) beforeRevert(ctx context.Context, taken Revert) (string, error) {
	c, err := s.MergeTree.ReadCommit(ctx, taken.Commit)
	if err != nil {
		return "", err
	}
	if len(c.Parents) != 1 {
		return "", fmt.Errorf("%s is no commit that takes something back", taken.Commit)
	}
	return c.Parents[0], nil
}

// Base is what an item's work on a target is measured from: where the two
// parted or, of work that was taken back, that without the work. It is empty if
// they have nothing in common.
func (s *Stacker) Base(ctx context.Context, tip string, it Item) (string, error) {
	shared, err := s.MergeTree.MergeBase(ctx, tip, it.Head)
	if err != nil || shared == "" {
		return "", err
	}
	base := shared
	for _, taken := range it.TakenBack {
		isTaken, err := s.isTakenForMerged(ctx, tip, it, taken)
		if err != nil {
			return "", err
		}
		if !isTaken {
			continue
		}
		before, err := s.beforeRevert(ctx, taken)
		if err != nil {
			return shared, err
		}
		without, err := s.MergeTree.MergeOver(ctx, before, base, taken.Commit)
		if err != nil || !without.Clean() {
			return shared, err
		}
		if base, err = s.scratchCommit(ctx, without.Tree, base, "without"); err != nil {
			return "", err
		}
	}
	return base, nil
}

// isTakenForMerged reports whether git would pass over work that was taken
// back, because the target has its commits: they came in by a merge with two
// parents, or the work was brought up to date with the target in between. Of
// work that came in as one commit, or as copies of its commits, or that was
// written anew since, it has none.
func (s *Stacker) isTakenForMerged(ctx context.Context, tip string, it Item, taken Revert) (bool, error) {
	shared, err := s.MergeTree.MergeBase(ctx, tip, it.Head)
	if err != nil || shared == "" {
		return false, err
	}
	if seen, err := s.MergeTree.IsAncestor(ctx, taken.Commit, shared); err != nil || seen {
		return false, err // the work as it is was made in view of that
	}
	if taken.Reverted != "" {
		if had, err := s.MergeTree.IsAncestor(ctx, taken.Reverted, shared); err != nil || had {
			return had, err
		}
	}
	own, err := s.MergeTree.OnMainline(ctx, shared, tip)
	return !own, err
}

// nothingLeft tells work that the target has from work that happens to change
// nothing: a merge commit for the latter says that it was merged.
func (s *Stacker) nothingLeft(ctx context.Context, tip string, it Item) (bool, error) {
	if it.Kind != croft.KindMerge || it.Strategy == croft.StrategySquash {
		return true, nil
	}
	return s.MergeTree.IsAncestor(ctx, it.Head, tip)
}

func (s *Stacker) sign(who string) string { return object.Signature(who, s.Now()) }

func (s *Stacker) commit(ctx context.Context, c object.Commit) (string, error) {
	c.Signature = s.sign(s.Identity.Committer)
	if c.Author == "" {
		c.Author = s.sign(s.Identity.Author)
	}
	return s.MergeTree.Commit(ctx, c, s.Identity)
}

// creditAuthors makes the author of the work the author of the one commit that
// it becomes. Where there were several, the last is, and the others are named.
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

// beforeWork is a commit of the target that has none of an item's commits: the tip
// has those of what is brought back.
func (s *Stacker) beforeWork(ctx context.Context, tip string, it Item) (string, error) {
	before := tip
	for _, taken := range it.TakenBack {
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
