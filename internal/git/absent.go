package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// A checkout whose directory is absent still has its admin directory: HEAD, the index, and
// the files of an operation in progress.

// HasAdmin reports whether the admin directory exists and has a HEAD.
func (w *Worktree) HasAdmin() bool {
	admin, err := w.OpenAdmin()
	if err != nil {
		return false
	}
	defer admin.Close()
	return admin.Has("HEAD")
}

// NamedPath returns the path of the checkout as the admin directory names it, or "". Git
// writes it when a worktree is moved; an agent can write it, too.
func (w *Worktree) NamedPath() string {
	b, err := fsx.ReadSmall(filepath.Join(w.Admin, "gitdir"))
	if err != nil {
		return ""
	}
	path, ok := strings.CutSuffix(strings.TrimSpace(string(b)), "/.git")
	if path = filepath.FromSlash(path); !ok || !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return ""
	}
	return path
}

// Rebuild makes the directory of a worktree anew whose admin directory was moved to the
// trash without one, so that its index is restored. The admin directory gets the lock
// reason lock, and the checkout has no files yet. It may be called again after a crash. It
// fails with ErrExists if there is something at the path, with os.ErrNotExist if the admin
// directory is gone, and with ErrForged if git did not make it.
func (w *Worktree) Rebuild(ctx context.Context, stowed, lock string, s worktree.AddSpec) error {
	if fsx.IsThere(w.Path) {
		return fmt.Errorf("%s: %w", w.Path, worktree.ErrExists)
	}
	w.DeleteEmptyAdmin()
	if !w.HasAdmin() && !fsx.IsThere(stowed) {
		return &os.PathError{Op: "restore", Path: stowed, Err: os.ErrNotExist}
	}
	if err := w.restoreAdmin(stowed, lock); err != nil {
		return err
	}
	if err := failpoint.Hit("git.rebuild.admin"); err != nil {
		return err
	}
	if err := w.discardTree(worktree.TempPath(s)); err != nil { // left by a call that was killed
		return err
	}
	if !w.IsIsolated() {
		return w.AddTree(s, func(tree *fsx.Dir) error { return tree.WriteFile(".git", []byte(w.PointerText()), 0o666) })
	}
	admin := filepath.Base(w.Admin)
	w.Repo.ReleaseStore(admin) // its former alternates store may lack its commits
	store, err := w.Repo.AssignStore(ctx, admin)
	if err != nil {
		return err
	}
	// The new git directory is written from the admin directory, not the other way round.
	if err := errors.Join(w.ResetSync(), w.WriteSyncState(isolated.SyncState{Branch: s.Branch, Base: s.Head, Pending: true})); err != nil {
		return err
	}
	return w.AddPrivate(s, store)
}

// WriteStaged writes the files of the index and overwrites existing ones: it is for a
// checkout that is being made.
func (w *Worktree) WriteStaged(ctx context.Context, workers int) error {
	return w.Change(ctx, func(w *Worktree) error {
		_, err := w.RunGit(ctx, gitcmd.Call{
			Args:   []string{"checkout-index", "--all", "--force", "--index", "--quiet"},
			Config: [][2]string{{"checkout.workers", strconv.Itoa(workers)}}, Locks: true, Network: true,
		})
		return err
	})
}

// HasIndex reports whether the admin directory has an index.
func (w *Worktree) HasIndex() bool {
	admin, err := w.OpenAdmin()
	if err != nil {
		return false
	}
	defer admin.Close()
	return admin.Has("index")
}
