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

// TreesOf returns the checkouts of a repository.
func TreesOf(repo *git.Repository) trees { return trees{shadow.New(repo)} }

// kindOf returns the kind of checkout that a workspace of a mode has.
func kindOf(mode croft.Mode) checkout.Kind {
	if mode == croft.ModeIsolated {
		return checkout.Isolated
	}
	return checkout.Linked
}

// PullIsolated pulls the commits of an isolated workspace into the repository. It is no
// error if the workspace's git directory is not as Croft made it: then the commits stay
// there.
func (r *Project) PullIsolated(ctx context.Context, s checkout.Spec) error {
	err := r.Trees.At(s).Pull(ctx)
	if _, own := errors.AsType[*isolated.PrivateError](err); own {
		return nil
	}
	return err
}

// Health reports whether a checkout is intact, or what is wrong with it.
func (t trees) Health(s checkout.Spec) checkout.Health {
	if t.Checkouts == nil { // the repository itself is gone
		return checkout.Missing
	}
	h := t.Checkouts.Health(s)
	if (h == checkout.Intact || h == checkout.Unregistered) && t.isReplaced(s) {
		return checkout.Replaced
	}
	return h
}

// isReplaced reports whether the directory at a checkout's path is another than the one
// that Croft made there, such as a copy. Git does not notice a copy.
func (t trees) isReplaced(s checkout.Spec) bool {
	now, err := fsx.IdentityOf(s.Path)
	return err == nil && s.Identity != "" && now != s.Identity && now != t.At(s).Made()
}
