package git

import (
	"context"

	"github.com/croft-sh/croft/internal/git/odb"
)

// Look reports whether Prepare would find now that the checkout can be fast-forwarded from a commit by some changes,
// of which the new objects need not be in the repository. It fails with a *HostDirtyError if not. It locks and
// writes nothing: by the time of Prepare the answer may be another.
func (h *BranchCheckout) Look(ctx context.Context, old string, changes []odb.Change) error {
	if h.InProgress {
		return h.inProgressError()
	}
	c, err := h.repo.copyIndex(checkoutAt{gitDir: h.gitDir, work: h.Path})
	if err != nil {
		return err
	}
	a := &FastForward{indexCopy: c, host: h, old: old, changes: changes}
	defer a.Cancel()
	if err := a.copyIndex(); err != nil {
		return err
	}
	if err := a.makeTempGitDir("", old); err != nil {
		return err
	}
	if a.undo, err = h.repo.lookAtFiles(h.Path, changes); err != nil {
		return err
	}
	if err := a.requireFiles(ctx); err != nil {
		return err
	}
	return a.checkCheckout(ctx)
}

func (h *BranchCheckout) inProgressError() error {
	return &HostDirtyError{Path: h.Path, Cause: "a rebase or bisect of the branch is in progress"}
}
