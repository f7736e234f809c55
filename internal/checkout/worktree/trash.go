package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// The names of a checkout's directory and its admin directory in the trash.
const (
	stowedTree  = "tree"
	stowedAdmin = "admin"
)

// MoveToTrash renames the directory to dir/tree and the admin directory to dir/admin.
// In between the worktree is locked, so that a `git worktree prune` does not delete the
// admin directory.
func (c *Checkouts) MoveToTrash(s checkout.Spec, dir string) error {
	m := &Move{Spec: s, Dir: dir}
	c.MoveAllToTrash([]*Move{m}, func([]*Move) {})
	return m.Err
}

// Move is a checkout that MoveAllToTrash moves.
type Move struct {
	checkout.Spec
	Dir string // in the trash; it exists
	Err error  // why the checkout was not moved, or not whole

	tree    *git.Worktree
	release func()
}

// MoveAllToTrash is MoveToTrash for several checkouts. It calls meanwhile once, with those whose
// directories are in the trash, before it moves their admin directories: the moves have to wait
// for a moment there. Where meanwhile sets an error, the admin directory is not moved, but git
// does not list the worktree any more.
func (c *Checkouts) MoveAllToTrash(moves []*Move, meanwhile func(moved []*Move)) {
	defer func() {
		for _, m := range moves {
			if m.release != nil {
				m.release()
			}
		}
	}()
	var moved []*Move
	isHidden := false
	for _, m := range moves {
		now, err := c.stow(m)
		if m.Err = err; err == nil {
			moved, isHidden = append(moved, m), isHidden || now
		}
	}
	wait := git.AwaitListings(isHidden)
	meanwhile(moved)
	wait()
	for _, m := range moved {
		if m.Err != nil {
			continue
		}
		stowed := git.OfAdmin(filepath.Join(m.Dir, stowedAdmin))
		if m.Err = m.tree.MoveAdmin(stowed.Admin); m.Err == nil {
			c.unlock(stowed)
		}
	}
}

// stow moves the directory of a checkout to the trash, and keeps git from listing it. isHidden
// is as that of Unlist.
func (c *Checkouts) stow(m *Move) (isHidden bool, err error) {
	w := c.At(m.Spec)
	m.tree = w
	_ = w.Pull(context.Background()) // objects that cannot be pulled move along
	if m.release, err = w.HoldToMove(context.Background()); err != nil {
		return false, err
	}
	if _, locked, err := w.LockReason(); err == nil && !locked && w.IsRegistered() {
		if err := w.SetLock(RemovalLock); err != nil {
			return false, err
		}
	}
	err = failpoint.Hit("worktree.stow.locked")
	if err == nil {
		err = c.moveTreeToTrash(w, m.Dir)
	}
	if err != nil {
		c.unlock(w)
		return false, err
	}
	if err := failpoint.Hit("worktree.stow.renamed"); err != nil {
		return false, err
	}
	return w.Unlist()
}

// unlock deletes the lock of a removal.
func (c *Checkouts) unlock(w *git.Worktree) {
	if reason, _, _ := w.LockReason(); reason == RemovalLock {
		_ = w.ClearLock()
	}
}

