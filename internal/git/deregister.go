package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/proc"
)

// Deregister moves the admin directory to dst, so that git no longer lists the worktree.
//
// Other git processes may run meanwhile. One that is listing worktrees dies if a directory
// that it has just seen is gone, so the worktree first stops being listed, and its
// directory is moved a moment later. A git that commits there, and a gc that rewrites the
// reflog, hold the lock of HEAD, so Deregister takes it, too. It may be called again after
// a crash at any point. The caller holds the repository's lock.
func (w *Worktree) Deregister(dst string) error {
	isHidden, err := w.Unlist()
	if err != nil {
		return err
	}
	AwaitListings(isHidden)()
	return w.MoveAdmin(dst)
}

// The name of the file by which git lists a worktree, and that which it has while the worktree
// is being removed.
const pointer, hidden = "gitdir", "gitdir.removed"

// Unlist is the first step of Deregister: git does not list the worktree any more. A git that is
// listing now may have seen it, if isHidden.
func (w *Worktree) Unlist() (isHidden bool, err error) {
	isHidden = w.renameAdminFile(pointer, hidden) == nil
	return isHidden, failpoint.Hit("git.deregister.hidden")
}

// AwaitListings is the second step of Deregister, one for any number of worktrees. It returns a
// function that waits until each git has ended its listing that may have seen one of them; so
// the caller can do something else before it waits. isHidden says that there is such a worktree.
func AwaitListings(isHidden bool) (wait func()) {
	if !isHidden {
		return func() {}
	}
	gone := time.Now().Add(listingTime)
	// A git that starts from here on does not see them.
	listing := make(chan bool, 1)
	go func() { listing <- isListing() }()
	return func() {
		if <-listing {
			time.Sleep(time.Until(gone))
		}
	}
}

// MoveAdmin is the last step of Deregister.
func (w *Worktree) MoveAdmin(dst string) error {
	w.holdHead()
	w.DeleteEmptyAdmin()
	if err := failpoint.Hit("git.deregister.held"); err != nil {
		return err
	}
	into, err := w.OpenTrashDir(filepath.Dir(dst))
	if err != nil {
		return err
	}
	defer into.Close()
	if err := w.moveAdmin(into, filepath.Base(dst)); err != nil {
		return err
	}
	if err := failpoint.Hit("git.deregister.moved"); err != nil {
		return err
	}
	moved, err := into.OpenDir(filepath.Base(dst))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer moved.Close()
	_ = moved.Remove(gitdir.HeadLock)
	_ = moved.Remove(headDraft)
	worktree.DeleteOwnLock(moved)
	_ = moved.Replace(hidden, pointer)
	return nil
}

// renameAdminFile renames a file in the worktree's admin directory.
func (w *Worktree) renameAdminFile(name, hidden string) error {
	admin, err := w.OpenAdmin()
	if err != nil {
		return err
	}
	defer admin.Close()
	return admin.Replace(name, hidden)
}

// moveAdmin moves the admin directory, if there is one. Anything that is not a directory
// stays.
func (w *Worktree) moveAdmin(into *fsx.Dir, name string) error {
	err := w.moveAdminDir(into, name)
	if errors.Is(err, os.ErrExist) { // left by an earlier call; the directory replaces it
		err = errors.Join(into.RemoveAll(name), w.moveAdminDir(into, name))
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, fsx.ErrLink) {
		return nil
	}
	return err
}

func (w *Worktree) moveAdminDir(into *fsx.Dir, name string) error {
	admins, err := w.OpenAdminParent()
	if err != nil {
		return err
	}
	defer admins.Close()
	id, err := admins.IdentityOf(filepath.Base(w.Admin))
	if err != nil {
		return err
	}
	return admins.MoveOrCopy(filepath.Base(w.Admin), id, into, name, worktree.LargestAdmin)
}

// listingTime is how long a git that lists worktrees may take between listing an admin
// directory and reading its files.
const listingTime = 10 * time.Millisecond

// isListing reports whether a git may be listing worktrees now. Git processes that Croft
// keeps running do not.
func isListing() bool {
	found, known := proc.HasRunning("git", func(args []string) bool {
		return !slices.ContainsFunc(args, func(arg string) bool { return arg == "cat-file" || arg == "update-ref" || arg == "merge-tree" })
	})
	return found || !known || !proc.CanSeeAll()
}

// headDraft is the name under which Croft writes its HEAD.lock before it links the file to
// that name: a process that finds HEAD.lock can read from it that it is Croft's.
const headDraft = "HEAD.croft"

// headLockOurs is the content of Croft's HEAD.lock; git's has the new value of HEAD.
const headLockOurs = "croft\n"

// headLockTimeout is how long git may hold HEAD.lock. An older lock file was left by a git
// that was killed.
const headLockTimeout = time.Second

// holdHead takes git's lock of the worktree's HEAD, or waits for headLockTimeout.
func (w *Worktree) holdHead() {
	admin, err := w.OpenAdmin()
	if err != nil {
		return
	}
	defer admin.Close()
	if err := writeHeadDraft(admin); err != nil {
		return
	}
	defer func() { _ = admin.Remove(headDraft) }()
	for deadline := time.Now().Add(headLockTimeout); ; time.Sleep(5 * time.Millisecond) {
		err := admin.LinkNew(headDraft, gitdir.HeadLock)
		if b, rerr := admin.ReadFile(gitdir.HeadLock, worktree.MaxWorktreeConfig); rerr == nil && string(b) == headLockOurs {
			return // this process's own, or left by a Croft process that died
		}
		if !errors.Is(err, os.ErrExist) || time.Now().After(deadline) {
			return
		}
	}
}

func writeHeadDraft(admin *fsx.Dir) error {
	_ = admin.Remove(headDraft) // left by a Croft process that died
	f, err := admin.Create(headDraft, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(headLockOurs)
	return errors.Join(err, f.Close())
}
