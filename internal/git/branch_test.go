package git

import (
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestMoveHeadNamesTheBranch: HEAD may be pointed elsewhere after it was looked
// at; the branch that was meant moves, and no other.
func TestMoveHeadNamesTheBranch(t *testing.T) {
	r := gittest.New(t)
	tip := r.Git("rev-parse", "main")
	r.Git("branch", "--quiet", "work")
	next := r.Git("commit-tree", "-p", "main", "-m", "next", "main^{tree}")
	w := open(t, r).Main()
	if err := w.moveHead(t.Context(), "work", next, tip); err != nil {
		t.Fatal(err)
	}
	if main, work := r.Git("rev-parse", "main"), r.Git("rev-parse", "work"); main != tip || work != next {
		t.Errorf("main is at %s, work at %s", main, work)
	}
	if err := w.moveHead(t.Context(), "", next, tip); err != nil {
		t.Fatal(err)
	}
	if got := r.Git("rev-parse", "main"); got != tip {
		t.Errorf("with no branch named, main was moved to %s", got)
	}
}