// moveTreeToTrash moves the directory that was made. A directory that does not exist is
// no error.
func (c *Checkouts) moveTreeToTrash(w *git.Worktree, dir string) error {
	stow, err := openTrashDir(w, dir)
	if err != nil {
		return err
	}
	defer stow.Close()
	if now, err := stow.IdentityOf(stowedTree); err == nil {
		if now != w.Made() {
			return fmt.Errorf("%s: %w", filepath.Join(dir, stowedTree), checkout.ErrOther)
		}
		return nil // a process that died has moved it
	}
	beside, err := fsx.OpenDir(filepath.Dir(w.Path))
	if err == nil {
		defer beside.Close()
		err = beside.Move(filepath.Base(w.Path), w.Made(), stow, stowedTree)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return contractError(w.Path, w.Path, err)
}

// contractError maps an error of git or of the file system to one of the contract: the
// checkout's path is taken (ErrExists), the trash has another directory than the one
// that was made (ErrOther), or none (ErrGone).
func contractError(path, dir string, err error) error {
	switch {
	case errors.Is(err, worktree.ErrExists) || errors.Is(err, os.ErrExist):
		return fmt.Errorf("%w: %s", checkout.ErrExists, path)
	case errors.Is(err, fsx.ErrOther) || errors.Is(err, fsx.ErrLink):
		return fmt.Errorf("%s: %w: %w", dir, checkout.ErrOther, err)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%w: %s", checkout.ErrGone, dir)
	}
	return err
}

func openTrashDir(w *git.Worktree, dir string) (*fsx.Dir, error) {
	stow, err := fsx.OpenDir(dir)
	if w.TrashedIn != "" {
		if err == nil {
			_ = stow.Close()
		}
		stow, err = fsx.OpenDirIs(dir, w.TrashedIn)
	}
	if errors.Is(err, fsx.ErrOther) || errors.Is(err, fsx.ErrLink) {
		err = contractError(w.Path, dir, err)
	}
	return stow, err
}

// MoveBack renames the admin directory and then the checkout from the trash directory dir
// to their paths. A checkout that is at its path again stays there. If the admin
// directory is gone or forged, the checkout is registered anew.
func (c *Checkouts) MoveBack(s checkout.Spec, dir string) error {
	w := c.At(s)
	if dir == "" || isGone(filepath.Join(dir, stowedAdmin)) && isGone(w.Admin) {
		return c.adoptTree(w, s, dir)
	}
	err := w.Reregister(filepath.Join(dir, stowedAdmin), filepath.Join(dir, stowedTree), BirthLock)
	if !errors.Is(err, git.ErrForged) {
		return contractError(s.Path, dir, err)
	}
	if err := deleteForged(w, dir); err != nil {
		return err
	}
	return c.adoptTree(w, s, dir)
}

// Rebuild makes the directory of a checkout anew that was moved to the trash without
// one, with its index.
func (c *Checkouts) Rebuild(ctx context.Context, s checkout.Spec, dir string) error {
	w := c.At(s)
	if dir == "" {
		return fmt.Errorf("%w: %s", checkout.ErrGone, s.Path)
	}
	err := w.Rebuild(ctx, filepath.Join(dir, stowedAdmin), BirthLock, worktree.AddSpec{
		Admin: adminOf(s), Path: s.Path, Branch: s.Branch, Head: s.Base, Branches: s.Branches, Sparse: s.Sparse,
	})
	if !errors.Is(err, git.ErrForged) {
		return contractError(s.Path, dir, err)
	}
	if err := deleteForged(w, dir); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", checkout.ErrGone, dir)
}

// IsReleased reports whether the checkout was released: it no longer has the lock of
// its birth.
func (c *Checkouts) IsReleased(s checkout.Spec) bool {
	reason, locked, err := c.At(s).LockReason()
	return err == nil && (!locked || reason != BirthLock)
}

// DiscardRest removes the parts of a checkout that Prepare made beside its path.
func (c *Checkouts) DiscardRest(s checkout.Spec) error { return c.At(s).DiscardRest() }

// deleteForged deletes an admin directory in the trash that git did not make.
func deleteForged(w *git.Worktree, dir string) error {
	stow, err := openTrashDir(w, dir)
	if err != nil {
		return err
	}
	defer stow.Close()
	return stow.RemoveAll(stowedAdmin)
}

// adoptTree restores a directory that had lost its registration before it was moved to
// the trash, or that the user moved back to its path. The files stay as they are, and
// the index is made anew.
func (c *Checkouts) adoptTree(w *git.Worktree, s checkout.Spec, dir string) error {
	beside, err := fsx.MakeDir(filepath.Dir(s.Path), 0o777)
	if err != nil {
		return err
	}
	defer beside.Close()
	now, err := beside.IdentityOf(filepath.Base(s.Path))
	isBack := err == nil && now == w.RestoredIdentity()
	if !isBack && dir == "" {
		return fmt.Errorf("%w: %s", checkout.ErrGone, s.Path)
	}
	at := s.Path
	if !isBack {
		at = filepath.Join(dir, stowedTree)
	}
	if err = w.Reclaim(at); err == nil && !isBack {
		err = c.moveTreeBack(w, beside, dir)
	}
	if err != nil {
		return contractError(s.Path, at, err)
	}
	return w.Register(context.Background(), worktree.AddSpec{Admin: adminOf(s), Path: s.Path, Branch: s.Branch, Head: s.Base, Lock: BirthLock, Sparse: s.Sparse})
}

func (c *Checkouts) moveTreeBack(w *git.Worktree, beside *fsx.Dir, dir string) error {
	stow, err := openTrashDir(w, dir)
	if err == nil {
		defer stow.Close()
		err = stow.Move(stowedTree, w.RestoredIdentity(), beside, filepath.Base(w.Path))
	}
	return contractError(w.Path, filepath.Join(dir, stowedTree), err)
}

// Discard removes the worktree.
func (c *Checkouts) Discard(s checkout.Spec) error { return c.At(s).Discard() }
