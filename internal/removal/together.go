package removal

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/parallel"
	"github.com/croft-sh/croft/internal/project"
)

// Leaving is a workspace that RemoveEach is to remove, and what became of it.
type Leaving struct {
	Record journal.Record
	How    Spec
	Mode   croft.RemoveMode
	// Also is called in the transaction that records that the workspace is removed; may be nil.
	Also func(tx *journal.Tx) error

	Removed *croft.Removed // nil: it was not removed
	Err     error          // why not
}

// leaving is a removal that is under way.
type leaving struct {
	*Leaving
	isJudged bool // Guard was asked
	notes    []string
	op       *oplog.Op
	other    croft.ID // the operation on the same workspace that has to end before

	archive archive
	move    *worktree.Move
	trashed journal.Record
	tried   croft.Removed
}

// judging is for how long workspaces are judged before those that may go are moved. What a
// process writes in that time is not noticed, unless it is still there: it goes to the trash with
// the workspace.
const judging = 250 * time.Millisecond

// RemoveEach removes several workspaces, each by itself as RemoveOne does, and says in each what
// became of it. Those that may go are removed together, with one transaction of refs, one of
// records and one sync of each kind; if the process dies, recovery finishes each of them. progress
// is told how many are done; it may be nil.
func (svc *Removals) RemoveEach(ctx context.Context, r *project.Project, all []*Leaving, progress func(n int)) {
	rest := make([]*leaving, len(all))
	for i, l := range all {
		rest[i] = &leaving{Leaving: l}
	}
	for len(rest) > 0 {
		svc.judge(ctx, r, rest)
		var now, later []*leaving
		for _, l := range rest {
			switch {
			case !l.isJudged:
				later = append(later, l)
			case l.Err == nil:
				now = append(now, l)
			}
		}
		refuseOccupied(ctx, now)
		svc.removeJudged(ctx, r, without(now))
		rest = later
		if progress != nil {
			progress(len(all) - len(rest))
		}
	}
}

// without returns the removals that have not failed.
func without(batch []*leaving) []*leaving {
	var left []*leaving
	for _, l := range batch {
		if l.Err == nil {
			left = append(left, l)
		}
	}
	return left
}

// judge asks Guard about workspaces, on all cores, the first of them and others until it has
// taken the time that it may. It runs the teardown of those that may go.
func (svc *Removals) judge(ctx context.Context, r *project.Project, all []*leaving) {
	occupants, end := findOccupants, time.Now().Add(judging)
	if len(all) > 1 {
		occupants = occupantsAmong(pathsOf(all))
	}
	parallel.EachLong(len(all), func(i int) {
		if l := all[i]; i == 0 || time.Now().Before(end) {
			l.isJudged = true
			l.Err = svc.judgeOne(ctx, r, l, func() error { return svc.guardAmong(ctx, r, l.Record, l.Mode, occupants) })
		}
	})
}

func pathsOf(batch []*leaving) []string {
	paths := make([]string, len(batch))
	for i, l := range batch {
		paths[i] = l.Record.Workspace.Path
	}
	return paths
}

func (svc *Removals) judgeOne(ctx context.Context, r *project.Project, l *leaving, guard func() error) (err error) {
	if l.Record, err = svc.UpdateMovedPath(ctx, r, l.Record); err != nil {
		return err
	}
	if err := svc.guardOrAwait(ctx, l.Record, guard); err != nil {
		return err
	}
	l.notes = svc.Equipment.TearDown(ctx, r, l.Record)
	err = ctx.Err()
	if err == nil && l.Record.HasTeardown { // which took its time
		err = svc.Guard(ctx, r, l.Record, l.Mode)
	}
	return err
}

// refuseOccupied refuses those of several workspaces in which a process is at work now: the first
// of them were judged a while ago.
func refuseOccupied(ctx context.Context, batch []*leaving) {
	if len(batch) < 2 {
		return
	}
	if err := failpoint.Hit("remove.judged"); err != nil {
		for _, l := range batch {
			l.Err = err
		}
		return
	}
	occupants := occupantsAmong(pathsOf(batch))
	for _, l := range batch {
		if l.Mode == RemoveOccupied || l.Record.Workspace.Mode == croft.ModeLegacy {
			continue
		}
		if found := occupants(ctx, l.Record.Workspace.Path); len(found) > 0 {
			l.Err = occupiedError(l.Record, found)
		}
	}
}

// removeJudged removes workspaces that Guard let go.
func (svc *Removals) removeJudged(ctx context.Context, r *project.Project, batch []*leaving) {
	defer func() {
		for _, l := range batch {
			if l.op != nil {
				l.op.Close()
			}
		}
	}()
	for _, l := range batch {
		l.Err = svc.open(ctx, r, l)
	}
	for rest := without(batch); len(rest) > 0; {
		begun, underway := svc.beginRemovals(ctx, r, rest)
		svc.carryOut(context.WithoutCancel(ctx), r, begun)
		for _, l := range underway {
			_, l.Err = svc.Ops.Await(ctx, l.other, svc.Recover)
		}
		rest = without(underway)
	}
}

