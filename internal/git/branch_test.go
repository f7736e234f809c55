package git

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// TestMoveHeadNamesTheBranch: HEAD may be pointed at another branch after Croft has read
// it. Only the branch that the caller named moves.
func TestMoveHeadNamesTheBranch(t *testing.T) {
	r := gittest.New(t)
	tip := r.Git("rev-parse", "main")
	r.Git("branch", "--quiet", "work")
	next := r.Git("commit-tree", "-p", "main", "-m", "next", "main^{tree}")
	w := open(t, r).Main()
	c, err := w.Repo.copyIndex(w.location())
	if err != nil {
		t.Fatal(err)
	}
	defer c.discard()
	if err := c.copyIndex(); err != nil {
		t.Fatal(err)
	}
	if err := w.moveHead(t.Context(), move{"work", tip, next}, c); err != nil {
		t.Fatal(err)
	}
	if main, work := r.Git("rev-parse", "main"), r.Git("rev-parse", "work"); main != tip || work != next {
		t.Errorf("main is at %s, work at %s", main, work)
	}
	if err := w.moveHead(t.Context(), move{"", tip, next}, c); err != nil {
		t.Fatal(err)
	}
	if got := r.Git("rev-parse", "main"); got != tip {
		t.Errorf("with no branch named, main was moved to %s", got)
	}
}

// TestNothingIsWrittenOnAnotherBranch: every call that changes a checkout checks HEAD
// itself, and a commit checks it again once the index is locked.
func TestNothingIsWrittenOnAnotherBranch(t *testing.T) {
	t.Parallel()
	who := gitcmd.Identity{Author: "a <a@b>", Committer: "a <a@b>"}
	for name, act := range map[string]func(context.Context, *Worktree) error{
		"CommitWork": func(ctx context.Context, w *Worktree) error {
			_, err := w.CommitWork(ctx, Work{Branch: "work", Paths: []string{"new"}, Commit: object.Commit{Message: "m"}, Identity: who})
			return err
		},
		"CommitWorkOnceLocked": func(ctx context.Context, w *Worktree) error {
			return w.ChangeHeld(ctx, func(w *Worktree) error {
				_, err := w.commitWork(ctx, Work{Branch: "work", Paths: []string{"new"}, Commit: object.Commit{Message: "m"}, Identity: who})
				return err
			})
		},
		"BringIn": func(ctx context.Context, w *Worktree) error {
			_, err := w.MergeIn(ctx, MergeSpec{Branch: "work", Commit: "other", Name: "other", Identity: who})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Git("branch", "--quiet", "work")
			r.Git("update-ref", "refs/heads/other", r.Git("commit-tree", "-p", "main", "-m", "other", "main^{tree}"))
			gittest.WriteFile(t, filepath.Join(r.Dir, "new"), "new\n")
			before := r.Git("for-each-ref") + r.Git("status", "--porcelain", "--branch")
			err := act(t.Context(), open(t, r).Main())
			if wrong, ok := errors.AsType[*BranchError](err); !ok || wrong.On != "main" || wrong.Branch != "work" {
				t.Errorf("%v, want that HEAD is on main", err)
			}
			if after := r.Git("for-each-ref") + r.Git("status", "--porcelain", "--branch"); after != before {
				t.Errorf("before\n%s\nafter\n%s", before, after)
			}
			if fsx.IsThere(filepath.Join(r.Dir, ".git", "MERGE_HEAD")) {
				t.Error("a merge was begun")
			}
		})
	}
}
