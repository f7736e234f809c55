package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
)

// rollBackCreation undoes a creation that failed and returns the failure. If the
// undoing fails too, the operation stays in the journal, and the next process tries
// again.
func (svc *Workspaces) rollBackCreation(ctx context.Context, r *project.Project, op *oplog.Op, plans []*plan, cause error) error {
	ctx = context.WithoutCancel(ctx)
	records := recordsOf(plans)
	if err := svc.UndoCreate(ctx, r, op.ID, records, explain.Error("create", "", cause).Error()); err != nil {
		return &croft.Error{
			Code: croft.CleanupFailed, Op: "create", Message: "the creation could not be rolled back", Details: err.Error(),
			Hint: "croft doctor --fix", Err: cause,
		}
	}
	return cause
}

// UndoCreate deletes everything that a creation made: directories that are provably its
// own, registrations, refs that have not moved since, and the records.
func (svc *Workspaces) UndoCreate(ctx context.Context, r *project.Project, op croft.ID, records []journal.Record, reason string) error {
	if r.Git != nil {
		if err := svc.undoGit(ctx, r, records); err != nil {
			return err
		}
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		for _, rec := range records {
			if err := tx.DeleteRecord(rec.Workspace.ID); err != nil {
				return err
			}
		}
		if err := tx.DeleteKey(op); err != nil {
			return err
		}
		return tx.End(op, journal.OpUndone, reason, svc.Now())
	})
}

func (svc *Workspaces) undoGit(ctx context.Context, r *project.Project, records []journal.Record) error {
	l, err := r.Lock(ctx)
	if err != nil {
		return err
	}
	defer l.Unlock()
	var errs []error
	for _, rec := range records {
		w := rec.Workspace
		if w.Mode == croft.ModeLegacy {
			continue
		}
		if err := r.Trees.Discard(project.SpecOf(rec)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", w.Path, err))
			continue
		}
		if rec.BaseDir != "" && rec.BaseDir != filepath.Dir(r.Path) {
			project.RemoveEmpty(rec.BaseDir)
		}
		if err := failpoint.Hit("undo.discarded"); err != nil {
			return err
		}
		errs = append(errs, undoRefs(ctx, r, rec))
	}
	return errors.Join(errs...)
}

// undoRefs deletes the refs of a workspace whose creation is undone. It deletes the
// branch only if that still points at the base: then no agent committed to it.
func undoRefs(ctx context.Context, r *project.Project, rec journal.Record) error {
	w := rec.Workspace
	names := []string{project.HeldRef(w.ID)}
	if rec.OwnsBranch {
		// If the branch had existed before, the transaction that makes branch and pin
		// would have failed. So the branch is Croft's only if the pin exists.
		if _, err := r.Git.ReadRef(ctx, project.BaseRef(w.ID)); err == nil {
			names = append(names, "refs/heads/"+w.Branch)
		} else if _, err := r.Git.ReadRef(ctx, "refs/heads/"+w.Branch); errors.Is(err, refs.ErrNoRef) {
			r.Git.SweepRefLocks(w.CreatedAt, "refs/heads/"+w.Branch)
		}
	}
	names = append(names, project.BaseRef(w.ID)) // last, so that the pin is there as long as the branch
	r.Git.SweepRefLocks(w.CreatedAt, names...)
	var updates []refs.Update
	for _, name := range names {
		oid, err := r.Git.ReadRef(ctx, name)
		if errors.Is(err, refs.ErrNoRef) {
			continue
		}
		if err != nil {
			return err
		}
		if name == "refs/heads/"+w.Branch && oid != w.Base {
			continue
		}
		updates = append(updates, refs.Update{Ref: name, Old: oid})
	}
	return r.Git.UpdateRefs(ctx, updates...)
}

// RecoverCreate rolls back the creation of a process that died: no caller was told of
// its workspaces. If the workspaces are complete, it finishes the creation instead.
func (svc *Workspaces) RecoverCreate(ctx context.Context, r *project.Project, op *oplog.Op) error {
	var records []journal.Record
	for _, id := range op.Workspaces {
		rec, err := svc.Journal.Record(ctx, id)
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if rec.Workspace.State != croft.Creating {
			return op.EndDone(ctx)
		}
		records = append(records, rec)
	}
	if len(records) > 0 && svc.wereHandedOut(r, records) {
		return svc.finishCreate(ctx, r, op, records)
	}
	if r.CommonDir != "" {
		if _, err := os.Stat(r.CommonDir); errors.Is(err, os.ErrNotExist) {
			r = &project.Project{ID: r.ID, Path: r.Path} // the repository is deleted, and with it all that the creation made
		}
	}
	if err := svc.UndoCreate(ctx, r, op.ID, records, "its process died"); err != nil {
		return err
	}
	return svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		return tx.Emit(croft.Event{Time: svc.Now(), Kind: croft.EventOperationUndone, Subjects: croft.Subjects{Repo: r.ID, Operation: op.Act}})
	})
}

// wereHandedOut reports whether the workspaces are complete: all lie at their paths,
// without the lock that they have while they are made. The journal of a restored backup
// may not know that they are; to undo their creation would delete work.
func (svc *Workspaces) wereHandedOut(r *project.Project, records []journal.Record) bool {
	return r.Git != nil && !slices.ContainsFunc(records, func(rec journal.Record) bool {
		if rec.Workspace.Mode == croft.ModeLegacy || r.Trees.Health(project.SpecOf(rec)) != checkout.Intact {
			return true
		}
		return !r.Trees.IsReleased(project.SpecOf(rec))
	})
}

// finishCreate records that workspaces are ready. Their role files were not recorded,
// so it takes the names from the role; a file that does not exist does no harm.
func (svc *Workspaces) finishCreate(ctx context.Context, r *project.Project, op *oplog.Op, records []journal.Record) error {
	for i, rec := range records {
		records[i].Workspace.State, records[i].Maker = croft.Ready, nil
		if role, err := r.Roles().Find(rec.Workspace.Role); rec.Workspace.Role != "" && err == nil {
			records[i].RoleFiles = role.Files
		}
	}
	return svc.endCreation(ctx, op, records)
}
