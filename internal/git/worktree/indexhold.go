package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/writers"
)

// IndexHold is Croft's lock on the index of a checkout: a file index.lock, as git has it.
// The file is written under another name and gets this one by link(2), so it is complete
// from the start. It names a lease, which the kernel locks for as long as its owner lives:
// a process that finds the file can tell whether the owner is alive, and never takes over
// the lock of a live one.
type IndexHold struct {
	Dir   *fsx.Dir // the git directory; the caller closes it
	Lease *writers.Lease
}

// Aftermath says what happens to a lock whose owner dies.
type Aftermath byte

const (
	// SweptAfter: the next command removes it.
	SweptAfter Aftermath = writers.Held
	// KeptAfter: it stays until the fast-forward is completed, because the files of the
	// checkout are partly old and partly new.
	KeptAfter Aftermath = writers.Kept
)

// How long a lock on an index is waited for: one of git's, whose owner is not known, and
// one of a live Croft process.
const (
	indexWait = 2 * time.Second
	croftWait = 30 * time.Second
)

// ErrIndexLocked says that git, or a live Croft process, has locked an index.
var ErrIndexLocked = errors.New("another git is at work on the index")

// LockOwner returns the lease that a lock file of Croft's names.
func LockOwner(text []byte) (mark string, isCrofts bool) {
	rest, isCrofts := strings.CutPrefix(string(text), writers.LockText)
	mark = strings.TrimSuffix(rest, "\n")
	if strings.ContainsFunc(mark, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		mark = ""
	}
	return mark, isCrofts
}

// HoldIndex locks the index in a git directory, which the caller holds open. It fails with
// ErrIndexLocked if another process keeps it locked, and with os.ErrNotExist if the
// directory has been moved away. With KeptAfter it takes over the lock of an owner that
// died.
func (r *Repository) HoldIndex(ctx context.Context, gitDir string, dir *fsx.Dir, after Aftermath) (*IndexHold, error) {
	h, err := r.NewHold(gitDir, dir, after)
	if err != nil {
		return nil, err
	}
	if err := h.renameToLock(ctx, after); err != nil {
		h.Release()
		return nil, err
	}
	if now, err := fsx.IdentityOf(gitDir); err != nil || !h.isIn(now) {
		h.Release()
		return nil, &os.PathError{Op: "lock", Path: gitDir, Err: os.ErrNotExist}
	}
	return h, nil
}

