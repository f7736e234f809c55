// Package worktree keeps the checkout contract with git worktrees: a directory
// and a branch of its own, objects and refs shared with the repository. Package
// shadow builds on it for checkouts that git does not list.
package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// AdminPrefix begins the name of the admin directory of every worktree that
// Croft made.
const AdminPrefix = "croft-"

// BirthLock is the reason of the lock that a worktree has while it is made.
const BirthLock = "croft: being made"

// RemovalLock is the reason of the lock that a worktree has while it is
// removed.
const RemovalLock = "croft: being removed"

// Checkouts makes the checkouts of one repository. The spec says whether one is a
// worktree or has a git directory of its own.
type Checkouts struct{ repo *git.Repository }

var _ checkout.Checkout = (*Checkouts)(nil)

// New returns the checkouts of a repository.
func New(repo *git.Repository) *Checkouts { return &Checkouts{repo} }

// Admin returns the name of a workspace's admin directory, which no other workspace
// has.
func Admin(id string) string { return AdminPrefix + id }

// adminOf returns the name of a checkout's admin directory. That of a worktree which somebody
// else made is not by its ID.
func adminOf(s checkout.Spec) string { return cmp.Or(s.Admin, Admin(s.ID)) }

// At returns the git worktree of a checkout.
func (c *Checkouts) At(s checkout.Spec) *git.Worktree {
	w := c.repo.Linked(adminOf(s), s.Path)
	if s.Kind == checkout.Isolated {
		w = c.repo.Isolated(adminOf(s), s.Path)
	}
	w.Inherit, w.Identity, w.TrashedIn = s.Inherit, s.Identity, s.TrashedIn
	return w
}

// Prepare registers the worktree and locks it.
func (c *Checkouts) Prepare(ctx context.Context, s checkout.Spec) error {
	add := worktree.AddSpec{
		Admin: adminOf(s), Path: s.Path, Branch: s.Branch, Head: s.Base, Lock: BirthLock, Kind: git.KindLinked, Branches: s.Branches, Sparse: s.Sparse,
	}
	if s.Kind == checkout.Isolated {
		add.Kind = git.KindIsolated
	}
	if s.Ready != nil {
		add.Ready = &worktree.Ready{Path: s.Ready.Path, Identity: s.Ready.Identity, Index: s.Ready.Index}
	}
	_, err := c.repo.Add(ctx, add)
	if errors.Is(err, worktree.ErrNotReady) {
		return fmt.Errorf("%w: %w", checkout.ErrNotReady, err)
	}
	if errors.Is(err, worktree.ErrExists) {
		return fmt.Errorf("%w: %s", checkout.ErrExists, s.Path)
	}
	return err
}

// Fill checks out the files of the base.
func (c *Checkouts) Fill(ctx context.Context, s checkout.Spec) error {
	return c.At(s).Checkout(ctx, max(s.Workers, 1))
}

// Verify compares the files with their contents in this process, or asks git for the differences. The index is written
// back, so that the agent's first status does not have to read every file again.
func (c *Checkouts) Verify(ctx context.Context, s checkout.Spec) (notes []string, err error) {
	refresh := git.RefreshIndex
	if s.Kind != checkout.Isolated {
		switch err := c.At(s).Settle(ctx); {
		case err == nil:
			refresh = git.RefreshNothing
		case !errors.Is(err, git.ErrUnsettled):
			return nil, err
		}
	}
	err = c.At(s).Change(ctx, func(w *git.Worktree) error {
		notes, err = verifyCheckout(ctx, w, refresh, s.Source)
		return err
	})
	return notes, err
}

// verifyCheckout is Verify of a checkout, which is a copy of the plain directory source, if that is not empty.
func verifyCheckout(ctx context.Context, w *git.Worktree, refresh git.Refresh, source string) ([]string, error) {
	converted := 0
	for e, err := range w.Status(ctx, git.UntrackedNormal, refresh) {
		switch {
		case err != nil:
			return nil, err
		case e.Index == '.' && e.Work == 'M' && isFile(filepath.Join(w.Path, e.Path)):
			converted++
		case source != "" && e.IsUntracked() && isNested(w.Path, e.Path) && isNested(source, e.Path):
			// It was copied, and no baseline has it.
		default:
			return nil, fmt.Errorf("%w: %q (%c%c)", checkout.ErrDiffers, e.Path, e.Index, e.Work)
		}
	}
	if converted == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf(
		"git shows %d files as modified in any fresh checkout of this commit, because of line endings or filters", converted)}, nil
}

// isNested reports whether a path below a directory is a repository of its own.
func isNested(top, name string) bool {
	_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(name), ".git"))
	return err == nil
}

func isGone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist)
}

func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// Release unlocks the worktree, unless it has another lock than that of its birth.
func (c *Checkouts) Release(s checkout.Spec) error {
	w := c.At(s)
	reason, locked, err := w.LockReason()
	if err != nil || !locked || reason != BirthLock {
		return err
	}
	return w.ClearLock()
}

// Changes lists the uncommitted work.
func (c *Checkouts) Changes(ctx context.Context, s checkout.Spec) ([]checkout.Change, error) {
	statuses := c.repo.Statuses(ctx)
	defer statuses.Close()
	return c.ChangesBy(ctx, statuses, s)
}

// ChangesBy is Changes, as statuses of many checkouts know it.
func (c *Checkouts) ChangesBy(ctx context.Context, statuses *git.Statuses, s checkout.Spec) ([]checkout.Change, error) {
	entries, err := statuses.Of(ctx, c.At(s), git.UntrackedAll)
	if err != nil {
		return nil, err
	}
	var list []checkout.Change
	for _, e := range entries {
		kind := checkout.Modified
		switch {
		case e.Conflicted:
			kind = checkout.Conflicted
		case e.IsUntracked():
			kind = checkout.Untracked
		case e.Hidden:
			kind = checkout.Hidden
		case e.Index != '.' && e.Work == '.':
			kind = checkout.Staged
		}
		list = append(list, checkout.Change{Path: e.Path, Kind: kind})
	}
	return list, nil
}

// Health compares the directory's .git file and the admin directory.
func (c *Checkouts) Health(s checkout.Spec) checkout.Health {
	switch half := c.At(s).Halves(); {
	case half.Admin:
		return checkout.Intact
	case half.Checkout:
		return checkout.Unregistered
	case half.Path:
		return checkout.Foreign
	default:
		return checkout.Missing
	}
}
