package pool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/base"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/spare"
	"github.com/croft-sh/croft/internal/layout"
	"github.com/croft-sh/croft/internal/proc"
	"github.com/croft-sh/croft/internal/project"
)

// Show describes the pool of a project.
func (p *Pool) Show(ctx context.Context, l project.Location, _ croft.PoolRequest) (*croft.Pool, error) {
	s, err := stockOf(l.Project)
	if err != nil {
		return nil, err
	}
	return s.describe(ctx)
}

// Change fills the pool of a project, or empties it.
func (p *Pool) Change(ctx context.Context, l project.Location, req croft.ChangePoolRequest) (*croft.Pool, error) {
	s, err := stockOf(l.Project)
	if err != nil {
		return nil, err
	}
	switch req.Do {
	case croft.PoolFill, croft.PoolTopUp:
		err = p.fill(ctx, l, s, req.Do)
	case croft.PoolEmpty:
		err = s.empty(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.describe(ctx)
}

func (s *stock) describe(ctx context.Context) (*croft.Pool, error) {
	out := &croft.Pool{Size: s.r.Config.Pool.Size, Path: s.at, Spares: []croft.Spare{}}
	if out.Size == 0 {
		out.Why = "pool.size is 0"
	}
	stamp, err := s.r.Git.FileStamp(ctx)
	if why, ok := errors.AsType[gitcmd.UnsteadyError](err); ok {
		out.Why = string(why)
	} else if err != nil {
		return nil, err
	}
	if l, err := flock.TryExisting(filepath.Join(s.dir, fillingFile)); err == nil {
		_ = l.Unlock()
	} else {
		out.Busy = errors.Is(err, flock.ErrHeld)
	}
	list, err := s.whole(stamp)
	if err != nil {
		return nil, err
	}
	for _, i := range list {
		out.Spares = append(out.Spares, croft.Spare{Commit: i.Commit, Files: i.Files, Bytes: i.Bytes})
	}
	if out.Copies, err = copiesOf(s).list(); err != nil {
		return nil, err
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, whyFile)); err == nil && out.Why == "" {
		out.Why = string(text)
	}
	return out, nil
}

// whyFile has the reason for which the last Refill stopped before the pool was full.
const whyFile = "why"

// fillingFile is locked by the process that fills the pool.
const fillingFile = "filling"

// fill deletes what dead processes have left, brings the spares to the commit that new workspaces start from, and makes
// those that are missing. Only one process does so at a time.
func (p *Pool) fill(ctx context.Context, l project.Location, s *stock, how croft.PoolAct) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	filling, err := flock.Try(filepath.Join(s.dir, fillingFile))
	if errors.Is(err, flock.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = filling.Unlock() }()
	if s.r.Config.Pool.Size == 0 {
		return errors.Join(s.sweep(""), copiesOf(s).sweep(""))
	}
	commit, err := startOf(ctx, l)
	if err != nil {
		return err
	}
	why, err := s.fillCheckouts(ctx, commit, how)
	if err != nil {
		return err
	}
	whyCopies, err := p.fillCopies(ctx, l, s, commit, how)
	if err != nil {
		return err
	}
	return fsx.ReplaceFile(filepath.Join(s.dir, whyFile), []byte(cmp.Or(why, whyCopies)), 0o600)
}

// fillCheckouts sweeps and fills the part of the pool that has checkouts. It says why it stopped before that was full.
func (s *stock) fillCheckouts(ctx context.Context, commit string, how croft.PoolAct) (why string, err error) {
	stamp, err := s.r.Git.FileStamp(ctx)
	if _, unsteady := errors.AsType[gitcmd.UnsteadyError](err); unsteady {
		return "", s.sweep("")
	}
	if err == nil {
		err = s.sweep(stamp)
	}
	if err != nil {
		return "", err
	}
	return s.fillTo(ctx, stamp, commit, how)
}

// together is how many spares are written before the first of them is finished: that waits for the next second.
const together = 8

