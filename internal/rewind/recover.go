package rewind

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/oplog"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/snapshot"
)

// RecoverRewind finishes a rewind whose process died. If the repository is gone, the
// operation is ended as undone.
func (svc *Rewinds) RecoverRewind(ctx context.Context, r *project.Project, op *oplog.Op) error {
	var how Spec
	if err := json.Unmarshal(op.Input, &how); err != nil {
		return err
	}
	if r.Git == nil {
		return op.EndUndone(ctx, "the repository is gone")
	}
	// The branch is taken from the record and not from the snapshot, whose objects agents
	// can write: a rewind moves the workspace's own branch, or none.
	if rec, err := svc.Journal.Record(ctx, how.To.Workspace); err == nil && rec.Workspace.Branch != "" {
		r.Git.SweepRefLocks(op.StartedAt, "refs/heads/"+rec.Workspace.Branch)
	}
	if how.Trashed && how.From.Commit == "" {
		return svc.recoverTrashed(ctx, r, op, how)
	}
	return svc.Resume(ctx, r, op, how)
}

// rewindTries is how often an agent may commit between the snapshot and the rewind of its
// workspace before Resume gives up.
const rewindTries = 3

// Resume applies a rewind that may have been begun and has to be finished. It saves the
// workspace first, unless how.Saved is set, and saves it again if an agent has committed
// meanwhile. After rewindTries it leaves the rewind to the next command.
func (svc *Rewinds) Resume(ctx context.Context, r *project.Project, op *oplog.Op, how Spec) error {
	for try := 1; ; try++ {
		var err error
		if try > 1 || how.Saved == nil {
			err = svc.SaveFirst(ctx, r, &how)
		}
		if err == nil {
			err = svc.applyRewind(ctx, r, op, how)
		}
		switch {
		case err == nil:
			return nil
		case isKept(err):
			return nil // it is done
		case try == rewindTries || !errors.Is(err, project.ErrWorkedOn):
			return errors.Join(oplog.ErrUnsettled, err)
		}
	}
}

// SaveFirst saves a workspace before an interrupted rewind continues: the journal of a
// restored backup may have a rewind that ended long ago, and does not know the work since.
// It reuses the last snapshot if the workspace has not changed. A workspace that an
// interrupted rewind left unreadable is not saved.
func (svc *Rewinds) SaveFirst(ctx context.Context, r *project.Project, how *Spec) error {
	how.Saved, how.seen = nil, nil
	rec, err := svc.Journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	if err := svc.putAsideBack(ctx, r, rec, *how); err != nil {
		return err
	}
	if r.Trees.Health(project.SpecOf(rec)) != checkout.Intact {
		return nil
	}
	rec.Workspace.State = croft.Ready // which it is until the rewind goes on
	last, err := svc.lastSnapshots(ctx, r, rec.Workspace.ID)
	if err != nil {
		return err
	}
	how.Saved, err = svc.saveWith(ctx, r, rec, saving{cause: croft.SnapshotBeforeRestore, before: how.To.Commit, seen: &how.seen, last: last})
	if err != nil && (explain.IsSystem(err) || errors.Is(err, snapshot.ErrChanging)) {
		return err // the next one tries again
	}
	if err != nil {
		how.Saved, how.seen = nil, nil
		return ctx.Err()
	}
	return nil
}

// recoverTrashed recovers a rewind whose process died before or just after the workspace
// was restored from the trash. If it was restored, the rewind is finished.
func (svc *Rewinds) recoverTrashed(ctx context.Context, r *project.Project, op *oplog.Op, how Spec) error {
	ops, err := svc.Journal.Act(ctx, op.Act)
	if err != nil {
		return err
	}
	for _, o := range ops {
		if o.State == journal.OpRunning && o.Kind != "rewind" && slices.Equal(o.Workspaces, op.Workspaces) {
			if err := svc.Ops.Recover(ctx, o); err != nil {
				return err
			}
		}
	}
	rec, err := svc.Journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	if rec.Workspace.State == croft.Trashed {
		return op.EndUndone(ctx, "its process died")
	}
	err = svc.rewindRestored(ctx, r, op, how)
	if err == nil || errors.Is(err, oplog.ErrUnsettled) {
		return err
	}
	err = svc.trashRewound(ctx, r, op, nil, err)
	if _, stays := errors.AsType[*croft.Error](err); stays {
		return nil // the reason is in the journal, and no more can be done
	}
	if err != nil {
		return errors.Join(oplog.ErrUnsettled, err)
	}
	return nil
}
