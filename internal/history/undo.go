package history

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/owner"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
)

// PlanUndoing returns the steps that UndoAct would take.
func (svc *History) PlanUndoing(ctx context.Context, s project.Location, req croft.UndoRequest) (*croft.UndoPlan, error) {
	u, err := svc.findUndoable(ctx, s.Project, req)
	if err != nil {
		return nil, err
	}
	plan := &croft.UndoPlan{Operation: svc.describe(ctx, u.ops, true)}
	for _, ops := range u.later {
		plan.Later = append(plan.Later, svc.describe(ctx, ops, true))
	}
	rewound := map[croft.ID]bool{}
	for _, st := range u.steps {
		line := st.String()
		switch {
		case st.revert != nil:
			if gone := svc.goneBefore(ctx, s.Project, st); gone != "" {
				line += ": " + gone
			} else if plan.Refused != nil || s.Git == nil {
				break
			} else if err := svc.Lanes.RequireNoConflict(ctx, s.Project, *st.revert); err != nil {
				plan.Refused = croft.AsError("undo", explain.Error("undo", st.name(), err))
			}
		case st.rewind != nil:
			rewound[st.rec.Workspace.ID] = true
			svc.addStamp(ctx, s.Project, plan, st.rec)
		case !st.restore:
			if n := svc.addStamp(ctx, s.Project, plan, st.rec); n > 0 {
				line += fmt.Sprintf(" and %s that %s lacks", project.Count(n, "commit"), st.rec.Workspace.Target)
			}
			if plan.Refused != nil {
				break
			}
			err := svc.Removals.GuardNow(ctx, s.Project, st.rec, undoMode(req.Mode, rewound[st.rec.Workspace.ID]))
			if ctx.Err() != nil {
				return nil, explain.WithWorkspace(st.name(), err)
			}
			if err != nil {
				plan.Refused = croft.AsError("undo", explain.Error("undo", st.name(), hintForce(err, plan.Operation.ID)))
			}
		}
		plan.Steps = append(plan.Steps, line)
	}
	return plan, nil
}

// addStamp adds the stamp of a workspace that the undo would move or put back, and returns how many commits its
// target lacks. A workspace that cannot be read has no stamp.
func (svc *History) addStamp(ctx context.Context, r *project.Project, plan *croft.UndoPlan, rec journal.Record) (ahead int) {
	st, err := svc.Removals.Views.StatusOf(ctx, r, rec)
	if err != nil || st.Stamp == "" {
		return 0
	}
	if plan.Stamps == nil {
		plan.Stamps = map[croft.ID]string{}
	}
	plan.Stamps[rec.Workspace.ID] = st.Stamp
	return st.Ahead
}

// requireShown fails with WorkChanged if a workspace that the undo would move or put back has other work
// than a person was shown.
func (svc *History) requireShown(ctx context.Context, r *project.Project, steps []step, stamps map[croft.ID]string) error {
	for _, st := range steps {
		if st.revert != nil || st.restore {
			continue
		}
		if err := svc.Removals.RequireShown(ctx, r, st.rec, &croft.Agreed{Stamps: stamps}); err != nil {
			return explain.Error("undo", st.name(), err)
		}
	}
	return nil
}

