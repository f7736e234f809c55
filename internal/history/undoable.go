package history

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/shellword"
)

// undoable is the act that a request means, with the steps that undo it.
type undoable struct {
	ops   []journal.Operation
	steps []step
	later [][]journal.Operation // later acts of other actors that could be undone, the last first
}

// findUndoable finds the act that a request means: the named one, or this actor's last
// act that was not undone and is not itself an undo.
func (svc *History) findUndoable(ctx context.Context, r *project.Project, req croft.UndoRequest) (undoable, error) {
	if req.Operation != "" {
		return svc.namedUndoable(ctx, r, string(req.Operation))
	}
	for _, limit := range []int{fewActs, historyLimit} {
		// If one of these cannot be read, which act was the last is not known.
		acts, err := svc.listActs(ctx, r, limit, svc.Journal.ReadableHistory)
		if err != nil {
			return undoable{}, err
		}
		u, err := svc.lastUndoable(ctx, acts)
		if u.ops != nil || err != nil || len(acts) < limit {
			return u, cmp.Or(err, svc.requireLast(ctx, r, u))
		}
	}
	return undoable{}, svc.requireLast(ctx, r, undoable{})
}

// namedUndoable finds the act with an ID, or the beginning of one.
func (svc *History) namedUndoable(ctx context.Context, r *project.Project, id string) (undoable, error) {
	whole, err := svc.WholeID(ctx, journal.IdentifiedActs, r.ID, id)
	if err != nil {
		return undoable{}, err
	}
	ops, err := svc.Journal.Act(ctx, cmp.Or(whole, croft.ID(id)))
	if err != nil {
		return undoable{}, err
	}
	if len(ops) == 0 || ops[0].Repo != r.ID {
		return undoable{}, &croft.Error{Code: croft.OperationNotFound, Message: fmt.Sprintf("there is no operation %q", id), Hint: "croft history"}
	}
	steps, err := svc.planInverse(ctx, ops, 0)
	if err == nil && len(steps) == 0 {
		err = nothingToUndoError("of that operation nothing is left to take back")
	}
	return undoable{ops: ops, steps: steps}, err
}

// fewActs are so many acts that the one to undo is mostly among them: to read a hundred takes
// longer than to undo one.
const fewActs = 8

// lastUndoable finds the last of some acts that is this actor's and of which something is left to
// undo. An act of the actor's that has not ended is the last one, and cannot be undone yet. An undo that
// was interrupted is carried on.
func (svc *History) lastUndoable(ctx context.Context, acts [][]journal.Operation) (undoable, error) {
	var later [][]journal.Operation
	isNewest := true // of this actor's
	for _, ops := range acts {
		isOwn := ops[0].Actor == svc.Actor(ctx)
		if isOwn && isRunning(ops) {
			return undoable{}, notEndedError(ops)
		}
		if isOwn && isNewest && ops[0].Undoes != "" {
			u, err := svc.interruptedUndo(ctx, ops[0])
			if u.ops != nil || err != nil {
				return u, err
			}
		}
		isNewest = isNewest && !isOwn
		if ops[0].Undoes != "" {
			continue
		}
		steps, err := svc.planInverse(ctx, ops, 0)
		switch {
		case isOwn && (err != nil || len(steps) > 0):
			return undoable{ops: ops, steps: steps, later: later}, err
		case !isOwn && err == nil && len(steps) > 0:
			later = append(later, ops)
		}
	}
	return undoable{}, nil
}

// interruptedUndo returns the act that an undo took back without recording that, because its process was killed, with the
// steps that are left; nothing if the undo was not interrupted.
func (svc *History) interruptedUndo(ctx context.Context, undo journal.Operation) (undoable, error) {
	ops, err := svc.Journal.Act(ctx, undo.Undoes)
	if err != nil || len(ops) == 0 || undo.State != journal.OpDone || ops[0].State != journal.OpDone {
		return undoable{}, err
	}
	steps, err := svc.planInverse(ctx, ops, 0)
	return undoable{ops: ops, steps: steps}, err
}

func isRunning(ops []journal.Operation) bool {
	for _, op := range ops {
		if op.State == journal.OpRunning {
			return true
		}
	}
	return false
}

// requireLast fails if there is nothing to undo, or if this actor asked for a merge after the act that would be undone, and that merge
// has not ended: it is no act yet, and to undo the act before it would be a surprise.
func (svc *History) requireLast(ctx context.Context, r *project.Project, u undoable) error {
	waiting, err := svc.Journal.Waiting(ctx, r.ID, "", -1)
	if err != nil {
		return err
	}
	var since time.Time
	if u.ops != nil {
		since = u.ops[0].StartedAt
	}
	for _, m := range waiting {
		if actor.Of(m.Merge) != svc.Actor(ctx) || !m.SubmittedAt.After(since) {
			continue
		}
		e := &croft.Error{
			Code: croft.InProgress, Workspace: m.WorkspaceName, Message: fmt.Sprintf("the last that you asked for, the %s of %s, has not ended", m.Kind, m.WorkspaceName),
			Hint: "croft queue cancel " + shellword.Quote(m.WorkspaceName),
		}
		if u.ops != nil {
			e.Details = "what was done before it is taken back by its ID: croft undo " + string(u.ops[0].Act)
		}
		return e
	}
	if u.ops == nil {
		return nothingToUndoError("there is nothing of yours to take back")
	}
	return nil
}

// notEndedError says that the last act of an actor goes on.
func notEndedError(ops []journal.Operation) error {
	act := describeAct(ops, false)
	return &croft.Error{Code: croft.InProgress, Message: fmt.Sprintf("the last that you did, %s of %s, has not ended", act.Kind, act.WorkspaceName), Hint: "croft history"}
}

func nothingToUndoError(message string) error {
	return &croft.Error{Code: croft.InvalidRequest, Message: message, Hint: "croft history"}
}
