package git

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
)

// Croft locks the index of a checkout as git does, by a file index.lock. That
// file is written under another name and gets its own by link(2), so that it is
// whole from its first moment. It names a mark, which is locked by the kernel for
// as long as its owner lives: whoever finds the file can tell whether the owner is
// alive, and a lock of somebody who is alive is never taken over.

// indexHold is such a lock.
type indexHold struct {
	dir  *fsx.Dir // the git directory; whoever opened it closes it
	mark *mark
}

// aftermath says what becomes of a lock whose owner dies.
type aftermath byte

const (
	// sweptAfter: the next command removes it.
	sweptAfter aftermath = markHeld
	// keptAfter: it stays until what was begun is finished, because the checkout is
	// half of what it was and half of what it becomes.
	keptAfter aftermath = markKept
)

// lockText begins a lock file of Croft's on an index. The name of its mark follows.
const lockText = "croft holds this index for a moment; safe to delete when no croft is running\n"

// indexLock is the file under which git changes an index.
const indexLock = "index.lock"

// nextIndex is the file that becomes the index. Whoever writes it holds the lock.
const nextIndex = "index.croft"

// IndexLockDraft begins the first name of a lock file of Croft's.
const IndexLockDraft = indexLock + "."

// How long a lock on an index is waited for: one of git's, of which nobody knows
// whether its owner is alive, and one of a Croft that is.
const (
	indexWait = 2 * time.Second
	croftWait = 30 * time.Second
)

// ErrIndexLocked says that a lock of git's, or of a Croft that is alive, lies on
// an index.
var ErrIndexLocked = errors.New("another git is at work on the index")

// lockOwner returns the mark that a lock file of Croft's names.
func lockOwner(text []byte) (mark string, isCrofts bool) {
	rest, isCrofts := strings.CutPrefix(string(text), lockText)
	mark = strings.TrimSuffix(rest, "\n")
	if strings.ContainsFunc(mark, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		mark = ""
	}
	return mark, isCrofts
}

// holdIndex locks the index in a git directory, which the caller holds open. It
// fails with ErrIndexLocked if somebody else keeps it locked, and with
// os.ErrNotExist if the directory has been moved away meanwhile. With keptAfter
// the lock of an owner that died is taken over as it lies.
func (r *Repository) holdIndex(ctx context.Context, gitDir string, dir *fsx.Dir, after aftermath) (*indexHold, error) {
	h, err := r.newHold(gitDir, dir, after)
	if err != nil {
		return nil, err
	}
	if err := h.renameToLock(ctx, after); err != nil {
		h.release()
		return nil, err
	}
	if now, err := fsx.IdentityOf(gitDir); err != nil || !h.isIn(now) {
		h.release()
		return nil, &os.PathError{Op: "lock", Path: gitDir, Err: os.ErrNotExist}
	}
	return h, nil
}

// newHold makes the mark, and the lock file under its first name.
func (r *Repository) newHold(gitDir string, dir *fsx.Dir, after aftermath) (*indexHold, error) {
	m, err := r.mark()
	if err != nil {
		return nil, err
	}
	h := &indexHold{dir, m}
	err = m.write(byte(after), []string{r.lockName(filepath.Join(gitDir, indexLock)), r.lockName(filepath.Join(gitDir, h.draftName()))})
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
		h.release()
		return nil, err
	}
	return h, nil
}

// draftName is the first name of the lock file.
func (h *indexHold) draftName() string { return IndexLockDraft + h.mark.name() }

func (h *indexHold) text() string { return lockText + h.mark.name() + "\n" }

