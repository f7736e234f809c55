package pool

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/project"
)

// Wanted says what a new workspace needs.
type Wanted struct {
	Commit string
	Beside string // the directory in which its own will lie; it exists
}

// Taken is a spare that was taken out of the stock. [Taken.Done] has to be called, after its directory was moved away,
// or if it is not used.
type Taken struct {
	Ready checkout.Ready
	By    croft.MadeBy

	item *item
	lock *flock.Lock
}

// Done gives up a spare that was taken. What was not moved away is deleted with the next Refill.
func (t *Taken) Done() {
	if t.lock == nil {
		return
	}
	defer func() { t.lock = nil }()
	if fsx.IsThere(t.item.tree.Path) {
		_ = t.lock.Unlock()
		return
	}
	_ = errors.Join(t.item.ledger().Delete(t.item.id), os.RemoveAll(filepath.Dir(t.item.own(lockFile))), t.lock.Unlock())
}

// Take takes a spare out of the stock, with the files of a commit: one that is there, or a copy of the last one. If there
// is none that can be used it returns nil, and why.
func (p *Pool) Take(ctx context.Context, r *project.Project, want Wanted) (*Taken, string) {
	if r.Config.Pool.Size == 0 {
		return nil, "pool.size is 0"
	}
	stamp, err := r.Git.FileStamp(ctx)
	if why, ok := errors.AsType[gitcmd.UnsteadyError](err); ok {
		return nil, string(why)
	}
	s, serr := stockOf(r)
	if err := errors.Join(err, serr); err != nil {
		return nil, err.Error()
	}
	if !fsx.IsSameDevice(existing(s.at), want.Beside) {
		return nil, "it lies on another file system than the pool"
	}
	from, lock, isLast, why := s.choose(ctx, stamp, want.Commit)
	if why != "" {
		return nil, why
	}
	t := &Taken{item: from, lock: lock, By: croft.MadeFromPool}
	if isLast {
		t, err = s.copyOf(ctx, from, lock)
	}
	if err == nil && from.Commit != want.Commit {
		t.item.tree.Inherit = []*os.File{t.lock.ForChild()}
		if err = t.item.tree.MoveTo(ctx, from.Commit, want.Commit, s.workers()); err == nil {
			err = failpoint.Hit("pool.moved")
		}
		if err == nil {
			err = t.item.tree.CompareMoved(ctx)
		}
	}
	if err == nil {
		err = failpoint.Hit("pool.taken")
	}
	if err != nil {
		if t != nil {
			t.Done()
		}
		return nil, "a spare checkout could not be used: " + err.Error()
	}
	t.Ready = readyOf(t.item)
	return t, ""
}

func readyOf(i *item) checkout.Ready {
	return checkout.Ready{Path: i.tree.Path, Identity: i.tree.Identity, Index: i.tree.Index}
}

// choose takes a spare out of the stock, of the commit if there is one. If it is the last one it stays in the stock, and
// the lock on it is shared.
func (s *stock) choose(ctx context.Context, stamp, commit string) (i *item, lock *flock.Lock, isLast bool, why string) {
	l, err := s.lock(ctx)
	if err != nil {
		return nil, nil, false, err.Error()
	}
	defer func() { _ = l.Unlock() }()
	// One of the commit, and another one that stays: to know all of them would take the longer, the larger the stock is.
	list, err := s.wholeUntil(stamp, func(some []*item) bool {
		return len(some) > 1 && slices.ContainsFunc(some, func(i *item) bool { return i.Commit == commit })
	})
	if err != nil {
		return nil, nil, false, err.Error()
	}
	if i, lock := takeOf(list, commit); i != nil {
		return i, lock, false, ""
	}
	if list, err = s.whole(stamp); err != nil {
		return nil, nil, false, err.Error()
	}
	if i, lock := takeOf(list, commit); i != nil {
		return i, lock, false, ""
	}
	if i, lock := shareOf(list); i != nil {
		return i, lock, true, ""
	}
	if len(list) > 0 {
		return nil, nil, false, "the spare checkouts are being changed"
	}
	return nil, nil, false, "the pool is empty"
}

// takeOf takes one of several spares, of the commit if there is one. It leaves one.
func takeOf(list []*item, commit string) (*item, *flock.Lock) {
	slices.SortStableFunc(list, func(a, b *item) int { return distance(a, commit) - distance(b, commit) })
	for n, i := range list {
		if len(list)-n == 1 { // what is left is copied
			break
		}
		lock, err := flock.TryExisting(i.own(lockFile))
		if err != nil {
			continue
		}
		if err := os.Remove(i.own(wholeFile)); err == nil && i.isIntact() && failpoint.Hit("pool.claimed") == nil {
			return i, lock
		}
		_ = lock.Unlock() // Refill deletes it
	}
	return nil, nil
}

// shareOf returns one of several spares that can be copied, and a share of the lock on it.
func shareOf(list []*item) (*item, *flock.Lock) {
	for _, i := range slices.Backward(list) {
		lock, err := flock.TryShared(i.own(lockFile))
		if err != nil {
			continue
		}
		if fsx.IsThere(i.own(wholeFile)) && i.isIntact() {
			return i, lock
		}
		_ = os.Remove(i.own(wholeFile))
		_ = lock.Unlock()
	}
	return nil, nil
}

func distance(i *item, commit string) int {
	if i.Commit == commit {
		return 0
	}
	return 1
}

// isIntact reports whether the directory of a spare is the one that was made, and some of its files are as they were.
func (i *item) isIntact() bool {
	list, ok := i.samples()
	return ok && i.tree.Identity.IsAt(i.tree.Path) && fsx.IsThere(i.own(indexFile)) && i.tree.HasSamples(list)
}

// copyOf returns a copy of a spare, and unlocks that.
func (s *stock) copyOf(ctx context.Context, from *item, lock *flock.Lock) (*Taken, error) {
	defer func() { _ = lock.Unlock() }()
	i, held, err := s.newItem()
	if err != nil {
		return nil, err
	}
	t := &Taken{item: i, lock: held, By: croft.MadeByCopy}
	if err := from.tree.CopyTo(ctx, i.tree, s.workers()); err != nil {
		return t, err
	}
	return t, failpoint.Hit("pool.copied")
}

// existing returns the path if it exists, or else its nearest existing ancestor.
func existing(path string) string {
	for !fsx.IsThere(path) && filepath.Dir(path) != path {
		path = filepath.Dir(path)
	}
	return path
}
