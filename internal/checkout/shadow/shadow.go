// Package shadow keeps the checkout contract with checkouts that have a git
// directory of their own: nothing that an agent does there with git reaches the
// project's refs, configuration, hooks or index. Objects are borrowed from the
// project; what the agent commits and stages is harvested from it.
package shadow

import (
	"context"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/git"
)

// Checkouts makes checkouts of one repository, isolated ones as well.
type Checkouts struct {
	*worktree.Checkouts
}

var _ checkout.Checkout = (*Checkouts)(nil)

// New returns the checkouts of a repository.
func New(repo *git.Repository) *Checkouts { return &Checkouts{worktree.New(repo)} }

// Fill writes the files of the base, or copies those of the plain directory that
// the base is a picture of, with everything that git ignores there.
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
		return w.Checkout(ctx, max(s.Workers, 1)) // what changed meanwhile
	})
}
