package merge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
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
	// Undone is the commit that took this work back earlier, and Reverted the
	// one that it undid. Where git takes the work for merged, because its
	// commits are in the target's history, undoing the undoing is part of the
	// merge.
	Undone, Reverted string
}

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
	Attempts *git.Attempts
	Identity git.Identity
	Now      func() time.Time
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
	at, err := s.Attempts.ReadCommit(ctx, tip)
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
	commit := git.Commit{Tree: merged.Tree, Parents: []string{tip}, Message: it.Message}
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
func (s *Stacker) merge(ctx context.Context, tip string, it Item) (git.Merged, error) {
	switch it.Kind {
	case croft.KindRevert:
		return s.Attempts.MergeOver(ctx, it.Head, tip, it.Base)
	case croft.KindApply:
		return s.Attempts.MergeOver(ctx, it.Base, tip, it.Head)
	}
	on, back, err := s.Again(ctx, tip, it)
	if err != nil || !back.Clean() {
		return back, err
	}
	return s.Attempts.Merge(ctx, on, it.Head)
}

// Again makes a commit on a tip that undoes what took an item's work back. It is
// the tip itself where nothing is to be undone. Files in conflict have markers
// in it.
func (s *Stacker) Again(ctx context.Context, tip string, it Item) (commit string, back git.Merged, err error) {
	back, err = s.bringBack(ctx, tip, it)
	if err != nil || back.Tree == "" {
		return tip, back, err
	}
	commit, err = s.Attempts.Commit(ctx, git.Commit{
		Tree: back.Tree, Parents: []string{tip}, Signature: s.sign(s.Identity.Committer), Message: "again",
	}, git.Identity{})
	return commit, back, err
}

// Base is what an item's work on a target is measured from: where the two
// parted or, of work that was taken back, that without the work. It is empty if
// they have nothing in common.
func (s *Stacker) Base(ctx context.Context, tip string, it Item) (string, error) {
	shared, err := s.Attempts.MergeBase(ctx, tip, it.Head)
	if err != nil || shared == "" {
		return "", err
	}
	if isTaken, err := s.isTakenForMerged(ctx, tip, it); err != nil || !isTaken {
		return shared, err
	}
	undo, err := s.Attempts.ReadCommit(ctx, it.Undone)
	if err != nil || len(undo.Parents) != 1 {
		return shared, err
	}
	without, err := s.Attempts.MergeOver(ctx, undo.Parents[0], shared, it.Undone)
	if err != nil || !without.Clean() {
		return shared, err
	}
	return s.Attempts.Commit(ctx, git.Commit{
		Tree: without.Tree, Parents: []string{shared}, Signature: s.sign(s.Identity.Committer), Message: "without",
	}, git.Identity{})
}

// bringBack undoes on the tip what took an item's work back earlier. It has no
// tree where there is nothing to be undone.
func (s *Stacker) bringBack(ctx context.Context, tip string, it Item) (git.Merged, error) {
	isTaken, err := s.isTakenForMerged(ctx, tip, it)
	if err != nil || !isTaken {
		return git.Merged{}, err
	}
	undo, err := s.Attempts.ReadCommit(ctx, it.Undone)
	if err == nil && len(undo.Parents) != 1 {
		err = fmt.Errorf("%s is no commit that takes something back", it.Undone)
	}
	if err != nil {
		return git.Merged{}, err
	}
	return s.Attempts.MergeOver(ctx, it.Undone, tip, undo.Parents[0])
}

// isTakenForMerged reports whether git would pass over work that was taken
// back, because the target has its commits: they came in by a merge with two
// parents, or the work was brought up to date with the target in between. Of
// work that came in as one commit, or as copies of its commits, or that was
// written anew since, it has none.
func (s *Stacker) isTakenForMerged(ctx context.Context, tip string, it Item) (bool, error) {
	if it.Undone == "" {
		return false, nil
	}
	shared, err := s.Attempts.MergeBase(ctx, tip, it.Head)
	if err != nil || shared == "" {
		return false, err
	}
	if seen, err := s.Attempts.IsAncestor(ctx, it.Undone, shared); err != nil || seen {
		return false, err // the work as it is was made in view of that
	}
	if it.Reverted != "" {
		if had, err := s.Attempts.IsAncestor(ctx, it.Reverted, shared); err != nil || had {
			return had, err
		}
	}
	own, err := s.Attempts.OnMainline(ctx, shared, tip)
	return !own, err
}

// nothingLeft tells work that the target has from work that happens to change
// nothing: a merge commit for the latter says that it was merged.
func (s *Stacker) nothingLeft(ctx context.Context, tip string, it Item) (bool, error) {
	if it.Kind != croft.KindMerge || it.Strategy == croft.StrategySquash {
		return true, nil
	}
	return s.Attempts.IsAncestor(ctx, it.Head, tip)
}

func (s *Stacker) sign(who string) string { return git.At(who, s.Now()) }

func (s *Stacker) commit(ctx context.Context, c git.Commit) (string, error) {
	c.Signature = s.sign(s.Identity.Committer)
	if c.Author == "" {
		c.Author = s.sign(s.Identity.Author)
	}
	return s.Attempts.Commit(ctx, c, s.Identity)
}

// creditAuthors makes the author of the work the author of the one commit that
// it becomes. Where there were several, the last is, and the others are named.
func (s *Stacker) creditAuthors(ctx context.Context, tip string, it Item, c *git.Commit) error {
	before := tip
	if it.Reverted != "" { // the tip may have the commits of what is brought back
		was, err := s.Attempts.ReadCommit(ctx, it.Reverted)
		if err != nil {
			return err
		}
		if len(was.Parents) > 1 {
			before = was.Parents[0]
		}
	}
	work, err := s.Attempts.Between(ctx, before, it.Head, git.LeaveMerges)
	if err != nil || len(work) == 0 {
		return err
	}
	var others []string
	for _, oid := range slices.Backward(work) {
		was, err := s.Attempts.ReadCommit(ctx, oid)
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

func lastParagraph(text string) string {
	text = strings.TrimRight(text, "\n")
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		return text[i:]
	}
	return ""
}
