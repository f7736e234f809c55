package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/failpoint"
)

// Reregister brings a worktree back that was stowed away: first its admin
// directory, locked, so that nobody prunes it while its checkout is not there,
// then the checkout. It may be called again after a crash at any point. It
// fails with ErrExists if something is at the path, and with os.ErrNotExist if
// the stowed directories are gone.
func (w *Worktree) Reregister(admin, tree, lock string) error {
	if err := w.reregister(admin, tree, lock); err != nil || !w.IsIsolated() {
		return err
	}
	// The ref that held what is not on the branch is gone, and the repository
	// may have been moved.
	return errors.Join(w.forgetSync(), w.Rejoin())
}

func (w *Worktree) reregister(admin, tree, lock string) error {
	if !w.Owns(w.Path) {
		if _, err := os.Lstat(w.Path); err == nil {
			return fmt.Errorf("%s: %w", w.Path, ErrExists)
		}
		if _, err := os.Lstat(tree); err != nil {
			return err
		}
	} else if _, err := os.Lstat(admin); err == nil {
		return fmt.Errorf("%s, which is another checkout's: %w", admin, os.ErrNotExist)
	}
	w.DropDebris()
	if _, err := os.Lstat(w.Admin); errors.Is(err, os.ErrNotExist) {
		if err := w.bringAdmin(admin, lock); err != nil {
			return err
		}
	} else if err := os.RemoveAll(admin); err != nil { // what is left of one that was copied
		return err
	}
	if err := failpoint.Hit("git.reregister.admin"); err != nil {
		return err
	}
	if w.Owns(w.Path) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(w.Path), 0o777); err != nil {
		return err
	}
	return renameNew(tree, w.Path)
}

// DropDebris removes an admin directory that holds nothing of a worktree. A gc
// that has seen the worktree before it was deregistered makes the directory
// again when it comes to lock its HEAD.
func (w *Worktree) DropDebris() {
	if isDebris(w.Admin) {
		_ = os.RemoveAll(w.Admin)
	}
}

// isDebris reports whether a directory has none of the files that make it a
// worktree's.
func isDebris(admin string) bool {
	entries, err := os.ReadDir(admin)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name() != "logs" && e.Name() != headLock {
			return false
		}
	}
	return true
}

// bringAdmin makes the admin directory appear complete and locked.
func (w *Worktree) bringAdmin(admin, lock string) error {
	stowed := &Worktree{Admin: admin}
	if err := stowed.SetLock(lock); err != nil {
		return err
	}
	pointer := filepath.ToSlash(filepath.Join(w.Path, ".git")) + "\n"
	if err := replaceFile(filepath.Join(admin, "gitdir"), []byte(pointer), 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(w.Admin), 0o777); err != nil {
		return err
	}
	if err := renameNew(admin, w.Admin); err == nil {
		return nil
	}
	// Another file system: a copy, which git sees when it is complete.
	staging := w.staging()
	_ = os.RemoveAll(staging)
	if err := os.CopyFS(staging, os.DirFS(admin)); err != nil {
		return err
	}
	if err := renameNew(staging, w.Admin); err != nil {
		return err
	}
	return os.RemoveAll(admin)
}

// Rejoin lets the two halves of a worktree find each other again after the
// repository, or the checkout with it, was moved. It does so only if the
// checkout's .git file named an admin directory of the same name, which nobody
// else has, and leaves everything else alone.
func (w *Worktree) Rejoin() error {
	if w.IsIsolated() {
		return w.rejoinIsolated()
	}
	named, err := readGitFile(filepath.Join(w.Path, ".git"))
	if err != nil || filepath.Base(named) != filepath.Base(w.Admin) {
		return nil
	}
	if _, err := os.Lstat(w.Admin); err != nil {
		return nil
	}
	if named != w.Admin {
		if _, err := os.Lstat(named); err == nil {
			return nil // it still has the place that it names
		}
		if err := replaceFile(filepath.Join(w.Path, ".git"), []byte(w.pointer()), 0o644); err != nil {
			return err
		}
	}
	if w.names(w.Path) {
		return nil
	}
	pointer := filepath.ToSlash(filepath.Join(w.Path, ".git")) + "\n"
	return replaceFile(filepath.Join(w.Admin, "gitdir"), []byte(pointer), 0o644)
}