// fillTo brings spares to a commit and makes others, as long as it may. It says why it stopped before the pool was full.
func (s *stock) fillTo(ctx context.Context, stamp, commit string, how croft.PoolAct) (why string, err error) {
	var open []*unfinished
	for why == "" && err == nil {
		if why = s.limit(stamp, len(open)); why != "" {
			break
		}
		if how == croft.PoolTopUp && proc.IsBusy() {
			why = "the machine is busy"
			break
		}
		var next *unfinished
		next, err = s.begin(ctx, stamp, commit, len(open))
		if next == nil {
			break
		}
		if open = append(open, next); next.isFirst || len(open) == together {
			err = errors.Join(err, s.finishAll(ctx, open))
			open = nil
		}
	}
	err = errors.Join(err, s.finishAll(ctx, open))
	if errors.Is(err, spare.ErrDiffers) {
		return "any fresh checkout differs from its commit: " + err.Error(), nil
	}
	return why, err
}

// startOf returns the commit that a new workspace of the project would start from.
func startOf(ctx context.Context, l project.Location) (string, error) {
	at, err := layout.Preset(l.Config.Layout)
	if err != nil {
		return "", err
	}
	l.Place.GitDir, l.Place.WorkDir = l.CommonDir, l.Path // also if it was asked for from a workspace
	start, err := base.StartFor(ctx, l, at, croft.CreateRequest{})
	return start.OID, err
}

// sweep deletes the spares that no living process holds and that are not whole, or were written otherwise than git would
// now.
func (s *stock) sweep(stamp string) error {
	ids, err := s.ids()
	if err != nil {
		return err
	}
	good, err := s.whole(stamp)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if slices.ContainsFunc(good, func(i *item) bool { return i.id == id && s.holds(i) }) {
			continue
		}
		i := s.item(id)
		lock, err := flock.TryExisting(i.own(lockFile))
		if errors.Is(err, flock.ErrHeld) {
			continue
		}
		if errors.Is(err, os.ErrNotExist) {
			if i.isOld() { // its maker died before it had a lock
				errs = append(errs, i.remove())
			}
			continue
		}
		errs = append(errs, err)
		if err == nil {
			errs = append(errs, i.remove(), lock.Unlock())
		}
	}
	return errors.Join(errs...)
}

// isOld reports whether a spare was begun so long ago that its maker would have a lock by now.
func (i *item) isOld() bool {
	info, err := os.Stat(filepath.Dir(i.own(lockFile)))
	return err == nil && time.Since(info.ModTime()) > time.Minute
}

// Empty deletes the pool of a project. It returns where it was, if it was there.
func (p *Pool) Empty(ctx context.Context, r *project.Project) (at string, err error) {
	s, err := stockOf(r)
	if err != nil || !fsx.IsThere(s.at) && !fsx.IsThere(s.dir) {
		return "", err
	}
	return s.at, s.empty(ctx)
}

// At returns where the pool of a project is, if it is there.
func (p *Pool) At(r *project.Project) string {
	s, err := stockOf(r)
	if err != nil || !fsx.IsThere(s.at) {
		return ""
	}
	return s.at
}

// empty deletes all spares that nobody uses, and the directory in which they were.
func (s *stock) empty(ctx context.Context) error {
	l, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = l.Unlock() }()
	if err := errors.Join(s.sweep(""), copiesOf(s).sweep("")); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(s.dir, whyFile))
	project.RemoveEmpty(s.at)
	project.RemoveEmpty(filepath.Dir(s.at))
	return nil
}

// limit says why no further spare may be made beside those that are whole or unfinished, or returns nothing.
func (s *stock) limit(stamp string, unfinished int) string {
	list, err := s.whole(stamp)
	if err != nil {
		return err.Error()
	}
	cfg := s.r.Config.Pool
	files, bytes := int64(index.Count(s.r.CommonDir)), int64(0)
	for _, i := range list {
		files, bytes = i.Files, i.Bytes
	}
	n := int64(len(list) + unfinished + 1)
	if n > int64(cfg.Size) {
		return ""
	}
	if cfg.MaxInodes > 0 && n*files > cfg.MaxInodes {
		return fmt.Sprintf("%d checkouts of %d files would be over pool.max_inodes", n, files)
	}
	if cfg.MaxBytes > 0 && n*bytes > cfg.MaxBytes {
		return fmt.Sprintf("%d checkouts of %d bytes would be over pool.max_bytes", n, bytes)
	}
	freeBytes, freeFiles, err := fsx.FreeSpace(existing(s.at))
	if err == nil && (freeBytes < reserve*bytes+s.r.Config.Limits.MinFreeBytes || freeFiles < reserve*files+s.r.Config.Limits.MinFreeInodes) {
		return "the disk has not much room left"
	}
	return ""
}

