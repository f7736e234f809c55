package workspace

import (
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/project"
)

// checkSparse refuses checkout.sparse where a workspace of this mode cannot have patterns of its own.
func (svc *Workspaces) checkSparse(s project.Location, mode croft.Mode) error {
	dirs := s.Config.Checkout.Sparse
	if len(dirs) == 0 || slices.Contains(dirs, git.AllFiles) || mode != croft.ModeWorktree || s.Git == nil || svc.IsPlain(s.CommonDir) {
		return nil
	}
	err := s.Git.CanBeSparse()
	if errors.Is(err, git.ErrNoOwnConfig) {
		return &croft.Error{
			Code: croft.Unsupported, Message: "checkout.sparse needs a repository whose worktrees have settings of their own, and this one is bare or has core.worktree",
			Hint: "croft new --mode isolated, or git sparse-checkout init in a worktree of it",
		}
	}
	return err
}
