package trash

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/progress"
	"github.com/croft-sh/croft/internal/project"
)

// trashItem is a removed workspace during one run of Tidy.
type trashItem struct {
	survey
	rec        journal.Record
	integrated func() bool // computed once, when it is needed
	wasThere   bool        // the directory was there when the run began
	hasFailed  bool        // a step failed: the item is kept as it is
	freed      amount      // so far
}

// isFinished reports whether purging the item loses nothing: all its commits are in the
// target, and it had no uncommitted work.
func (it *trashItem) isFinished() bool { return it.IsJudged && !it.IsDirty && it.integrated() }

func (it *trashItem) hasDir() bool { return it.rec.Trash.Dir != "" }

// plan changes what this process has of a record, and nothing that others see.
func (it *trashItem) plan(change func(*journal.Trash)) {
	trash := *it.rec.Trash
	change(&trash)
	it.rec.Trash = &trash
}

// tidying is one run of Tidy, or of Plan.
type tidying struct {
	*Trash
	r     *project.Project
	res   *croft.GCResult
	now   time.Time
	meter *progress.Meter
	does  croft.DryRun
	items []*trashItem // the first removed first
	errs  []error
}

// isPlan reports that nothing may be changed.
func (t *tidying) isPlan() bool { return t.does == croft.DryRunOn }

// Tidy deletes from the trash of a repository what has expired or exceeds the budget, and
// directories that can be made again once regenerable_after is over. It announces the
// deletion of unmerged work before, and finishes deletions that were begun. A workspace
// that fails stops no other. A lock lets one process at a time do it. meter counts what was
// deleted.
func (svc *Trash) Tidy(ctx context.Context, r *project.Project, res *croft.GCResult, now time.Time, meter *progress.Meter) error {
	l, err := flock.Acquire(ctx, filepath.Join(r.Dir, "gc-lock"))
	if err != nil {
		return err
	}
	defer func() { _ = l.Unlock() }()
	all, err := svc.Journal.Records(ctx, r.ID)
	if err != nil {
		return err
	}
	t := &tidying{Trash: svc, r: r, res: res, now: now, meter: meter}
	t.addFailure("", finishDeletions(ctx, r, nil)) // empty trash directories stay: IsTrashGone goes by them
	t.addFailure("", r.Git.SweepTrashedGits())
	if err := t.surveyAll(ctx); err != nil {
		return errors.Join(append(t.errs, err)...)
	}
	if once.HasKey(ctx) { // the first call may have been made a while ago
		t.items = slices.DeleteFunc(t.items, func(it *trashItem) bool { return it.rec.Trash.RemovedAt.After(now) })
	}
	if err := t.decide(ctx); err != nil {
		return err
	}
	t.addFailure("", finishDeletions(ctx, r, TrashDirs(r, all))) // and the empty directories
	return errors.Join(t.errs...)
}

// Plan adds to a result what Tidy would do now, and changes nothing.
func (svc *Trash) Plan(ctx context.Context, r *project.Project, res *croft.GCResult, now time.Time) error {
	t := &tidying{Trash: svc, r: r, res: res, now: now, does: croft.DryRunOn}
	if err := t.surveyAll(ctx); err != nil {
		return errors.Join(append(t.errs, err)...)
	}
	return errors.Join(append(t.errs, t.decide(ctx))...)
}

// decide does with each item what its time and the budget want, and counts what that freed.
func (t *tidying) decide(ctx context.Context) error {
	for _, it := range t.items {
		if !t.now.Before(it.rec.Trash.RemovedAt.Add(time.Duration(t.r.Config.Trash.RegenerableAfter))) {
			t.stripItem(ctx, it)
		}
	}
	t.expireItems(ctx)
	t.shrinkToBudget(ctx)
	if ctx.Err() != nil {
		return errors.Join(append(t.errs, ctx.Err())...)
	}
	for _, it := range t.items {
		t.res.Bytes, t.res.Inodes = t.res.Bytes+it.freed.Bytes, t.res.Inodes+it.freed.Inodes
	}
	return nil
}

// addFailure adds err, prefixed with name, to the errors of this run, unless it is nil or
// errMoved: an item that another process changed meanwhile is left to the next run. It
// reports whether err is not nil.
func (t *tidying) addFailure(name string, err error) bool {
	if err == nil {
		return false
	}
	if !errors.Is(err, errMoved) {
		if name != "" {
			err = fmt.Errorf("%s: %w", name, err)
		}
		t.errs = append(t.errs, err)
	}
	return true
}

