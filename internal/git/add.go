package git

import (
	"context"
	"fmt"
	"os"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// The kinds of checkouts.
const (
	KindLinked   worktree.CheckoutKind = ""         // a worktree as git makes it, which shares all but HEAD, index and files
	KindIsolated worktree.CheckoutKind = "isolated" // has a git directory of its own, and can only read the repository's objects
)

// Add registers a linked worktree without any files. Both halves, the admin directory and
// the checkout's directory, are written completely under other names and renamed into
// place, so git never sees an incomplete one, and a crash leaves at most one half, which
// [Worktree.Discard] removes.
func (r *Repository) Add(ctx context.Context, s worktree.AddSpec) (*Worktree, error) {
	if s.Kind == KindIsolated {
		w, err := r.AddIsolated(ctx, s)
		if err != nil {
			return nil, err
		}
		return r.with(w), nil
	}
	if err := r.prepareSparse(s); err != nil {
		return nil, err
	}
	w := r.Linked(s.Admin, s.Path)
	if _, err := os.Lstat(s.Path); err == nil {
		return nil, fmt.Errorf("%s: %w", s.Path, worktree.ErrExists)
	}
	if err := r.AddAdmin(&w.Worktree.Worktree, s); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("git.add.admin"); err != nil {
		return nil, err
	}
	if !r.HasNativeRefs() {
		if err := w.setHead(ctx, s); err != nil {
			return nil, err
		}
	}
	return w, w.AddTree(s, func(tree *fsx.Dir) error { return tree.WriteFile(".git", []byte(w.PointerText()), 0o666) })
}

// setHead checks out a branch or a commit in a ref storage where HEAD is not a file.
func (w *Worktree) setHead(ctx context.Context, s worktree.AddSpec) error {
	args := []string{"update-ref", "--no-deref", "HEAD", s.Head}
	if s.Branch != "" {
		args = []string{"symbolic-ref", "HEAD", "refs/heads/" + s.Branch}
	}
	_, err := w.Repo.Git.Run(ctx, gitcmd.Target{Repo: w.Repo.Core(), GitDir: w.Admin}, gitcmd.Call{Args: args, Locks: true})
	return err
}

// Register registers a checkout again whose admin directory was pruned. The files stay as
// they are. The index is made anew from HEAD, except in an isolated checkout, whose own git
// directory still has it. If the branch does not exist any more, HEAD is detached at s.Head.
func (w *Worktree) Register(ctx context.Context, s worktree.AddSpec) error {
	if !w.Owns(s.Path) {
		return fmt.Errorf("%s is not a checkout of this worktree", s.Path)
	}
	if s.Branch != "" {
		if _, err := w.Repo.ReadRef(ctx, "refs/heads/"+s.Branch); err != nil {
			s.Branch = ""
		}
	}
	if err := w.Repo.AddAdmin(&w.Worktree.Worktree, s); err != nil {
		return err
	}
	if err := w.ClearLock(); err != nil {
		return err
	}
	if !w.Repo.HasNativeRefs() {
		if err := w.setHead(ctx, s); err != nil {
			return err
		}
	}
	if _, err := w.RunGit(ctx, gitcmd.Call{Args: []string{"reset", "--quiet"}, Locks: true}); err != nil || !w.IsIsolated() {
		return err
	}
	// The agent's git directory still has the index.
	if err := w.WriteAlternates(); err != nil {
		return err
	}
	if err := w.ResetSync(); err != nil {
		return err
	}
	return w.Pull(ctx)
}
