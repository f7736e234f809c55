package removal

import (
	"cmp"
	"context"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/snapshot"
)

// Archive pins the commit that the workspace has checked out, the tip of its branch,
// the state of its index, and the objects that an isolated agent made beside its
// branch. It can be repeated: commits that are gone by now are taken from the archive.
// tip is empty if that commit is lost; the branch must stay then. The caller syncs the
// unsynced directories before it deletes anything, and holds the project's lock.
func (svc *Removals) Archive(ctx context.Context, r *project.Project, rec journal.Record, tree *git.Worktree) (tip string, unsynced []string, err error) {
	a, err := svc.findArchive(ctx, r, rec, tree)
	if err != nil {
		return "", nil, err
	}
	return svc.pinArchive(ctx, r, a)
}

// archive is what is to be pinned of a workspace that is removed.
type archive struct {
	tip  string // the commit of its branch
	pins []journal.Pin
	// hasState says that the pins keep the state of the index. They have to be on disk before the
	// directory moves, because the state is not found after that.
	hasState bool
}

// findArchive returns what Archive pins.
func (svc *Removals) findArchive(ctx context.Context, r *project.Project, rec journal.Record, tree *git.Worktree) (a archive, err error) {
	w := rec.Workspace
	_, head, _ := tree.Head(ctx)
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+w.Branch)
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return a, err
	}
	// Commits that are gone by now were archived by the process that began the removal.
	if head == "" {
		head = svc.Archived(ctx, r, project.ArchiveRef(w.ID), tip)
	}
	if tip == "" {
		tip = svc.Archived(ctx, r, project.ArchiveBranchRef(w.ID), head)
	}
	a.tip = tip
	pin := func(ref, oid string) {
		if oid != "" {
			a.pins = append(a.pins, journal.Pin{Ref: ref, OID: oid})
		}
	}
	pin(project.ArchiveRef(w.ID), head)
	if tip != head {
		pin(project.ArchiveBranchRef(w.ID), tip)
	}
	own, err := tree.KeepOwn(ctx)
	if err != nil {
		return a, err
	}
	pin(project.ArchiveOwnRef(w.ID), own)
	if tree.HasAdmin() {
		state, err := pinState(ctx, tree, cmp.Or(head, tip))
		if err != nil {
			return a, err
		}
		pin(project.ArchiveStateRef(w.ID), state)
		a.hasState = state != ""
	}
	return a, nil
}

// pinArchive pins what findArchive found. It returns as Archive does.
func (svc *Removals) pinArchive(ctx context.Context, r *project.Project, a archive) (tip string, unsynced []string, err error) {
	if a.hasState {
		err = svc.Pin(ctx, r, a.pins...)
	} else {
		unsynced, err = svc.PinUnsynced(ctx, r, a.pins...)
	}
	return svc.archiveWithoutLost(ctx, r, a.pins, a.tip, unsynced, err)
}

// pinArchives pins what the removals of a batch found: together, or one by one if that fails, so
// that each failure is of one removal. The caller syncs the directories that it returns.
func (svc *Removals) pinArchives(ctx context.Context, r *project.Project, batch []*leaving) (unsynced []string) {
	var all archive
	for _, l := range batch {
		all.pins, all.hasState = append(all.pins, l.archive.pins...), all.hasState || l.archive.hasState
	}
	if len(batch) > 1 {
		unsynced, err := svc.PinUnsynced(ctx, r, all.pins...)
		if err == nil && all.hasState {
			err, unsynced = fsx.SyncAll(unsynced...), nil
		}
		if err == nil {
			return unsynced
		}
	}
	for _, l := range batch {
		var dirs []string
		l.archive.tip, dirs, l.Err = svc.pinArchive(ctx, r, l.archive)
		unsynced = append(unsynced, dirs...)
	}
	return unsynced
}

// archiveWithoutLost pins the objects that are there if one of them is missing: a disk lost
// it, or a process deleted it. tip is empty if it is the branch's commit; the branch stays
// then, because nothing else names that commit.
func (svc *Removals) archiveWithoutLost(ctx context.Context, r *project.Project, pins []journal.Pin, tip string, unsynced []string, err error) (string, []string, error) {
	if !errors.Is(err, object.ErrMissing) {
		return tip, unsynced, err
	}
	var there []journal.Pin
	for _, p := range pins {
		_, err := r.Git.Info(ctx, p.OID)
		switch {
		case err == nil:
			there = append(there, p)
		case !errors.Is(err, object.ErrMissing):
			return "", nil, err
		case p.OID == tip:
			tip = ""
		}
	}
	return tip, nil, svc.Pin(ctx, r, there...)
}

// pinState saves the objects that only the registration of a workspace names, such as
// those of its index. It needs the registration, not the directory.
func pinState(ctx context.Context, tree *git.Worktree, head string) (string, error) {
	if tree.IsRegistered() {
		return snapshot.Pin(ctx, tree)
	}
	p, err := tree.WithoutFiles(head)
	if err != nil {
		return "", err
	}
	state, err := snapshot.Pin(ctx, p.Worktree)
	if _, failed := errors.AsType[*gitcmd.Error](err); failed {
		err = nil // an index that git cannot read keeps nothing
	}
	return state, errors.Join(err, p.Close())
}

// Archived returns the object that the journal has pinned under ref, or otherwise if
// there is none or it cannot be read.
func (svc *Removals) Archived(ctx context.Context, r *project.Project, ref, otherwise string) string {
	if oid, err := svc.Pinned(ctx, r, ref); err == nil {
		return oid
	}
	return otherwise
}

// UnpinArchive unpins the archive of a workspace, except its ref work. The ref branch
// stays if its commit is not an ancestor of restored. If restored is empty it goes too:
// nothing was removed. The caller holds the project's lock.
func (svc *Removals) UnpinArchive(ctx context.Context, r *project.Project, id croft.ID, restored string) error {
	names := []string{project.ArchiveRef(id), project.ArchiveStateRef(id), project.ArchiveOwnRef(id)}
	kept, err := svc.Pinned(ctx, r, project.ArchiveBranchRef(id))
	if err != nil && !errors.Is(err, refs.ErrNoRef) {
		return err
	}
	isBack := err == nil
	if isBack && restored != "" && kept != restored {
		if isBack, err = r.Git.IsAncestor(ctx, kept, restored); err != nil {
			return err
		}
	}
	if isBack {
		names = append(names, project.ArchiveBranchRef(id))
	}
	if err := svc.Unpin(ctx, r, names...); err != nil {
		return err
	}
	return failpoint.Hit("restore.archive")
}
