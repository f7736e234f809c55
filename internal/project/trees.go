package project

import (
	"context"
	"errors"
	"sync"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/checkout/shadow"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/isolated"
)

// trees are the checkouts of one repository, linked and isolated.
type trees struct {
	*shadow.Checkouts
	intact *intactTrees
}

// intactTrees are the checkouts that were found intact, and are known to be untouched since; see [git.Moment.Untouched].
type intactTrees struct {
	mu sync.Mutex
	of map[string]intactTree // by admin directory
}

type intactTree struct {
	since uint64
	of    [3]string // path, admin directory, identity
}

// maxIntact bounds them; beyond it they are examined again.
const maxIntact = 20_000

var _ checkout.Checkout = trees{}

// TreesOf returns the checkouts of a repository.
func TreesOf(repo *git.Repository) trees {
	return trees{shadow.New(repo), &intactTrees{of: map[string]intactTree{}}}
}

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

// HealthSince is Health for showing, of a checkout of which it is known since when it is untouched; 0 says nothing. One that
// was found intact then, and is untouched, is not examined again.
func (t trees) HealthSince(s checkout.Spec, since uint64) checkout.Health {
	if since == 0 {
		return t.Health(s)
	}
	tree := t.At(s)
	of := [3]string{tree.Path, tree.Admin, string(s.Identity)}
	t.intact.mu.Lock()
	known, ok := t.intact.of[tree.Admin]
	t.intact.mu.Unlock()
	if ok && known.since == since && known.of == of {
		return checkout.Intact
	}
	h := t.Health(s)
	if h == checkout.Intact && tree.Untouched() == since { // what was examined is from in between
		t.intact.mu.Lock()
		defer t.intact.mu.Unlock()
		if len(t.intact.of) > maxIntact {
			clear(t.intact.of)
		}
		t.intact.of[tree.Admin] = intactTree{since, of}
	}
	return h
}

// isReplaced reports whether the directory at a checkout's path is another than the one
// that Croft made there, such as a copy. Git does not notice a copy.
func (t trees) isReplaced(s checkout.Spec) bool {
	now, err := fsx.IdentityOf(s.Path)
	return err == nil && s.Identity != "" && now != s.Identity && now != t.At(s).Made()
}
