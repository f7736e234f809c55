package merge

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestBaseWithoutReverted: reverted work is compared with what there would be without it,
// also if the revert was in conflict and resolved, if the work was merged and reverted
// before, and if it has brought the target in.
func TestBaseWithoutReverted(t *testing.T) {
	b := newBench(t, gittest.New(t))
	diff := func(tip string, it Item) string {
		base, err := b.stack.Base(t.Context(), tip, it)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.at.Keep(t.Context(), base); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.Git("diff", "--name-status", base, it.Head)), " ")
	}
	onMain := func(file, text string) string {
		b.Write(file, text)
		return b.Commit("change " + file)
	}
	onMain("f", "one\ntwo\nthree\n")
	before := onMain("g", "1\n")
	head := b.work("w", "main", change{"f", "one\nA\nthree\n", bob, "work"}, change{"new", "new\n", bob, "more"})
	b.Git("merge", "--quiet", "--no-ff", "--no-edit", "w")
	first := b.Git("rev-parse", "HEAD")
	mine := onMain("f", "one\nA and mine\nthree\n")
	b.Git("rm", "--quiet", "new")
	reverted := onMain("f", "one\ntwo and mine\nthree\n")
	taken := Revert{Commit: reverted, Reverted: first, First: first, Before: before}
	// The work and its revert as one commit on what others changed.
	squashed := b.Git("commit-tree", reverted+"^{tree}", "-p", mine, "-m", "revert")
	b.Git("reset", "--quiet", "--hard", squashed)
	taken.Commit = squashed

	it := Item{Kind: croft.KindMerge, Head: head, Reverts: []Revert{taken}}
	if got, want := diff(squashed, it), "M f A new"; got != want {
		t.Errorf("resolved: %q, want %q", got, want)
	}
	if brings, err := b.stack.Brings(t.Context(), squashed, it); err != nil || !brings {
		t.Errorf("to merge it brings nothing: %v", err)
	}
	if is, err := b.stack.IsBack(t.Context(), squashed, it); err != nil || is {
		t.Errorf("it is in the target: %v", err)
	}

	// The target had g changed by others before the work brought it in.
	b.Git("checkout", "--quiet", "w")
	b.Git("reset", "--quiet", "--hard", first)
	b.Write("g", "2\n")
	others := b.Commit("of others")
	b.Git("checkout", "--quiet", "main")
	b.Git("merge", "--quiet", "--no-edit", others)
	it.Head = others
	if got, want := diff(b.Git("rev-parse", "main"), it), "M f A new"; got != want {
		t.Errorf("with the target in it: %q, want %q", got, want)
	}

	// Merged again, and reverted by a commit that collides with what others changed: that is
	// compared with the first merge.
	again := b.Git("commit-tree", mine+"^{tree}", "-p", squashed, "-p", head, "-m", "again")
	undone := b.Git("commit-tree", squashed+"^{tree}", "-p", again, "-m", "revert")
	it.Head, it.Reverts = head, []Revert{{Commit: undone, Reverted: again, First: first, Before: before}}
	if got, want := diff(undone, it), "M f A new"; got != want {
		t.Errorf("merged and reverted again: %q, want %q", got, want)
	}
	// What the target has again is compared like any work that it has.
	if got, want := diff(again, it), ""; got != want {
		t.Errorf("back: %q, want %q", got, want)
	}
}