// addItemFailure is addFailure for one item. If another process restored or changed the
// item meanwhile, err counts as errMoved: the directory disappeared during the run.
func (t *tidying) addItemFailure(ctx context.Context, it *trashItem, err error) bool {
	if err == nil {
		return false
	}
	moved := t.UnderLock(ctx, t.r, func() error { // a restoration holds the lock until its record is saved
		now, err := t.Journal.Record(ctx, it.rec.Workspace.ID)
		// A failed change has incremented the generation of it.rec.
		if err == nil && (now.Workspace.State != croft.Trashed || now.Generation > it.rec.Generation) {
			return errMoved
		}
		return err
	})
	if errors.Is(moved, errMoved) {
		err = moved
	}
	return t.addFailure(it.rec.Workspace.Name, err)
}

// surveyAll lists the removed workspaces of the repository with their surveys. It leaves
// out those whose directory may come back.
func (t *tidying) surveyAll(ctx context.Context) error {
	records, err := t.Records(ctx, t.r)
	if err != nil {
		return err
	}
	for _, rec := range slices.Backward(records) {
		it := &trashItem{rec: rec, integrated: sync.OnceValue(func() bool {
			done, err := t.Removals.IsIntegrated(ctx, t.r, rec)
			return err == nil && done
		})}
		if dir := rec.Trash.Dir; dir != "" && filepath.Base(dir) != string(rec.Workspace.ID) {
			continue // Croft names it after the ID
		}
		if t.mayComeBack(ctx, rec) {
			continue
		}
		if it.wasThere = it.hasDir() && fsx.IsThere(rec.Trash.Dir); it.wasThere {
			if err = project.CheckTrashed(rec); err == nil {
				it.survey, err = t.judgeDirectory(ctx, t.r, rec)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			it.hasFailed = t.isKept(ctx, it, err) || t.addItemFailure(ctx, it, err)
		} else {
			it.IsJudged, it.IsDirty = true, t.WhatIsLeft(ctx, t.r, rec) == croft.LeftSnapshot
		}
		t.items = append(t.items, it)
	}
	return nil
}

// stripItem deletes the directories of an item that can be made again.
func (t *tidying) stripItem(ctx context.Context, it *trashItem) {
	if it.hasFailed || len(it.Regenerable) == 0 || ctx.Err() != nil {
		return
	}
	if t.isPlan() {
		for _, p := range it.Regenerable {
			it.subtract(p.amount)
			it.freed.add(p.amount)
		}
		it.Regenerable = nil
	} else {
		it.hasFailed = t.addItemFailure(ctx, it, t.deleteRegenerable(ctx, t.r, it))
	}
	if !it.hasFailed {
		t.res.Stripped = append(t.res.Stripped, it.rec.Workspace.ID)
	}
}

// expireItems purges items whose retention is over, and announces the deletion of
// unmerged work.
func (t *tidying) expireItems(ctx context.Context) {
	notice := time.Duration(t.r.Config.Trash.Notice)
	for _, it := range t.items {
		trash := it.rec.Trash
		switch {
		case it.hasFailed || ctx.Err() != nil:
		case it.hasDir() && !fsx.IsThere(trash.Dir): // deleted by a person, or by a process that was killed after that
			t.purgeItem(ctx, it)
		case trash.ExpiresAt.After(t.now.Add(notice)):
		case trash.ExpiresAt.After(t.now) && (trash.PurgeWhy == string(croft.TrashOverBudget) || it.isFinished()):
		case it.isFinished():
			t.purgeItem(ctx, it)
		default:
			at := trash.ExpiresAt
			if noticed := t.now.Add(notice); noticed.After(at) {
				at = noticed
			}
			t.purgeOrAnnounce(ctx, it, at, croft.TrashExpired)
		}
	}
}

// purgeItem deletes the directory of an item, or purges the record if the directory is
// already deleted.
func (t *tidying) purgeItem(ctx context.Context, it *trashItem) {
	all, dir, final := it.amount, it.rec.Trash.Dir, it.isFinished()
	var err error
	isUnseen := dir != "" && !fsx.IsThere(filepath.Join(dir, "tree"))
	if final = final || dir == ""; dir != "" {
		t.stripItem(ctx, it)
		all = it.amount
	}
	switch {
	case t.isPlan():
	case dir == "":
		err = t.purgeRecord(ctx, t.r, it)
	default:
		err = t.deleteDirectory(ctx, t.r, it)
	}
	if it.hasFailed = t.isKept(ctx, it, err) || t.addItemFailure(ctx, it, err); it.hasFailed {
		return
	}
	if !t.isPlan() {
		t.meter.Add(1)
	}
	it.freed.add(all)
	it.amount, it.Regenerable = amount{}, nil
	if t.isPlan() {
		it.plan(func(trash *journal.Trash) { trash.Dir = "" })
	}
	if final {
		t.res.Purged = append(t.res.Purged, it.rec.Workspace.ID)
	} else {
		t.res.Reduced = append(t.res.Reduced, it.rec.Workspace.ID)
		if isUnseen {
			t.res.Unseen = append(t.res.Unseen, it.rec.Workspace.ID)
		}
	}
}

// isKept reports whether err says that the directory of an item stays, or that git cannot
// read it. Then it notes that in the result: one such item is no failure of the run.
func (t *tidying) isKept(ctx context.Context, it *trashItem, err error) bool {
	stays, ok := errors.AsType[unkept](explainUnreadable(ctx, it.rec, err))
	if !ok || !fsx.IsThere(it.rec.Trash.Dir) {
		return false
	}
	if !t.isPlan() {
		t.addItemFailure(ctx, it, t.recordStays(ctx, t.r, it, stays.why.Details))
	}
	t.res.Kept = append(t.res.Kept, croft.Kept{ID: it.rec.Workspace.ID, Name: it.rec.Workspace.Name, Reason: stays.why})
	return true
}

// purgeOrAnnounce purges a removed workspace whose announced time has come. If no time
// was announced, or at is earlier, it announces at; if at has already passed, because
// the notice is zero, it purges the workspace at once.
func (t *tidying) purgeOrAnnounce(ctx context.Context, it *trashItem, at time.Time, why croft.TrashReason) {
	announced := it.rec.Trash.PurgeAt
	switch {
	case !announced.IsZero() && !announced.After(t.now):
		t.purgeItem(ctx, it)
	case announced.IsZero() || at.Before(announced) && at.After(t.now):
		a := croft.Announcement{ID: it.rec.Workspace.ID, Name: it.rec.Workspace.Name, Left: t.WhatIsLeft(ctx, t.r, it.rec), At: at, Reason: why}
		var err error
		if t.isPlan() {
			it.plan(func(trash *journal.Trash) { trash.PurgeAt, trash.PurgeWhy = at, string(why) })
		} else {
			err = t.announceDeletion(ctx, t.r, it, a)
		}
		if it.hasFailed = t.addItemFailure(ctx, it, err); !it.hasFailed {
			t.res.Announced = append(t.res.Announced, a)
			if !at.After(t.now) { // trash.notice is zero
				t.purgeItem(ctx, it)
			}
		}
	}
}

// shrinkToBudget deletes items until the trash is within its budget: first regenerable
// directories, then finished items, the oldest removal first. Unmerged work is
// announced first, and deleted only once the notice is over.
func (t *tidying) shrinkToBudget(ctx context.Context) {
	steps := []func(*trashItem){
		func(it *trashItem) { t.stripItem(ctx, it) },
		func(it *trashItem) {
			if it.isFinished() {
				t.purgeItem(ctx, it)
			}
		},
	}
	for _, step := range steps {
		for _, it := range t.items {
			if it.hasDir() && !it.hasFailed && t.isOverBudget(t.total()) && ctx.Err() == nil {
				step(it)
			}
		}
	}
	held := t.total()
	at := t.now.Add(time.Duration(t.r.Config.Trash.Notice))
	for _, it := range t.items {
		switch {
		case !it.hasDir() || it.hasFailed || ctx.Err() != nil:
		case t.isOverBudget(held):
			size := it.amount
			t.purgeOrAnnounce(ctx, it, at, croft.TrashOverBudget)
			held.subtract(size)
		case it.rec.Trash.PurgeWhy == string(croft.TrashOverBudget) && !t.isPlan():
			it.hasFailed = t.addItemFailure(ctx, it, t.withdrawAnnouncement(ctx, t.r, it))
		}
	}
}

// total returns the size of the whole trash.
func (t *tidying) total() amount {
	var sum amount
	for _, it := range t.items {
		sum.add(it.amount)
	}
	return sum
}

func (t *tidying) isOverBudget(a amount) bool {
	return a.Bytes > t.r.Config.Trash.MaxBytes || a.Inodes > t.r.Config.Trash.MaxInodes
}
