package git

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Reregister restores a worktree from the trash: first its admin directory, locked, so
// that git does not prune it while its checkout is absent, then the checkout. It may be
// called again after a crash at any point. It fails with ErrExists if there is something
// at the path, and with os.ErrNotExist if the trashed directories are gone.
func (w *Worktree) Reregister(admin, tree, lock string) error {
	if err := w.reregister(admin, tree, lock); err != nil {
		return err
	}
	if w.IsIsolated() { // the pin ref was deleted
		if err := w.ResetSync(); err != nil {
			return err
		}
	}
	return w.Rejoin() // the repository may have been moved
}

func (w *Worktree) reregister(admin, tree, lock string) error {
	beside, err := fsx.MakeDir(filepath.Dir(w.Path), 0o777)
	if err != nil {
		return err
	}
	defer beside.Close()
	name := filepath.Base(w.Path)
	isBack, err := w.isRestored(beside, tree)
	if err != nil {
		return err
	}
	w.DeleteEmptyAdmin()
	if err := w.restoreAdmin(admin, lock); err != nil {
		return err
	}
	if err := failpoint.Hit("git.reregister.admin"); err != nil || isBack {
		return err
	}
	stow, err := w.OpenTrashDir(filepath.Dir(tree))
	if err != nil {
		return err
	}
	defer stow.Close()
	err = stow.Move(filepath.Base(tree), w.RestoredIdentity(), beside, name)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w", w.Path, worktree.ErrExists)
	}
	return err
}

// RestoredIdentity is the identity of the checkout that is restored: the one in the record. The
// ledger may have one that was made anew meanwhile.
func (w *Worktree) RestoredIdentity() fsx.Identity { return cmp.Or(w.Identity, w.Made()) }

// isRestored reports whether the checkout is at its path already.
func (w *Worktree) isRestored(beside *fsx.Dir, tree string) (bool, error) {
	now, err := beside.IdentityOf(filepath.Base(w.Path))
	if err == nil && now == w.RestoredIdentity() {
		return true, nil
	}
	if err == nil && now == w.Made() {
		return false, fmt.Errorf("%s was made anew: %w", w.Path, os.ErrNotExist)
	}
	if err == nil {
		return false, fmt.Errorf("%s: %w", w.Path, worktree.ErrExists)
	}
	stow, err := w.OpenTrashDir(filepath.Dir(tree))
	if err != nil {
		return false, err
	}
	defer stow.Close()
	there, err := stow.IdentityOf(filepath.Base(tree))
	if err == nil && there != w.RestoredIdentity() {
		err = &os.PathError{Op: "restore", Path: tree, Err: fsx.ErrOther}
	}
	return false, err
}

// DeleteEmptyAdmin removes an admin directory that has no worktree's files. A gc that has seen
// the worktree before it was deregistered makes the directory again when it locks HEAD
// there.
func (w *Worktree) DeleteEmptyAdmin() {
	admins, err := w.OpenAdminParent()
	if err != nil {
		return
	}
	defer admins.Close()
	name := filepath.Base(w.Admin)
	admin, err := admins.OpenDir(name)
	if err != nil {
		return
	}
	defer admin.Close()
	if id, err := admin.Identity(); err == nil && hasEmptyAdmin(admin) {
		_ = admins.RemoveTree(name, id, nil)
	}
}

// isEmptyAdmin reports whether an admin directory has none of the files of a worktree.
func isEmptyAdmin(path string) bool {
	admin, err := fsx.OpenDir(path)
	if err != nil {
		return false
	}
	defer admin.Close()
	return hasEmptyAdmin(admin)
}

func hasEmptyAdmin(admin *fsx.Dir) bool {
	names, err := admin.Names()
	if err != nil {
		return false
	}
	for _, name := range names {
		if name != "logs" && name != gitdir.HeadLock && name != headDraft {
			return false
		}
	}
	return true
}

