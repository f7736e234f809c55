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

// The names of the two halves of a checkout in the directory that it is stowed
// in.
const (
	stowedTree  = "tree"
	stowedAdmin = "admin"
)

// MoveToTrash renames the directory to dir/tree and the admin directory to dir/admin.
// In between the worktree is locked, so that a `git worktree prune` does not
// delete the half that is left.
func (c *Checkouts) MoveToTrash(s checkout.Spec, dir string) error {
	return c.MoveToTrashWhile(s, dir, func() error { return nil })
}

// MoveToTrashWhile is MoveToTrash that calls meanwhile between the two renames, where
// the second has to wait a moment.
func (c *Checkouts) MoveToTrashWhile(s checkout.Spec, dir string, meanwhile func() error) error {
	w := c.At(s)
	_ = w.Pull(context.Background()) // what cannot be pulled goes along
	release, err := w.HoldToMove(context.Background())
	if err != nil {
		return err
	}
	defer release()
	if _, locked, err := w.LockReason(); err == nil && !locked && w.Registered() {
		if err := w.SetLock(RemovalLock); err != nil {
			return err
		}
	}
	err = failpoint.Hit("worktree.stow.locked")
	if err == nil {
		err = c.moveTreeToTrash(w, dir)
	}
	if err != nil {
		c.unlock(w)
		return err
	}
	if err := failpoint.Hit("worktree.stow.renamed"); err != nil {
		return err
	}
	stowed := git.OfAdmin(filepath.Join(dir, stowedAdmin))
	if err := w.DeregisterWhile(stowed.Admin, meanwhile); err != nil {
		return err
	}
	c.unlock(stowed)
	return nil
}

// unlock takes the lock of a removal away.
func (c *Checkouts) unlock(w *git.Worktree) {
	if reason, _, _ := w.LockReason(); reason == RemovalLock {
		_ = w.ClearLock()
	}
}

// moveTreeToTrash moves the directory that was made. If it is gone, it is gone.
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
		return nil // by a process that died
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

// contractError says an error of git or of the file system in the words of the contract:
// something is at a checkout's path, something else than what was made is in the directory
// that it was moved to, or nothing is.
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

// MoveBack renames the admin directory and then the directory back to where they
// were. A directory that lies at its path again stays there.
func (c *Checkouts) MoveBack(s checkout.Spec, dir string) error {
	w := c.At(s)
	if dir == "" || isGone(filepath.Join(dir, stowedAdmin)) && isGone(w.Admin) {
		return c.adoptTree(w, s, dir)
	}
	err := w.Reregister(filepath.Join(dir, stowedAdmin), filepath.Join(dir, stowedTree), BirthLock)
	if !errors.Is(err, git.ErrForged) {
		return contractError(s.Path, dir, err)
	}
	if err := dropForged(w, dir); err != nil {
		return err
	}
	return c.adoptTree(w, s, dir)
}

// Rebuild makes the directory anew of a checkout that was stowed without one,
// with what was staged in it.
func (c *Checkouts) Rebuild(ctx context.Context, s checkout.Spec, dir string) error {
	w := c.At(s)
	if dir == "" {
		return fmt.Errorf("%w: %s", checkout.ErrGone, s.Path)
	}
	err := w.Rebuild(ctx, filepath.Join(dir, stowedAdmin), BirthLock, worktree.AddSpec{
		Admin: Admin(s.ID), Path: s.Path, Branch: s.Branch, Head: s.Base, Branches: s.Branches,
	})
	if !errors.Is(err, git.ErrForged) {
		return contractError(s.Path, dir, err)
	}
	if err := dropForged(w, dir); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", checkout.ErrGone, dir)
}

// IsBorn reports whether the checkout was handed out: it does not have the lock
// any more that it was made with.
func (c *Checkouts) IsBorn(s checkout.Spec) bool {
	reason, locked, err := c.At(s).LockReason()
	return err == nil && (!locked || reason != BirthLock)
}

// DiscardRest removes what was made beside the path.
func (c *Checkouts) DiscardRest(s checkout.Spec) error { return c.At(s).DiscardRest() }

// dropForged deletes an admin directory that is not what git made.
func dropForged(w *git.Worktree, dir string) error {
	stow, err := openTrashDir(w, dir)
	if err != nil {
		return err
	}
	defer stow.Close()
	return stow.RemoveAll(stowedAdmin)
}

// adoptTree brings a directory back that had lost its registration before it was moved
// to the trash, or that the user moved back to its path: the files as they are, with an
// index made anew.
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
	return w.Register(context.Background(), worktree.AddSpec{Admin: Admin(s.ID), Path: s.Path, Branch: s.Branch, Head: s.Base, Lock: BirthLock})
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