func (h *indexHold) writeDraft() error {
	f, err := h.dir.Create(h.draftName(), 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(h.text())
	return errors.Join(err, f.Close())
}

func (h *indexHold) isIn(dir fsx.Identity) bool {
	held, err := h.dir.Identity()
	return err == nil && held == dir
}

// renameToLock gives the lock file its name, once nobody else has one there.
func (h *indexHold) renameToLock(ctx context.Context, after aftermath) error {
	begun := time.Now()
	for {
		err := h.dir.LinkNew(h.draftName(), indexLock)
		if err == nil {
			err = failpoint.Hit("index.linked")
			_ = h.dir.Remove(h.draftName())
			return errors.Join(err, failpoint.Hit("index.held"))
		}
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		patience := indexWait
		switch owner, life := h.findOwner(); {
		case life == ownerAlive:
			patience = croftWait
		case life == ownerDead && after == keptAfter:
			if h.adoptDeadLock(owner) {
				return nil
			}
		case life == ownerDead:
			if err := h.mark.repo.Sweep(ctx); err != nil {
				return err
			}
		}
		if time.Since(begun) > patience {
			return fmt.Errorf("%s: %w", filepath.Join(h.dir.Path(), indexLock), ErrIndexLocked)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ownerLife is what is known of the owner of a lock.
type ownerLife string

const (
	ownerAlive   ownerLife = "alive"
	ownerDead    ownerLife = "dead"
	ownerUnknown ownerLife = "unknown" // not a Croft of this state
)

// findOwner looks whose the lock on the index is.
func (h *indexHold) findOwner() (mark string, life ownerLife) {
	b, err := h.dir.ReadFile(indexLock, fsx.MaxSmall)
	if err != nil {
		return "", ownerUnknown
	}
	mark, ours := lockOwner(b)
	if !ours || mark == "" {
		return "", ownerUnknown
	}
	l, err := flock.TryThere(filepath.Join(h.mark.repo.marksDir(), mark))
	switch {
	case err == nil:
		_ = l.Unlock()
		return mark, ownerDead
	case errors.Is(err, flock.ErrHeld):
		return mark, ownerAlive
	}
	return mark, ownerUnknown
}

// adoptDeadLock makes the lock of an owner that died one's own, by its mark.
func (h *indexHold) adoptDeadLock(owner string) bool {
	l, err := flock.TryThere(filepath.Join(h.mark.repo.marksDir(), owner))
	if err != nil {
		return false
	}
	adopted := &indexHold{h.dir, &mark{h.mark.repo, l}}
	if !adopted.isThere() {
		_ = l.Unlock()
		return false
	}
	h.release()
	h.mark = adopted.mark
	return true
}

// isThere reports whether the lock on the index is this one.
func (h *indexHold) isThere() bool {
	b, err := h.dir.ReadFile(indexLock, fsx.MaxSmall)
	return err == nil && string(b) == h.text()
}

// release lets go of the index. A lock that cannot be removed is left to whoever
// sweeps next.
func (h *indexHold) release() {
	if h == nil || h.mark == nil {
		return
	}
	_ = h.dir.Remove(h.draftName())
	if h.isThere() {
		_ = h.dir.Remove(indexLock)
	}
	if !h.isThere() && !h.dir.Has(h.draftName()) {
		_ = os.Remove(h.mark.lock.File().Name())
	}
	_ = h.mark.lock.Unlock()
	h.mark = nil
}

// inherit adds the mark to what a process keeps open, so that the lock counts as
// held for as long as that process lives.
func (h *indexHold) inherit(files []*os.File) []*os.File {
	if h == nil || h.mark == nil {
		return files
	}
	return append(slices.Clip(files), h.mark.lock.File())
}

// ChangeHeld is [Worktree.Change] by an act that holds the checkout's index from
// its beginning to its end: neither a git of the agent's nor another Croft changes
// it meanwhile. It fails with ErrIndexLocked, before anything is done, if somebody
// else keeps it locked. The act runs no git that locks the index itself.
func (w *Worktree) ChangeHeld(ctx context.Context, act func(*Worktree) error) error {
	return w.Change(ctx, func(w *Worktree) error {
		admin, err := w.OpenAdmin()
		if err != nil {
			return err
		}
		defer admin.Close()
		h, err := w.Repo.holdIndex(ctx, w.Admin, admin, sweptAfter)
		if err != nil {
			return err
		}
		defer h.release()
		held := *w
		held.index, held.Inherit = h, h.inherit(w.Inherit)
		return act(&held)
	})
}

// HoldToMove holds the index of a checkout that is going to be taken away. A Croft
// that is at work on it is waited for. A lock of git's that stays does not stop it:
// an agent that was killed leaves one.
func (w *Worktree) HoldToMove(ctx context.Context) (release func(), err error) {
	admin, err := w.OpenAdmin()
	if err != nil {
		return func() {}, nil // there is no registration to be held
	}
	h, err := w.Repo.holdIndex(ctx, w.Admin, admin, sweptAfter)
	if errors.Is(err, ErrIndexLocked) {
		if _, life := (&indexHold{admin, &mark{repo: w.Repo}}).findOwner(); life != ownerAlive {
			err = nil
		}
	}
	if err != nil {
		_ = admin.Close()
		return nil, err
	}
	return func() { h.release(); _ = admin.Close() }, nil
}

// dropOwnLock removes a lock of Croft's from a registration that no Croft is at
// work on, because it lies in the trash.
func dropOwnLock(admin *fsx.Dir) {
	if b, err := admin.ReadFile(indexLock, fsx.MaxSmall); err == nil {
		if _, isCrofts := lockOwner(b); isCrofts {
			_ = admin.Remove(indexLock)
		}
	}
}

// dropHolds removes the lock files on indexes that a dead mark names, as far as
// they name the mark in turn, and reports whether none of those is left.
func (r *Repository) dropHolds(dead remains) (gone bool) {
	gone = true
	for _, lock := range dead.locks {
		file, ok := r.lockAt(lock)
		if !ok {
			continue
		}
		dir, err := r.openDir(filepath.Dir(file))
		if err != nil {
			continue
		}
		name := filepath.Base(file)
		b, err := dir.ReadFile(name, fsx.MaxSmall)
		isHeld := err == nil && string(b) == lockText+dead.mark+"\n"
		if isHeld && name == indexLock {
			_ = dir.Remove(nextIndex) // nobody else writes one before the lock is gone
		}
		if isHeld || err == nil && name == IndexLockDraft+dead.mark {
			gone = dir.Remove(name) == nil && gone
		}
		_ = dir.Close()
	}
	return gone
}

// SweepKept removes the locks on indexes that were left to whoever finishes what
// was begun. The caller knows that nothing is left to finish.
func (r *Repository) SweepKept(ctx context.Context) error {
	return r.eachDeadMark(ctx, func(dead remains) bool {
		return dead.isKept && r.dropHolds(dead)
	})
}
