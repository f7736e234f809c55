package project

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/shadow"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/isolated"
)

// trees are the checkouts of one repository, linked and isolated.
type trees struct{ *shadow.Checkouts }

var _ checkout.Checkout = trees{}

// TreesOf are the checkouts of a repository.
func TreesOf(repo *git.Repository) trees { return trees{shadow.New(repo)} }

// kindOf is the kind of checkout that a workspace of a mode has.
func kindOf(mode croft.Mode) checkout.Kind {
	if mode == croft.ModeIsolated {
		return checkout.Isolated
	}
	return checkout.Linked
}

// PullAgain pulls what an isolated workspace holds into the repository. It is no error if
// the workspace's git directory is not as Croft made it: then its content stays there.
func (r *Project) PullAgain(ctx context.Context, s checkout.Spec) error {
	err := r.Trees.At(s).Pull(ctx)
	if _, own := errors.AsType[*isolated.PrivateError](err); own {
		return nil
	}
	return err
}

// Health looks whether the checkout is intact.
func (t trees) Health(s checkout.Spec) checkout.Health {
	if t.Checkouts == nil { // the repository itself is gone
		return checkout.Missing
	}
	h := t.Checkouts.Health(s)
	if (h == checkout.Intact || h == checkout.Unregistered) && t.isAnother(s) {
		return checkout.Replaced
	}
	return h
}

// isAnother reports whether what lies at a checkout's path is not the directory
// that was made there: a copy has all that git goes by.
func (t trees) isAnother(s checkout.Spec) bool {
	now, err := fsx.IdentityOf(s.Path)
	return err == nil && s.Identity != "" && now != s.Identity && now != t.At(s).Made()
}