// open opens the operation of a removal.
func (svc *Removals) open(ctx context.Context, r *project.Project, l *leaving) (err error) {
	if l.op, err = svc.Begin(ctx, l.How.Act, "remove", r); err != nil {
		return err
	}
	w := l.Record.Workspace
	if w.Mode != croft.ModeLegacy {
		if l.How.Dir, err = project.ChooseTrashDir(r, l.Record); err != nil {
			return err
		}
	}
	l.op.Workspaces, l.op.Names = []croft.ID{w.ID}, []string{w.Name}
	return nil
}

// beginRemovals records removals in the journal. Those on whose workspaces another operation is
// under way are not begun. One whose workspace that operation has removed fails with
// WorktreeNotFound.
func (svc *Removals) beginRemovals(ctx context.Context, r *project.Project, batch []*leaving) (begun, underway []*leaving) {
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		begun, underway = nil, nil
		for _, l := range batch {
			if l.other, l.Err = findUnderway(tx, l.Record); errors.Is(l.Err, croft.WorktreeNotFound) {
				continue
			} else if l.Err != nil {
				return l.Err
			}
			if l.other != "" {
				underway = append(underway, l)
				continue
			}
			refused, err := svc.cancelWaitingMerges(tx, r, l.Record.Workspace, l.Mode)
			if l.Err = refused; err == nil && refused == nil {
				begun = append(begun, l)
				err = l.op.WriteIn(tx, l.How)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, l := range batch {
			l.Err = err
		}
		return nil, nil
	}
	return begun, underway
}

// carryOut carries out removals that are in the journal, and cancels those that fail before
// anything has moved: the caller is told that the workspace is kept, so recovery must not finish
// the removal later.
func (svc *Removals) carryOut(ctx context.Context, r *project.Project, begun []*leaving) {
	if len(begun) == 0 {
		return
	}
	if err := failpoint.Hit("remove.journalled"); err != nil {
		for _, l := range begun {
			l.Err = err
		}
		return
	}
	svc.applyRemovals(ctx, r, begun)
	for _, l := range begun {
		switch {
		case l.Err == nil:
			l.Removed.Notes = l.notes
		case fsx.IsThere(l.Record.Workspace.Path) && !isMovedToTrash(l.Record, l.How.Dir):
			l.Err = errors.Join(l.Err, svc.cancelRemoval(ctx, r, l.op, l.Record, l.Err.Error()))
		}
	}
}

// applyRemovals is ApplyRemoval for a batch.
func (svc *Removals) applyRemovals(ctx context.Context, r *project.Project, batch []*leaving) {
	var trees []*leaving
	for _, l := range batch {
		if l.Record.Workspace.Mode == croft.ModeLegacy || r.Git == nil {
			l.Removed, l.Err = svc.deleteRecord(ctx, l)
		} else {
			trees = append(trees, l)
		}
	}
	if len(trees) == 0 {
		return
	}
	// The records change under the same lock as the disk, so that the next holder of the
	// lock sees both.
	err := svc.UnderLock(ctx, r, func() error {
		var live []*leaving
		for _, l := range trees {
			if l.Err = svc.prepare(ctx, r, l); l.Err == nil && l.Removed == nil {
				live = append(live, l)
			}
		}
		svc.moveToTrash(ctx, r, live)
		svc.recordRemoved(ctx, without(live))
		return nil
	})
	for _, l := range trees {
		if err != nil {
			l.Err = err
		}
	}
}

// prepare reads the record of a workspace again, and makes that of the removed one. If another
// process has removed it, the removal has ended with that.
func (svc *Removals) prepare(ctx context.Context, r *project.Project, l *leaving) error {
	rec, err := svc.Journal.Record(ctx, l.Record.Workspace.ID)
	if err != nil {
		return err
	}
	w := rec.Workspace
	if w.State == croft.Trashed { // another process was faster
		l.Removed = &croft.Removed{ID: w.ID, Name: w.Name}
		return l.op.EndDone(ctx)
	}
	l.Record, l.trashed, l.tried = rec, rec, croft.Removed{ID: w.ID, Name: w.Name}
	l.trashed.Workspace.State = croft.Trashed
	l.trashed.Trash = &journal.Trash{RemovedAt: svc.Now(), ExpiresAt: svc.Now().Add(time.Duration(r.Config.Trash.Retention)), As: l.How.As}
	l.archive, err = svc.findArchive(ctx, r, rec, r.Trees.At(project.SpecOf(rec)))
	return err
}

// moveToTrash pins the commits, moves the directories and the registrations to the trash, and
// then deletes the branches. The caller holds the repository's lock.
func (svc *Removals) moveToTrash(ctx context.Context, r *project.Project, batch []*leaving) {
	pinned := svc.pinArchives(ctx, r, batch)
	var moves []*worktree.Move
	byMove := map[*worktree.Move]*leaving{}
	for _, l := range without(batch) {
		if l.Err = svc.makeTrash(ctx, r, l); l.Err == nil {
			moves, byMove[l.move] = append(moves, l.move), l
		}
	}
	var dropped []string
	r.Trees.MoveAllToTrash(moves, func(moved []*worktree.Move) {
		var there []*leaving
		for _, m := range moved {
			there = append(there, byMove[m])
		}
		dropped = svc.dropRefs(ctx, r, there, pinned)
	})
	for _, m := range moves {
		l := byMove[m]
		l.Err = m.Err
		dropped = append(dropped, m.Dir, filepath.Join(m.Dir, "admin"), filepath.Dir(r.Trees.At(m.Spec).Admin))
	}
	err := fsx.SyncAll(dropped...)
	for _, l := range without(batch) {
		if l.Err = err; err == nil {
			l.Err = svc.noteStowed(l)
		}
	}
}

// makeTrash makes the place of a workspace in the trash. It refuses a workspace that has commits
// which nobody has seen.
func (svc *Removals) makeTrash(ctx context.Context, r *project.Project, l *leaving) error {
	dir, trash := l.How.Dir, l.trashed.Trash
	if l.How.Head != "" && !isMovedToTrash(l.Record, dir) {
		if err := svc.guardLate(ctx, r, l.Record, l.How.Head, l.archive.tip); err != nil {
			return err
		}
	}
	trash.Tip = l.archive.tip
	if err := failpoint.Hit("remove.archived"); err != nil {
		return err
	}
	into, err := r.MakeTrashDir(dir)
	if err != nil {
		return err
	}
	if err := failpoint.Hit("remove.trash"); err != nil {
		return err
	}
	trash.Identity = string(into)
	if within, err := fsx.IdentityOf(filepath.Dir(dir)); err == nil {
		trash.Within = string(within)
	}
	l.move = &worktree.Move{Spec: project.SpecOf(l.Record), Dir: dir}
	l.move.TrashedIn = into
	return nil
}

// dropRefs deletes the refs that only live workspaces have, once the directories are in their
// places on disk, and what pinned their commits is. It returns what the caller has to sync.
func (svc *Removals) dropRefs(ctx context.Context, r *project.Project, batch []*leaving, pinned []string) (unsynced []string) {
	for _, l := range batch {
		dir := l.How.Dir
		pinned = append(pinned, dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir)), filepath.Dir(l.Record.Workspace.Path))
	}
	err := fsx.SyncAll(pinned...)
	if err == nil {
		err = failpoint.Hit("remove.moved")
	}
	if err != nil {
		for _, l := range batch {
			l.move.Err = err
		}
		return nil
	}
	if dirs, ok := svc.deleteRefsTogether(ctx, r, batch); ok {
		return dirs
	}
	for _, l := range batch {
		var dirs []string
		l.trashed.Trash.BranchGone, dirs, l.move.Err = svc.deleteRefs(ctx, r, l.Record, l.How, l.archive.tip)
		unsynced = append(unsynced, dirs...)
	}
	return unsynced
}

