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

// RecoverRewind finishes a rewind whose process died.
func (svc *Rewinds) RecoverRewind(ctx context.Context, r *project.Project, op *oplog.Op) error {
	var how Spec
	if err := json.Unmarshal(op.Input, &how); err != nil {
		return err
	}
	if r.Git == nil {
		return op.Undone(ctx, "the repository is gone")
	}
	// A rewind moves the workspace's own branch or none. Objects, and so the
	// snapshot, are where agents can write.
	if rec, err := svc.Journal.Record(ctx, how.To.Workspace); err == nil && rec.Workspace.Branch != "" {
		r.Git.DropRemains(op.StartedAt, "refs/heads/"+rec.Workspace.Branch)
	}
	if how.Trashed && how.From.Commit == "" {
		return svc.recoverTrashed(ctx, r, op, how)
	}
	return svc.Resume(ctx, r, op, how)
}

// rewindTries is how often somebody may commit in a workspace between its saving
// and the rewind that goes on.
const rewindTries = 3

// Resume carries a rewind out that may have been begun: it cannot be left as
// it is. What the workspace holds is saved first, unless that was just done, and
// again if somebody has committed there meanwhile. After some tries it is left to the
// next command.
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

// SaveFirst saves what a workspace holds before an interrupted rewind goes on. A
// state that was put back may speak of one that ended long ago, and does not know
// what was done since. What the last snapshot has, as after an attempt before this one,
// is not saved again. What a rewind left halfway may not be readable; then it is
// nobody's work.
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
	how.Saved, err = svc.saveWith(ctx, r, rec, saving{before: how.To.Commit, seen: &how.seen, last: last})
	if err != nil && (explain.IsSystem(err) || errors.Is(err, snapshot.ErrChanging)) {
		return err // the next one tries again
	}
	if err != nil {
		how.Saved, how.seen = nil, nil
		return ctx.Err()
	}
	return nil
}

// recoverTrashed is for a rewind whose process died before the workspace had
// come from the trash, or just then. If it came, the rewind is finished.
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
		return op.Undone(ctx, "its process died")
	}
	err = svc.rewindRestored(ctx, r, op, how)
	if err == nil || errors.Is(err, oplog.ErrUnsettled) {
		return err
	}
	err = svc.trashRewound(ctx, r, op, nil, err)
	if _, stays := errors.AsType[*croft.Error](err); stays {
		return nil // that is written down, and all that can be done
	}
	if err != nil {
		return errors.Join(oplog.ErrUnsettled, err)
	}
	return nil
}
