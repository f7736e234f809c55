package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Discard removes everything that Add and Checkout made and nothing else: the checkout
// only if it is the directory that was made, under any of its names, and the admin
// directory only if it names this checkout. It may be called again, and after a crash at
// any point of Add.
func (w *Worktree) Discard() error {
	return w.discard(w.Path, worktree.TempPath(worktree.AddSpec{Admin: filepath.Base(w.Admin), Path: w.Path}), w.pathByGit())
}

// DiscardRest is Discard for a checkout whose path is free. It does not touch what is
// created at the path meanwhile.
func (w *Worktree) DiscardRest() error {
	return w.discard(worktree.TempPath(worktree.AddSpec{Admin: filepath.Base(w.Admin), Path: w.Path}), w.pathByGit())
}

// pathByGit is the path at which older versions of Croft let git make the checkout: it
// is named like the admin directory.
func (w *Worktree) pathByGit() string {
	return filepath.Join(filepath.Dir(w.Path), filepath.Base(w.Admin))
}

func (w *Worktree) discard(dirs ...string) error {
	admin := filepath.Base(w.Admin)
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, w.discardTree(dir))
	}
	if err := failpoint.Hit("git.discard.tree"); err != nil {
		return err
	}
	errs = append(errs, w.Repo.DeleteStaging(admin))
	if w.Names(w.Path) || w.Names(w.pathByGit()) {
		errs = append(errs, w.DeleteAdmin())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if w.IsIsolated() && !fsx.IsThere(w.Path) {
		errs = append(errs, os.RemoveAll(w.SyncStateDir()), w.DeletePinRef(context.Background()))
		w.Repo.ReleaseStore(admin)
	}
	return errors.Join(append(errs, w.Repo.Made().Delete(admin))...)
}

// discardTree removes a directory that was made for this worktree. A directory that is not
// recorded, because the process that made it died first, is removed if it is empty.
func (w *Worktree) discardTree(dir string) error {
	beside, err := fsx.OpenDir(filepath.Dir(dir))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, fsx.ErrLink) {
		return nil
	}
	if err != nil {
		return err
	}
	defer beside.Close()
	name := filepath.Base(dir)
	now, err := beside.IdentityOf(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if now == w.Made() {
		return beside.RemoveTree(name, now, nil)
	}
	if dir == w.Path {
		return nil // it is renamed there complete and recorded, or not at all
	}
	return w.discardRemnant(beside, name)
}

// discardRemnant removes a directory that is empty or has only the .git file, which git
// writes first.
func (w *Worktree) discardRemnant(beside *fsx.Dir, name string) error {
	dir, err := beside.OpenDir(name)
	if err != nil {
		return nil // not a directory
	}
	defer dir.Close()
	names, err := dir.Names()
	if err != nil || len(names) > 1 || len(names) == 1 && names[0] != ".git" {
		return err
	}
	if b, err := dir.ReadFile(".git", worktree.MaxWorktreeConfig); err == nil && strings.HasPrefix(w.PointerText(), string(b)) {
		if err := dir.Remove(".git"); err != nil {
			return err
		}
	}
	if dir.IsEmpty() {
		return beside.Remove(name)
	}
	return nil
}
