package project

import (
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/shadow"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
)

// trees are the checkouts of one repository, of either kind. Which one a
// checkout is its spec says.
type trees struct {
	linked   *worktree.Checkouts
	isolated *shadow.Checkouts
}

var _ checkout.Checkout = trees{}

// TreesOf are the checkouts of a repository, of both kinds.
func TreesOf(repo *git.Repository) trees { return trees{worktree.New(repo), shadow.New(repo)} }

func (t trees) Of(s checkout.Spec) *worktree.Checkouts {
	if s.Kind == checkout.Isolated {
		return t.isolated.Checkouts
	}
	return t.linked
}

// kindOf is the kind of checkout that a workspace of a mode has.
func kindOf(mode croft.Mode) checkout.Kind {
	if mode == croft.ModeIsolated {
		return checkout.Isolated
	}
	return checkout.Linked
}

// PullAgain brings what an isolated workspace holds to the repository, if it
// can be. What cannot stays where it is.
func (r *Project) PullAgain(ctx context.Context, s checkout.Spec) error {
	err := r.Trees.At(s).Pull(ctx)
	if _, own := errors.AsType[*git.PrivateError](err); own {
		return nil
	}
	return err
}

// At returns the git worktree of a checkout.
func (t trees) At(s checkout.Spec) *git.Worktree { return t.Of(s).At(s) }

// Prepare makes the place.
func (t trees) Prepare(ctx context.Context, s checkout.Spec) error { return t.Of(s).Prepare(ctx, s) }

// Fill writes the files.
func (t trees) Fill(ctx context.Context, s checkout.Spec) error {
	if s.Kind == checkout.Isolated {
		return t.isolated.Fill(ctx, s)
	}
	return t.linked.Fill(ctx, s)
}

// Verify compares the files with the base.
func (t trees) Verify(ctx context.Context, s checkout.Spec) ([]string, error) {
	return t.Of(s).Verify(ctx, s)
}

// Release ends the protection of the checkout's birth.
func (t trees) Release(s checkout.Spec) error { return t.Of(s).Release(s) }

// Changes lists the uncommitted work.
func (t trees) Changes(ctx context.Context, s checkout.Spec) ([]checkout.Change, error) {
	return t.Of(s).Changes(ctx, s)
}

// Health looks whether the checkout is intact.
func (t trees) Health(s checkout.Spec) checkout.Health {
	if t.linked == nil { // the repository itself is gone
		return checkout.Missing
	}
	h := t.Of(s).Health(s)
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

// MoveToTrash moves the checkout away.
func (t trees) MoveToTrash(s checkout.Spec, dir string) error { return t.Of(s).MoveToTrash(s, dir) }

// MoveToTrashWhile is MoveToTrash with something to do meanwhile.
func (t trees) MoveToTrashWhile(s checkout.Spec, dir string, meanwhile func() error) error {
	return t.Of(s).MoveToTrashWhile(s, dir, meanwhile)
}

// MoveBack brings a checkout back.
func (t trees) MoveBack(s checkout.Spec, dir string) error { return t.Of(s).MoveBack(s, dir) }

// Discard removes what was made.
func (t trees) Discard(s checkout.Spec) error { return t.Of(s).Discard(s) }

// DiscardRest removes what was made beside the path.
func (t trees) DiscardRest(s checkout.Spec) error { return t.Of(s).DiscardRest(s) }

// Rebuild makes a checkout anew that was stowed without its directory.
func (t trees) Rebuild(ctx context.Context, s checkout.Spec, dir string) error {
	return t.Of(s).Rebuild(ctx, s, dir)
}

// IsBorn reports whether the checkout was handed out.
func (t trees) IsBorn(s checkout.Spec) bool { return t.Of(s).IsBorn(s) }