// reserve is how many checkouts have to have room after another spare was made.
const reserve = 10

// unfinished is a spare whose files are written, and which is not marked as whole yet.
type unfinished struct {
	*item
	lock          *flock.Lock
	stamp, commit string
	written       time.Time
	isFirst       bool // of the commit, so that others can be copied from it
}

// begin brings one spare to a commit, or makes one. It returns nil if there is nothing left to do.
func (s *stock) begin(ctx context.Context, stamp, commit string, others int) (*unfinished, error) {
	list, err := s.whole(stamp)
	if err != nil {
		return nil, err
	}
	u := &unfinished{stamp: stamp, commit: commit}
	u.isFirst = !slices.ContainsFunc(list, func(i *item) bool { return i.Commit == commit })
	for _, i := range list {
		if i.Commit == commit {
			continue
		}
		if u.lock, err = flock.TryExisting(i.own(lockFile)); err != nil {
			continue
		}
		isThere := false
		u.item = i
		if isThere, err = s.bring(ctx, i, u.lock, commit); isThere && err == nil {
			u.written = time.Now()
			return u, nil
		}
		if err = errors.Join(err, u.lock.Unlock()); err != nil {
			return nil, err
		}
	}
	if len(list)+others >= s.r.Config.Pool.Size {
		return nil, nil
	}
	if u.item, u.lock, err = s.newItem(); err != nil {
		return nil, err
	}
	if err = s.write(ctx, u.item, list, commit); err != nil {
		return nil, errors.Join(err, u.remove(), u.lock.Unlock())
	}
	u.written = time.Now()
	return u, nil
}

// finishAll finishes spares. Those that differ from their commit are deleted.
func (s *stock) finishAll(ctx context.Context, list []*unfinished) error {
	var errs []error
	for _, u := range list {
		errs = append(errs, u.finish(ctx), u.lock.Unlock())
	}
	return errors.Join(errs...)
}

// bring brings a spare, which the caller holds, to another commit. It reports false if the spare was handed out, or had
// to be deleted.
func (s *stock) bring(ctx context.Context, i *item, lock *flock.Lock, commit string) (isThere bool, err error) {
	switch err := os.Remove(i.own(wholeFile)); {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	i.tree.Inherit = []*os.File{lock.ForChild()}
	err = i.tree.MoveTo(ctx, i.Commit, commit, s.workers())
	if errors.Is(err, spare.ErrAttributes) {
		return false, i.remove()
	}
	if err != nil {
		return false, errors.Join(err, i.remove())
	}
	return true, nil
}

// write writes the files of a new spare: as a copy of one of the same commit, or by git.
func (s *stock) write(ctx context.Context, i *item, others []*item, commit string) error {
	for _, o := range others {
		if o.Commit != commit {
			continue
		}
		lock, err := flock.TryShared(o.own(lockFile))
		if err != nil {
			continue
		}
		err = o.tree.CopyTo(ctx, i.tree, s.workers())
		_ = lock.Unlock()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errors.ErrUnsupported) || errors.Is(err, index.ErrUnreadable): // nothing was written
		case errors.Is(err, spare.ErrDiffers): // it was damaged
			return errors.Join(fmt.Errorf("%s: %w", o.tree.Path, fsx.ErrOther), os.Remove(o.own(wholeFile)))
		default:
			return err
		}
	}
	return i.tree.Fill(ctx, commit, s.workers())
}

// finish compares the files with the commit, and marks the spare as whole.
func (u *unfinished) finish(ctx context.Context) error {
	if err := failpoint.Hit("pool.written"); err != nil {
		return err
	}
	if err := u.tree.Settle(ctx, u.written); err != nil {
		return errors.Join(err, u.remove())
	}
	if err := failpoint.Hit("pool.settled"); err != nil {
		return err
	}
	f := facts{Commit: u.commit, Stamp: u.stamp, User: proc.Writer(), Boot: proc.Here().Boot}
	var samples []spare.Sample
	var err error
	if samples, f.Files, f.Bytes, err = u.tree.Samples(); err != nil {
		return errors.Join(err, u.remove())
	}
	// All gits have returned. Otherwise a process that another goroutine starts now would hold the lock for a moment
	// longer, and who wants the spare would believe that it is being changed.
	u.lock.ChildrenEnded()
	text, err := json.Marshal(samples)
	if err != nil {
		return err
	}
	return u.setWhole(f, samplesFile, text)
}
