package git

import (
	"errors"
	"slices"

	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// AllFiles among the directories of a sparse checkout means that it has all files of its commits.
const AllFiles = worktree.AllFiles

// ErrNoOwnConfig says that worktrees of a repository cannot have settings of their own, which they need to
// be sparse in another way than the main checkout.
var ErrNoOwnConfig = errors.New("worktrees of this repository have no settings of their own")

// CanBeSparse fails with ErrNoOwnConfig if linked worktrees cannot have patterns of their own: the repository is bare, or
// names its working tree, which git would take for theirs once they have settings of their own.
func (r *Repository) CanBeSparse() error {
	_, err := r.needsOwnConfig()
	return err
}

// needsOwnConfig reports whether the repository has to be told that its worktrees have settings of their own, before one of them can be sparse.
func (r *Repository) needsOwnConfig() (bool, error) {
	hasOwn, err := r.HasWorktreeConfig()
	if err != nil || hasOwn {
		return false, err
	}
	h, err := r.EnsureHostDir()
	if err != nil {
		return false, err
	}
	isSparse, isFixed := false, r.Bare
	for _, e := range h.Entries {
		switch e.Key {
		case "core.sparsecheckout":
			isSparse = e.Bare || gitconfig.IsTrue(e.Value)
		case "core.worktree":
			isFixed = true
		}
	}
	if isSparse {
		return false, nil // all worktrees are, each with its patterns
	}
	if isFixed {
		return false, ErrNoOwnConfig
	}
	return true, nil
}

// prepareSparse makes it possible for a new linked worktree to have patterns of its own, in the way of `git sparse-checkout
// set`. The caller holds the repository's lock.
func (r *Repository) prepareSparse(s worktree.AddSpec) error {
	if len(s.Sparse) == 0 || s.Kind == KindIsolated || slices.Contains(s.Sparse, AllFiles) {
		return nil
	}
	needs, err := r.needsOwnConfig()
	if err != nil || !needs {
		return err
	}
	return r.changeConfig(func(old string) string {
		return addSetting(old, gitconfig.Entry{Key: "extensions.worktreeconfig", Value: "true"})
	})
}
