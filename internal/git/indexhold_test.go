package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/git/writers"
)

// hold locks a checkout's index.
func hold(t *testing.T, w *Worktree, after worktree.Aftermath) *worktree.IndexHold {
	t.Helper()
	admin, err := w.OpenAdmin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	h, err := w.Repo.HoldIndex(t.Context(), w.Admin, admin, after)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// abandoned makes the lock of a Croft process that died.
func abandoned(t *testing.T, repo *Repository, w *Worktree, after worktree.Aftermath) {
	t.Helper()
	if err := hold(t, w, after).Lease.Lock.Unlock(); err != nil {
		t.Fatal(err)
	}
}

func lockOf(w *Worktree) string { return filepath.Join(w.Admin, gitdir.IndexLock) }

// TestIndexLockIsWhole: at no moment does a lock on an index lack the name of its owner.
func TestIndexLockIsWhole(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	stop, seen := make(chan bool), make(chan string, 1)
	go func() {
		defer close(seen)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if b, err := os.ReadFile(lockOf(w)); err == nil {
				if _, ours := worktree.LockOwner(b); !ours {
					seen <- string(b)
					return
				}
			}
		}
	}()
	for range 300 {
		hold(t, w, worktree.SweptAfter).Release()
	}
	close(stop)
	if b, ok := <-seen; ok {
		t.Errorf("a lock that says %q", b)
	}
	names, err := os.ReadDir(w.Admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range names {
		if strings.HasPrefix(e.Name(), gitdir.IndexLock) {
			t.Errorf("%s is left", e.Name())
		}
	}
	if n := leases(t, repo); n != 0 {
		t.Errorf("%d leases are left", n)
	}
}

// TestIndexLockOfDeadOwner: the next sweep deletes a lock whose owner died, in checkouts of
// every kind, and so does the next process that wants the lock; the same for the temporary
// file of a lock. The lock of a move that was begun stays for the process that finishes the
// move.
func TestIndexLockOfDeadOwner(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	linked := addWorktree(t, r, repo, "wt")
	for name, w := range map[string]*Worktree{"Linked": linked, "Main": repo.Main(), "Isolated": addIsolated(t, r, repo, "iso")} {
		t.Run(name, func(t *testing.T) {
			abandoned(t, repo, w, worktree.SweptAfter)
			draft, begun := halfHeld(t, w), halfHeld(t, w)
			if err := os.Truncate(begun, 0); err != nil {
				t.Fatal(err)
			}
			next := filepath.Join(filepath.Dir(lockOf(w)), writers.NextIndex)
			gittest.WriteFile(t, next, "half an index")
			sweep(t, repo)
			if exists(lockOf(w)) || exists(draft) || exists(begun) || exists(next) || leases(t, repo) != 0 {
				t.Errorf("the lock is there: %v, drafts: %v, %v, the next index: %v, and %d leases", exists(lockOf(w)), exists(draft), exists(begun), exists(next), leases(t, repo))
			}
			living := hold(t, w, worktree.SweptAfter)
			halfHeld(t, w)
			gittest.WriteFile(t, next, "of somebody who is alive")
			sweep(t, repo)
			if !exists(next) {
				t.Error("the next index of somebody who is alive went")
			}
			living.Release()
			_ = os.Remove(next)
			abandoned(t, repo, w, worktree.SweptAfter)
			hold(t, w, worktree.SweptAfter).Release()
			abandoned(t, repo, w, worktree.KeptAfter)
			sweep(t, repo)
			if !exists(lockOf(w)) {
				t.Fatal("the lock of a move that was begun went")
			}
			hold(t, w, worktree.KeptAfter).Release()
			if exists(lockOf(w)) || leases(t, repo) != 0 {
				t.Errorf("the lock is there: %v, and %d leases", exists(lockOf(w)), leases(t, repo))
			}
			abandoned(t, repo, w, worktree.KeptAfter)
			if err := repo.SweepKept(t.Context()); err != nil || exists(lockOf(w)) {
				t.Errorf("the lock is there: %v, %v", exists(lockOf(w)), err)
			}
		})
	}
}

// halfHeld leaves the files of a Croft process that died before its lock had its name.
func halfHeld(t *testing.T, w *Worktree) (draft string) {
	t.Helper()
	admin, err := w.OpenAdmin()
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	h, err := w.Repo.NewHold(w.Admin, admin, worktree.SweptAfter)
	if err != nil {
		t.Fatal(err)
	}
	draft = filepath.Join(w.Admin, h.DraftName())
	_ = h.Lease.Lock.Unlock()
	return draft
}

// TestIndexLockOfLiveOwner: a lock whose owner is alive, or is unknown, is neither swept
// nor taken over.
func TestIndexLockOfLiveOwner(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	for _, after := range []worktree.Aftermath{worktree.SweptAfter, worktree.KeptAfter} {
		first := hold(t, w, after)
		sweep(t, repo)
		got := make(chan error, 1)
		released := make(chan bool)
		go func() {
			admin, err := w.OpenAdmin()
			if err == nil {
				defer admin.Close()
				var h *worktree.IndexHold
				h, err = repo.HoldIndex(t.Context(), w.Admin, admin, after)
				select {
				case <-released:
				default:
					err = errors.Join(err, errors.New("it was taken over"))
				}
				h.Release()
			}
			got <- err
		}()
		time.Sleep(200 * time.Millisecond)
		close(released)
		first.Release()
		if err := <-got; err != nil {
			t.Errorf("%v, want the lock once its owner let go", err)
		}
	}
	for name, text := range map[string]string{"git's": "DIRC", "empty": "", "another state's": writers.LockText + "abcdefghijklmnop\n", "an older one's": writers.LockText} {
		gittest.WriteFile(t, lockOf(w), text)
		sweep(t, repo)
		admin, err := w.OpenAdmin()
		if err != nil {
			t.Fatal(err)
		}
		_, err = repo.HoldIndex(t.Context(), w.Admin, admin, worktree.KeptAfter)
		_ = admin.Close()
		if !errors.Is(err, worktree.ErrIndexLocked) || readFile(t, lockOf(w)) != text {
			t.Errorf("%s: %v", name, err)
		}
	}
	_ = os.Remove(lockOf(w))
}

// TestIndexLockIsRemovedThroughNoLink: a sweep follows no link to the lock of another
// repository.
func TestIndexLockIsRemovedThroughNoLink(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	h := hold(t, w, worktree.SweptAfter)
	text := h.Text()
	if err := errors.Join(h.Lease.Lock.Unlock(), os.Rename(w.Admin, w.Admin+".aside")); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	gittest.WriteFile(t, filepath.Join(other, gitdir.IndexLock), text)
	if err := os.Symlink(other, w.Admin); err != nil {
		t.Skip(err)
	}
	sweep(t, repo)
	if !exists(filepath.Join(other, gitdir.IndexLock)) {
		t.Error("a file behind a link went")
	}
}

// TestIndexLockOfMovedRegistration: a process waited for the index lock of a registration
// that was moved to the trash meanwhile. It gets an error, and leaves no lock there.
func TestIndexLockOfMovedRegistration(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	admin, err := w.OpenAdmin()
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := os.Rename(w.Admin, w.Admin+".aside"); err != nil {
		t.Fatal(err)
	}
	if _, err := repo.HoldIndex(t.Context(), w.Admin, admin, worktree.SweptAfter); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that it is not there", err)
	}
	if exists(filepath.Join(w.Admin+".aside", gitdir.IndexLock)) {
		t.Error("the lock is left where the registration went")
	}
}