// NewHold makes the lease, and the lock file under its temporary name.
func (r *Repository) NewHold(gitDir string, dir *fsx.Dir, after Aftermath) (*IndexHold, error) {
	m, err := r.NewLease()
	if err != nil {
		return nil, err
	}
	h := &IndexHold{dir, m}
	err = m.Write(byte(after), []string{r.LockName(filepath.Join(gitDir, gitdir.IndexLock)), r.LockName(filepath.Join(gitDir, h.DraftName()))})
	if err == nil {
		err = failpoint.Hit("index.marked")
	}
	if err == nil {
		err = h.writeDraft()
	}
	if err == nil {
		err = failpoint.Hit("index.drafted")
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

// DraftName is the temporary name of the lock file.
func (h *IndexHold) DraftName() string { return writers.IndexLockDraft + h.Lease.Name() }

// Text is the content of the lock file.
func (h *IndexHold) Text() string { return writers.LockText + h.Lease.Name() + "\n" }

func (h *IndexHold) writeDraft() error {
	f, err := h.Dir.Create(h.DraftName(), 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(h.Text())
	return errors.Join(err, f.Close())
}

func (h *IndexHold) isIn(dir fsx.Identity) bool {
	held, err := h.Dir.Identity()
	return err == nil && held == dir
}

// renameToLock links the lock file to its final name, once there is none of another
// process.
func (h *IndexHold) renameToLock(ctx context.Context, after Aftermath) error {
	begun := time.Now()
	for {
		err := h.Dir.LinkNew(h.DraftName(), gitdir.IndexLock)
		if err == nil {
			err = failpoint.Hit("index.linked")
			_ = h.Dir.Remove(h.DraftName())
			return errors.Join(err, failpoint.Hit("index.held"))
		}
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		patience := indexWait
		switch owner, life := h.findOwner(); {
		case life == ownerAlive:
			patience = croftWait
		case life == ownerDead && after == KeptAfter:
			if h.adoptDeadLock(owner) {
				return nil
			}
		case life == ownerDead:
			if err := h.Lease.Repo.Sweep(ctx); err != nil {
				return err
			}
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("%s: %w", filepath.Join(h.Dir.Path(), gitdir.IndexLock), ErrIndexLocked)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ownerLife says whether the owner of a lock is alive.
type ownerLife string

const (
	ownerAlive   ownerLife = "alive"
	ownerDead    ownerLife = "dead"
	ownerUnknown ownerLife = "unknown" // not a Croft process of this state
)

// findOwner returns the owner of the lock on the index.
func (h *IndexHold) findOwner() (mark string, life ownerLife) {
	b, err := h.Dir.ReadFile(gitdir.IndexLock, fsx.MaxSmall)
	if err != nil {
		return "", ownerUnknown
	}
	mark, ours := LockOwner(b)
	if !ours || mark == "" {
		return "", ownerUnknown
	}
	l, err := flock.TryExisting(filepath.Join(h.Lease.Repo.LeasesDir(), mark))
	switch {
	case err == nil:
		_ = l.Unlock()
		return mark, ownerDead
	case errors.Is(err, flock.ErrHeld):
		return mark, ownerAlive
	}
	return mark, ownerUnknown
}

// adoptDeadLock takes over the lock of an owner that died, by its lease.
func (h *IndexHold) adoptDeadLock(owner string) bool {
	l, err := flock.TryExisting(filepath.Join(h.Lease.Repo.LeasesDir(), owner))
	if err != nil {
		return false
	}
	adopted := &IndexHold{h.Dir, &writers.Lease{Repo: h.Lease.Repo, Lock: l}}
	if !adopted.isThere() {
		_ = l.Unlock()
		return false
	}
	h.Release()
	h.Lease = adopted.Lease
	return true
}

// isThere reports whether the lock on the index is this one.
func (h *IndexHold) isThere() bool {
	b, err := h.Dir.ReadFile(gitdir.IndexLock, fsx.MaxSmall)
	return err == nil && string(b) == h.Text()
}

// Release unlocks the index. A lock file that cannot be removed is left to the next sweep.
func (h *IndexHold) Release() {
	if h == nil || h.Lease == nil {
		return
	}
	_ = h.Dir.Remove(h.DraftName())
	if h.isThere() {
		_ = h.Dir.Remove(gitdir.IndexLock)
	}
	if !h.isThere() && !h.Dir.Has(h.DraftName()) {
		_ = os.Remove(h.Lease.Lock.File().Name())
	}
	_ = h.Lease.Lock.Unlock()
	h.Lease = nil
}

// Inherit adds the lease to the files that a process inherits, so that the lock counts as
// held for as long as the process lives.
func (h *IndexHold) Inherit(files []*os.File) []*os.File {
	if h == nil || h.Lease == nil {
		return files
	}
	return append(slices.Clip(files), h.Lease.Lock.ForChild())
}

// HoldToMove locks the index of a checkout that is going to be moved away. It waits for a
// live Croft process, but not for long for a lock of git's: an agent that was killed
// leaves one.
func (w *Worktree) HoldToMove(ctx context.Context) (release func(), err error) {
	admin, err := w.OpenAdmin()
	if err != nil {
		return func() {}, nil // there is no admin directory to lock
	}
	h, err := w.Repo.HoldIndex(ctx, w.Admin, admin, SweptAfter)
	if errors.Is(err, ErrIndexLocked) {
		if _, life := (&IndexHold{admin, &writers.Lease{Repo: w.Repo.Repository.Repository.Repository.Repository.Repository}}).findOwner(); life != ownerAlive {
			err = nil
		}
	}
	if err != nil {
		_ = admin.Close()
		return nil, err
	}
	return func() { h.Release(); _ = admin.Close() }, nil
}

// DeleteOwnLock removes a lock of Croft's from an admin directory in the trash, where no
// Croft process works on it.
func DeleteOwnLock(admin *fsx.Dir) {
	if b, err := admin.ReadFile(gitdir.IndexLock, fsx.MaxSmall); err == nil {
		if _, isCrofts := LockOwner(b); isCrofts {
			_ = admin.Remove(gitdir.IndexLock)
		}
	}
}

// SweepKept removes the index locks that dead processes left with KeptAfter. The caller
// knows that nothing is left to complete.
func (r *Repository) SweepKept(ctx context.Context) error {
	return r.EachDeadLease(ctx, func(dead writers.Dead) bool {
		return dead.IsKept && r.DeleteIndexLocks(dead)
	})
}