// pinUndone lets a request with a key name the act that the first call with the key found.
// If that act is undone, pinUndone returns the undo: the first process was killed before it
// answered, or another undo came first.
func (svc *History) pinUndone(ctx context.Context, r *project.Project, req *croft.UndoRequest) (*croft.Operation, error) {
	pinned, err := once.Pin(ctx, "act", func() (croft.ID, error) {
		u, err := svc.findUndoable(ctx, r, *req)
		if err == nil {
			err = svc.requireShown(ctx, r, u.steps, req.Stamps)
		}
		if err != nil {
			return "", err
		}
		return u.ops[0].Act, nil
	})
	if err != nil {
		return nil, err
	}
	req.Operation = pinned
	ops, err := svc.Journal.Act(ctx, pinned)
	if err != nil || len(ops) == 0 {
		return nil, err
	}
	undoing, err := svc.Journal.Undoing(ctx, pinned)
	if err != nil || len(undoing) == 0 {
		return nil, err
	}
	undo, err := svc.act(ctx, undoing[0].Act)
	if err != nil {
		return nil, err
	}
	out := svc.describe(ctx, undo, true)
	// The act is undone; or it was, and then that undo was undone, so that it stays in force.
	if ops[0].State == journal.OpReversed || undo[0].State == journal.OpReversed {
		return &out, nil
	}
	if steps, err := svc.planInverse(ctx, ops, 0); err != nil || len(steps) > 0 {
		return nil, err
	}
	// The process that took the last step may have died before it recorded that.
	return &out, svc.Journal.Update(ctx, func(tx *journal.Tx) error {
		return errors.Join(recordUndone(tx, ops[0]), once.Answer(ctx, tx, &out))
	})
}

// undoMode returns the mode in which an undo removes a workspace. A workspace that the
// undo has just rewound has the files of the snapshot, and its later work is saved, so
// the removal need not be refused because of that work.
func undoMode(asked croft.RemoveMode, isRewound bool) croft.RemoveMode {
	if isRewound && asked == croft.RemoveSafe {
		return removal.RemoveWithWork
	}
	return asked
}

// hintForce replaces the hint of a removal that was refused because of uncommitted work by
// the undo command with --force.
func hintForce(err error, undone croft.ID) error {
	why, ok := errors.AsType[*croft.Error](err)
	if !ok || why.Code != croft.WorkspaceDirty {
		return err
	}
	told := *why
	told.Hint = "croft undo --force " + string(undone)
	return &told
}

// goneBefore returns why the target has nothing of a merge that a step would revert, or the empty
// string if it has something or that is unknown.
func (svc *History) goneBefore(ctx context.Context, r *project.Project, st step) string {
	m := *st.revert
	if m.Commit == "" || m.Before == "" || r.Git == nil {
		return ""
	}
	tip, err := r.Git.ReadRef(ctx, "refs/heads/"+m.Target)
	if err != nil {
		return ""
	}
	if _, isNothing, err := lane.TryRevert(ctx, r, m, tip); err != nil || !isNothing {
		return ""
	}
	isEmpty, err := svc.Lanes.HasBroughtNothing(ctx, r, m)
	switch {
	case err != nil:
		return ""
	case isEmpty:
		return fmt.Sprintf("it changed nothing on %s", m.Target)
	case st.brings:
		return fmt.Sprintf("%s has all of it again", m.Target)
	}
	return fmt.Sprintf("%s has nothing of it any more", m.Target)
}

// emptyUndo returns the operation of an undo that had nothing to do.
func (svc *History) emptyUndo(ctx context.Context, undone []journal.Operation, a project.Act) journal.Operation {
	op := journal.Operation{
		ID: project.NewID(), Act: a.ID, Undoes: a.Undoes, Kind: "undo", Actor: svc.Actor(ctx), Repo: undone[0].Repo, State: journal.OpDone,
		Input: []byte("{}"), Owner: owner.Self(), StartedAt: svc.Now(), EndedAt: svc.Now(),
	}
	for _, was := range undone {
		op.Workspaces, op.Names = append(op.Workspaces, was.Workspaces...), append(op.Names, was.Names...)
	}
	return op
}