// deleteRefsTogether deletes the refs of several workspaces in one transaction. If that is not
// possible it deletes none, and returns false.
func (svc *Removals) deleteRefsTogether(ctx context.Context, r *project.Project, batch []*leaving) (unsynced []string, ok bool) {
	if len(batch) < 2 {
		return nil, false
	}
	var all []refs.Update
	gone, heads := make([]bool, len(batch)), sync.OnceValue(r.Git.ReadHeads)
	for i, l := range batch {
		updates, isGone, err := svc.refsToDelete(ctx, r, heads, l.Record, l.How, l.archive.tip)
		if err != nil {
			return nil, false
		}
		all, gone[i] = append(all, updates...), isGone
	}
	unsynced, err := r.Git.UpdateRefsUnsynced(ctx, all...)
	if err != nil {
		return nil, false
	}
	for i, l := range batch {
		l.trashed.Trash.BranchGone = gone[i]
	}
	return unsynced, true
}

// noteStowed notes where a workspace lies in the trash. There is nothing in its place there if
// the workspace was gone.
func (svc *Removals) noteStowed(l *leaving) error {
	trash := l.trashed.Trash
	trash.Dir = l.How.Dir
	if dir, err := project.OpenTrashDir(trash); err == nil {
		isEmpty := dir.IsEmpty()
		_ = dir.Close()
		if isEmpty {
			trash.Dir, trash.Identity, trash.Within = "", "", ""
			project.RemoveEmpty(l.How.Dir)
		}
	}
	if trash.Dir != "" {
		l.tried.Trash = l.tried.ID
	}
	if trash.BranchGone {
		l.tried.Branch = l.Record.Workspace.Branch
	}
	return failpoint.Hit("remove.stowed")
}

// recordRemoved records in one transaction that workspaces are removed.
func (svc *Removals) recordRemoved(ctx context.Context, batch []*leaving) {
	if len(batch) == 0 {
		return
	}
	err := svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, l := range batch {
			if err := tx.SaveRecord(&l.trashed); err != nil {
				return err
			}
			if err := svc.endRemoval(tx, l, l.trashed); err != nil {
				return err
			}
		}
		return nil
	})
	for _, l := range batch {
		if l.Err = err; err == nil {
			l.Removed = &l.tried
		}
	}
}
