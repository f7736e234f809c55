package engine

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
	"github.com/croft-sh/croft/internal/snapshot"
)

// recoverRewind finishes a rewind whose process died.
func (e *Engine) recoverRewind(ctx context.Context, r *repo, op *oplog.Op) error {
	var how rewinding
	if err := json.Unmarshal(op.Input, &how); err != nil {
		return err
	}
	if r.git == nil {
		return op.Undone(ctx, "the repository is gone")
	}
	// A rewind moves the workspace's own branch or none. Objects, and so the
	// snapshot, are where agents can write.
	if rec, err := e.journal.Record(ctx, how.To.Workspace); err == nil && rec.Workspace.Branch != "" {
		r.git.DropRemains(op.StartedAt, "refs/heads/"+rec.Workspace.Branch)
	}
	if how.Trashed && how.From.Commit == "" {
		return e.recoverTrashed(ctx, r, op, how)
	}
	return e.goOnRewinding(ctx, r, op, how)
}

// rewindTries is how often somebody may commit in a workspace between its saving
// and the rewind that goes on.
const rewindTries = 3

// goOnRewinding carries a rewind out that may have been begun: it cannot be left as
// it is. What the workspace holds is saved first, unless that was just done, and
// again if somebody has committed there meanwhile. After some tries it is left to the
// next command.
func (e *Engine) goOnRewinding(ctx context.Context, r *repo, op *oplog.Op, how rewinding) error {
	for try := 1; ; try++ {
		var err error
		if try > 1 || how.saved == nil {
			err = e.saveFirst(ctx, r, &how)
		}
		if err == nil {
			err = e.carryRewind(ctx, r, op, how)
		}
		switch {
		case err == nil:
			return nil
		case isKept(err):
			return nil // it is done
		case try == rewindTries || !errors.Is(err, errWorkedOn):
			return errors.Join(oplog.ErrUnsettled, err)
		}
	}
}

// saveFirst saves what a workspace holds before an interrupted rewind goes on. A
// state that was put back may speak of one that ended long ago, and does not know
// what was done since. What the last snapshot has, as after an attempt before this one,
// is not saved again. What a rewind left halfway may not be readable; then it is
// nobody's work.
func (e *Engine) saveFirst(ctx context.Context, r *repo, how *rewinding) error {
	how.saved, how.seen = nil, nil
	rec, err := e.journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	if err := e.putAsideBack(ctx, r, rec, *how); err != nil {
		return err
	}
	if r.trees.Health(specOf(rec)) != checkout.Intact {
		return nil
	}
	rec.Workspace.State = croft.Ready // which it is until the rewind goes on
	last, err := e.lastSnapshots(ctx, r, rec.Workspace.ID)
	if err != nil {
		return err
	}
	how.saved, err = e.saveWith(ctx, r, rec, saving{before: how.To.Commit, seen: &how.seen, last: last})
	if err != nil && (explain.IsSystem(err) || errors.Is(err, snapshot.ErrChanging)) {
		return err // the next one tries again
	}
	if err != nil {
		how.saved, how.seen = nil, nil
		return ctx.Err()
	}
	return nil
}

// recoverTrashed is for a rewind whose process died before the workspace had
// come from the trash, or just then. If it came, the rewind is finished.
func (e *Engine) recoverTrashed(ctx context.Context, r *repo, op *oplog.Op, how rewinding) error {
	ops, err := e.journal.Act(ctx, op.Act)
	if err != nil {
		return err
	}
	for _, o := range ops {
		if o.State == journal.OpRunning && o.Kind != "rewind" && slices.Equal(o.Workspaces, op.Workspaces) {
			if err := e.ops.Recover(ctx, o); err != nil {
				return err
			}
		}
	}
	rec, err := e.journal.Record(ctx, how.To.Workspace)
	if err != nil {
		return err
	}
	if rec.Workspace.State == croft.Trashed {
		return op.Undone(ctx, "its process died")
	}
	err = e.rewindRestored(ctx, r, op, how)
	if err == nil || errors.Is(err, oplog.ErrUnsettled) {
		return err
	}
	err = e.stowRewound(ctx, r, op, nil, err)
	if _, stays := errors.AsType[*croft.Error](err); stays {
		return nil // that is written down, and all that can be done
	}
	if err != nil {
		return errors.Join(oplog.ErrUnsettled, err)
	}
	return nil
}