// takeSteps takes the steps that undo an act, and returns notes about work that was not
// restored. If a step fails, the error names the steps that were taken and those that
// were not.
func (svc *History) takeSteps(ctx context.Context, r *project.Project, steps []step, a project.Act, mode croft.RemoveMode) (notes []string, err error) {
	if err := svc.guardSteps(ctx, r, steps, a, mode); err != nil {
		return nil, err
	}
	rewound := map[croft.ID]bool{}
	for i, st := range steps {
		switch {
		case st.revert != nil:
			if err = svc.undoMerge(ctx, r, *st.revert, a); errors.Is(err, croft.NotMerged) {
				if gone := svc.goneBefore(ctx, r, st); gone != "" {
					_, err = svc.Lanes.RecordTakenBack(ctx, r, *st.revert, a)
					notes = append(notes, st.name()+": "+gone)
				}
			}
		case st.rewind != nil:
			err = svc.Rewinds.Rewind(ctx, r, *st.rewind, a)
			rewound[st.rec.Workspace.ID] = true
		case st.restore:
			was := svc.Trash.WhatIsLeft(ctx, r, st.rec)
			if err = svc.Trash.RestoreOne(ctx, r, st.rec, croft.RestoreWhole, a); err == nil {
				for _, note := range svc.Rewinds.RestoreNotes(ctx, r, st.rec, was) {
					notes = append(notes, st.name()+": "+note)
				}
			}
		default:
			how := undoMode(mode, rewound[st.rec.Workspace.ID])
			var removed *croft.Removed
			removed, err = svc.Removals.RemoveOne(ctx, r, st.rec, removal.Spec{Event: croft.EventWorkspaceRemoved, As: croft.ConditionUndone, Act: a}, how)
			if err == nil {
				for _, note := range removed.Notes {
					notes = append(notes, st.name()+": "+note)
				}
			}
			err = hintForce(err, a.Undoes)
		}
		if err != nil {
			return nil, partlyUndoneError(explain.Error("undo", st.name(), err), steps, i, a.Undoes)
		}
	}
	return notes, nil
}

// guardSteps returns the error with which a revert or a removal among the steps would be refused, so
// that no step is taken before it. Of several reverts the others may be in conflict only until the first is there.
func (svc *History) guardSteps(ctx context.Context, r *project.Project, steps []step, a project.Act, mode croft.RemoveMode) error {
	if len(steps) > 0 && steps[0].revert != nil && r.Git != nil {
		if err := svc.Lanes.RequireNoConflict(ctx, r, *steps[0].revert); err != nil {
			return explain.Error("undo", steps[0].name(), err)
		}
	}
	if len(steps) == 1 {
		return nil // the step is refused itself
	}
	rewound := map[croft.ID]bool{}
	for _, st := range steps {
		id := st.rec.Workspace.ID
		if st.rewind != nil {
			rewound[id] = true
		}
		if st.revert != nil || st.rewind != nil || st.restore {
			continue
		}
		rec, err := svc.UpdateMovedPath(ctx, r, st.rec)
		if err == nil {
			err = svc.Removals.Guard(ctx, r, rec, undoMode(mode, rewound[id]))
		}
		if err != nil && !errors.Is(err, croft.WorktreeNotFound) { // another process removed it: its step reports that
			return explain.Error("undo", st.name(), hintForce(err, a.Undoes))
		}
	}
	return nil
}

// partlyUndoneError adds to the error of a step which steps were taken before it, and
// how to continue.
func partlyUndoneError(err error, steps []step, at int, undone croft.ID) error {
	if at == 0 {
		return err
	}
	why := *croft.AsError("undo", err)
	var lines []string
	if why.Details != "" {
		lines = append(lines, why.Details)
	}
	for i, st := range steps {
		what := "done"
		if i >= at {
			what = "not done"
		}
		lines = append(lines, fmt.Sprintf("%s: %s", what, st))
	}
	why.Details = strings.Join(lines, "\n")
	again := "croft undo " + string(undone)
	switch {
	case why.Code == croft.WorkspaceDirty:
		why.Hint = "croft undo --force " + string(undone)
	case why.Hint == "":
		why.Hint = again + ", once that is mended"
	default:
		why.Hint += "; " + again + " takes the steps that are left"
	}
	return &why
}
