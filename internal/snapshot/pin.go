package snapshot

import (
	"context"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
)

// Pin stores a commit that keeps the objects which only the worktree's own state needs,
// such as staged content and the commits of a merge in progress. It makes no ref. It
// returns "" if HEAD keeps them all, or if there are none: the worktree has no commit, and
// nothing is staged. It does not read the files: it is for a worktree that is moved away whole.
func Pin(ctx context.Context, w *git.Worktree) (string, error) {
	pending, err := w.Pending(ctx)
	if err != nil {
		return "", err
	}
	kept := "" // the tree that HEAD keeps
	if len(pending) == 0 {
		if x, err := w.Index(ctx); err != nil || len(x.Entries) == 0 {
			return "", err
		}
	} else {
		head, err := w.Repo.Info(ctx, pending[0]+"^{tree}")
		if err != nil {
			return "", err
		}
		kept = head.OID
	}
	tree := w.CachedTree()
	if len(pending) == 1 && tree == kept {
		return "", nil
	}
	if tree == "" || tree != kept { // something is staged, or the index has no tree recorded
		if tree, err = stagedTree(ctx, w); err != nil {
			return "", err
		}
	}
	// The commit has no time: the time would tell in which order Croft handled the
	// agents of a round.
	return w.Repo.WriteCommit(object.Commit{
		Tree: tree, Parents: pending, Signature: "Croft <croft@localhost> 0 +0000",
		Message: "State of a removed workspace",
	})
}

// stagedTree stores a tree that keeps the objects of the index: the tree that the index
// describes, and the other stages of a conflict.
func stagedTree(ctx context.Context, w *git.Worktree) (string, error) {
	s := &saver{w: w, root: w.Path, own: w.Admin, batch: w.Repo.Batch()}
	defer s.batch.Discard()
	var err error
	if s.index, err = w.Index(ctx); err != nil {
		return "", err
	}
	entries, err := storeParts(
		part{"40000", "staged", func() (string, error) { return s.storeIndexTree(ctx) }},
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
