// Package shadow keeps the checkout contract with checkouts that have a git directory
// of their own: nothing that an agent does there with git changes the project's refs,
// configuration, hooks or index. The checkouts borrow objects from the project; the
// project pulls what the agent commits and stages.
package shadow

import (
	"context"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/git"
)

// Checkouts makes the checkouts of one repository, isolated ones included.
type Checkouts struct {
	*worktree.Checkouts
}

var _ checkout.Checkout = (*Checkouts)(nil)

// New returns the checkouts of a repository.
func New(repo *git.Repository) *Checkouts { return &Checkouts{worktree.New(repo)} }

// Fill writes the files of the base, or copies the files of the plain directory that
// the base was made from, ignored ones included.
func (c *Checkouts) Fill(ctx context.Context, s checkout.Spec) error {
	if s.Source == "" {
		return c.Checkouts.Fill(ctx, s)
	}
	return c.At(s).Change(ctx, func(w *git.Worktree) error {
		if err := copyTree(ctx, s.Source, s.Path, s.Workers, s.Skip); err != nil {
			return err
		}
		if err := w.AdoptFiles(); err != nil {
			return err
		}
		return w.Checkout(ctx, max(s.Workers, 1)) // writes the files that changed since the base was made
	})
}
