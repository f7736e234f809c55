package snapshot

import (
	"context"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
)

// Pin stores a commit that keeps the objects which only the worktree's own state needs,
// such as what is staged and what a merge is in the middle of. It makes no ref. It
// returns "" if HEAD keeps them all. The files themselves are not looked at: it is for
// a worktree that is moved away whole.
func Pin(ctx context.Context, w *git.Worktree) (string, error) {
	pending, err := w.Pending(ctx)
	if err != nil || len(pending) == 0 {
		return "", err
	}
	head, err := w.Repo.Info(ctx, pending[0]+"^{tree}")
	if err != nil {
		return "", err
	}
	tree := w.CachedTree()
	if len(pending) == 1 && tree == head.OID {
		return "", nil
	}
	if tree != head.OID { // something is staged, or git did not note what is
		if tree, err = stagedTree(ctx, w); err != nil {
			return "", err
		}
	}
	// It has no time: when it was made would tell in which order the agents of a
	// round were attended to.
	return w.Repo.WriteCommit(object.Commit{
		Tree: tree, Parents: pending, Signature: "Croft <croft@localhost> 0 +0000",
		Message: "State of a removed workspace",
	})
}

// stagedTree stores a tree that holds what the index does: the tree that it
// describes, and the other stages of a conflict.
func stagedTree(ctx context.Context, w *git.Worktree) (string, error) {
	s := &saver{w: w, root: w.Path, batch: w.Repo.Batch()}
	defer s.batch.Discard()
	var err error
	if s.index, err = w.Index(ctx); err != nil {
		return "", err
	}
	entries, err := storeParts(
		part{"40000", "staged", func() (string, error) { return indexTree(ctx, w, conflictedPaths(s.index)) }},
		part{"40000", "stages", s.storeStages},
	)
	if err == nil {
		err = s.batch.Flush()
	}
	if err != nil {
		return "", err
	}
	return w.Repo.WriteTree(entries)
}