// restoreAdmin moves the admin directory back from the trash; it appears complete and
// locked. It fails with ErrForged if there is anything but regular files and directories
// in it, which git did not make.
func (w *Worktree) restoreAdmin(stowed, lock string) error {
	stow, err := w.OpenTrashDir(filepath.Dir(stowed))
	if errors.Is(err, os.ErrNotExist) && fsx.IsThere(w.Admin) {
		return nil
	}
	if err != nil {
		return err
	}
	defer stow.Close()
	name := filepath.Base(stowed)
	if fsx.IsThere(w.Admin) { // left of a directory that was copied
		return stow.RemoveAll(name)
	}
	id, err := w.writeTrashedAdmin(stow, name, lock)
	if err != nil {
		return err
	}
	admins, err := w.MakeAdminParent()
	if err != nil {
		return err
	}
	defer admins.Close()
	return stow.MoveOrCopy(name, id, admins, filepath.Base(w.Admin), worktree.LargestAdmin)
}

// ErrForged says that an admin directory in the trash is not as git made it.
var ErrForged = errors.New("the registration in the trash is not what git made")

// writeTrashedAdmin writes the paths and the lock to the admin directory in the trash, and
// returns which directory that is, or fails with ErrForged.
func (w *Worktree) writeTrashedAdmin(stow *fsx.Dir, name, lock string) (fsx.Identity, error) {
	admin, err := stow.OpenDir(name)
	if errors.Is(err, fsx.ErrLink) {
		return "", fmt.Errorf("%w: %w", ErrForged, err)
	}
	if err != nil {
		return "", err
	}
	defer admin.Close()
	if err := admin.RequireOnlyFiles(maxAdminEntries, worktree.LargestAdmin); err != nil {
		return "", fmt.Errorf("%w: %w", ErrForged, err)
	}
	if err := admin.RemoveTemp(); err != nil {
		return "", err
	}
	for file, text := range map[string]string{
		"locked": lock, "gitdir": filepath.ToSlash(filepath.Join(w.Path, ".git")), "commondir": w.RelativeCommonDir(),
	} {
		if err := admin.WriteFile(file, []byte(text+"\n"), 0o644); err != nil {
			return "", err
		}
	}
	return admin.Identity()
}

// maxAdminEntries bounds how many entries an admin directory has; the git directories of
// submodules are among them.
const maxAdminEntries = 1 << 20

// Rejoin repairs the paths between the two halves of a worktree after the repository, or
// the checkout with it, was moved. It does so only if the checkout's .git file names an
// admin directory of the same name that belongs to no other checkout, and changes nothing
// else.
func (w *Worktree) Rejoin() error {
	if w.IsIsolated() {
		return w.RejoinIsolated()
	}
	named, err := gitdir.ReadGitFile(filepath.Join(w.Path, ".git"))
	if err != nil || filepath.Base(named) != filepath.Base(w.Admin) {
		return nil
	}
	if _, err := os.Lstat(w.Admin); err != nil {
		return nil
	}
	if named != w.Admin {
		if _, err := os.Lstat(named); err == nil {
			return nil // the .git file names another admin directory that exists, so the checkout may belong to that one
		}
		if err := w.writePointer(); err != nil {
			return err
		}
	}
	if w.Names(w.Path) {
		return nil
	}
	return w.WriteAdmin("gitdir", filepath.ToSlash(filepath.Join(w.Path, ".git"))+"\n")
}

// Reclaim verifies that the .git of the checkout at tree, which is its path or a directory
// in the trash, names this worktree, and writes a missing .git file. It fails with
// [fsx.ErrOther] if tree is not the directory that Croft made, or if its .git names
// something else.
func (w *Worktree) Reclaim(tree string) error {
	dir, err := fsx.OpenDirIs(tree, w.RestoredIdentity())
	if err != nil {
		return err
	}
	defer dir.Close()
	switch {
	case w.Owns(tree):
		return nil
	case w.IsIsolated() || dir.Has(".git"):
		return &os.PathError{Op: "restore", Path: filepath.Join(tree, ".git"), Err: fsx.ErrOther}
	}
	return dir.WriteFile(".git", []byte(w.PointerText()), 0o644)
}

// writePointer replaces the checkout's .git file.
func (w *Worktree) writePointer() error {
	top, err := fsx.OpenDir(w.Path)
	if err != nil {
		return err
	}
	defer top.Close()
	return top.WriteFile(".git", []byte(w.PointerText()), 0o644)
}
