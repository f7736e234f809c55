// Package history shows what was done in a project, by whom, and takes it back.
//
// An act is what one call did, however many operations it took. It is undone by its inverse: a removal by a restore, a merge by a revert through its lane, a rewind by another
// one, a creation by a removal. The plan says every step before it is taken, and why one
// cannot be. An undo is an act of its own, which can be undone.
//
// It also streams events. What it shows is in the journal; what it does, the other rooms do,
// and it only marks acts there as reversed or in force again.
package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/removal"
	"github.com/croft-sh/croft/internal/rewind"
	"github.com/croft-sh/croft/internal/trash"
)

// History shows acts and undoes them.
type History struct {
	*project.Projects
	Removals *removal.Removals // required
	Trash    *trash.Trash      // required
	Rewinds  *rewind.Rewinds   // required
	Lanes    *lane.Lanes       // required
}

// historyLimit is how many operations are listed unless more are asked for.
const historyLimit = 100

// ShowHistory lists acts, the last first.
func (svc *History) ShowHistory(ctx context.Context, s project.Location, req croft.HistoryRequest) ([]croft.Operation, error) {
	acts, err := svc.listActs(ctx, s.Project, cmp.Or(max(req.Limit, 0), historyLimit))
	if err != nil {
		return nil, err
	}
	out := make([]croft.Operation, len(acts))
	undone := map[croft.ID]bool{}
	for i, ops := range acts {
		steps, err := svc.planInverse(ctx, ops)
		if err != nil {
			return nil, err
		}
		out[i] = describeAct(ops, len(steps) > 0)
		if op := out[i]; undone[op.ID] && op.State == string(journal.OpDone) && !op.IsUndoable {
			out[i].State = "undone" // by a process that died before it could say so
		}
		undone[ops[0].Undoes] = true
	}
	return out, nil
}

// listActs lists the operations of a repository by the call that they were part
// of, the last call first.
func (svc *History) listActs(ctx context.Context, r *project.Project, limit int) ([][]journal.Operation, error) {
	ops, err := svc.Journal.History(ctx, r.ID, 10*limit)
	if err != nil {
		return nil, err
	}
	var acts [][]journal.Operation
	index := map[croft.ID]int{}
	for _, op := range ops {
		i, ok := index[op.Act]
		if !ok {
			if len(acts) == limit {
				break
			}
			i = len(acts)
			index[op.Act] = i
			acts = append(acts, nil)
		}
		acts[i] = append([]journal.Operation{op}, acts[i]...)
	}
	return acts, nil
}

// describeAct returns an act as callers see it.
func describeAct(ops []journal.Operation, undoable bool) croft.Operation {
	first := ops[0]
	out := croft.Operation{
		ID: first.Act, Kind: first.Kind, State: string(first.State), StartedAt: first.StartedAt.UTC(),
		IsUndoable: undoable, Undoes: first.Undoes,
	}
	out.Actor, out.ActorWorkspace = project.CutActor(first.Actor)
	if first.Undoes != "" {
		out.Kind = "undo"
	}
	if first.State == journal.OpReversed {
		out.State = "undone"
	}
	var names []string
	for _, op := range ops {
		if op.State == journal.OpRunning {
			out.State = string(journal.OpRunning)
		}
		for _, n := range op.Names {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	out.Workspace = strings.Join(names, " ")
	return out
}

// step is one part of an undo.
type step struct {
	rec     journal.Record
	restore bool            // from the trash
	rewind  *croft.Snapshot // to this snapshot
	revert  *journal.Merge  // this merge; else the workspace is removed
}

func (s step) name() string {
	if s.revert != nil {
		return s.revert.Workspace
	}
	return s.rec.Workspace.Name
}

func (s step) String() string {
	w := s.rec.Workspace
	if s.revert != nil && s.revert.Kind == croft.KindRevert {
		return fmt.Sprintf("bring the work of %s back to %s", s.revert.Workspace, s.revert.Target)
	}
	if s.revert != nil {
		return fmt.Sprintf("revert the merge of %s on %s", s.revert.Workspace, s.revert.Target)
	}
	if s.rewind != nil {
		return fmt.Sprintf("bring %s back to the snapshot of %s", w.Name, s.rewind.CreatedAt.Format(time.RFC3339))
	}
	if s.restore {
		return fmt.Sprintf("restore %s from the trash to %s", w.Name, w.Path)
	}
	return fmt.Sprintf("move %s to the trash, with branch %s", w.Name, w.Branch)
}

// planInverse returns the steps that undo an act in the present state, the last first: what
// it made or restored is removed, what it removed is restored. Steps that are already
// undone are left out.
func (svc *History) planInverse(ctx context.Context, ops []journal.Operation) ([]step, error) {
	var steps []step
	restored := map[croft.ID]bool{} // by the steps
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b journal.Operation) int { return a.EndedAt.Compare(b.EndedAt) })
	for _, op := range slices.Backward(ops) {
		if op.State != journal.OpDone {
			continue
		}
		if op.Kind == string(croft.KindMerge) || op.Kind == string(croft.KindRevert) || op.Kind == string(croft.KindApply) {
			m, err := svc.mergeOf(ctx, op)
			if err != nil {
				return nil, err
			}
			if m != nil {
				steps = append(steps, step{revert: m})
			}
			continue
		}
		for _, id := range slices.Backward(op.Workspaces) {
			rec, err := svc.Journal.Record(ctx, id)
			if errors.Is(err, journal.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			trashed := rec.Workspace.State == croft.Trashed
			switch {
			case op.Kind == "remove" && trashed && rec.Trash != nil && !rec.Trash.Purged && rec.Workspace.Mode != croft.ModeLegacy:
				steps = append(steps, step{rec: rec, restore: true})
				restored[id] = true
			case (op.Kind == "rewind" || op.Kind == "resolve") && (!trashed || restored[id]):
				var how rewind.Spec
				if err := json.Unmarshal(op.Input, &how); err != nil {
					return nil, err
				}
				steps = append(steps, step{rec: rec, rewind: &how.From})
			case (op.Kind == "create" || op.Kind == "restore") && !trashed:
				steps = append(steps, step{rec: rec})
			}
		}
	}
	return steps, nil
}

// mergeOf returns the merge of an operation, or nil if it is no longer in force.
func (svc *History) mergeOf(ctx context.Context, op journal.Operation) (*journal.Merge, error) {
	var in lane.MergeInput
	if err := json.Unmarshal(op.Input, &in); err != nil {
		return nil, err
	}
	m, err := svc.Journal.Merge(ctx, in.Merge)
	if errors.Is(err, journal.ErrNotFound) || err == nil && m.Status != croft.MergeMerged {
		return nil, nil
	}
	return &m, err
}

// undoMerge reverts a merge through its lane.
func (svc *History) undoMerge(ctx context.Context, r *project.Project, m journal.Merge, a project.Act) error {
	back, err := svc.Lanes.SubmitRevert(ctx, r, croft.RevertRequest{Merge: m.ID}, a)
	if err != nil {
		return err
	}
	done, err := svc.Lanes.AwaitMerge(ctx, back.ID)
	if err != nil || done.Status == croft.MergeMerged {
		return err
	}
	return &croft.Error{Code: done.Reason, Workspace: m.Workspace, Message: done.Message, Details: done.Details, Hint: done.Hint}
}

// undoable is an act that a request means, with the steps that undo it.
type undoable struct {
	ops   []journal.Operation
	steps []step
	later [][]journal.Operation // later acts of other actors that could be undone, the last first
}

// toUndo finds the act of a request: the named one, or this actor's last that was not
// undone and is not itself an undo.
func (svc *History) toUndo(ctx context.Context, r *project.Project, req croft.UndoRequest) (undoable, error) {
	if req.Operation != "" {
		ops, err := svc.Journal.Act(ctx, req.Operation)
		if err != nil {
			return undoable{}, err
		}
		if len(ops) == 0 || ops[0].Repo != r.ID {
			return undoable{}, nothingToUndoError(fmt.Sprintf("there is no operation %q", req.Operation))
		}
		steps, err := svc.planInverse(ctx, ops)
		if err == nil && len(steps) == 0 {
			err = nothingToUndoError("of that operation nothing is left to take back")
		}
		return undoable{ops: ops, steps: steps}, err
	}
	acts, err := svc.listActs(ctx, r, historyLimit)
	if err != nil {
		return undoable{}, err
	}
	var later [][]journal.Operation
	for _, ops := range acts {
		if ops[0].Undoes != "" {
			continue
		}
		isOwn := ops[0].Actor == svc.Actor()
		steps, err := svc.planInverse(ctx, ops)
		switch {
		case isOwn && (err != nil || len(steps) > 0):
			return undoable{ops: ops, steps: steps, later: later}, err
		case !isOwn && err == nil && len(steps) > 0:
			later = append(later, ops)
		}
	}
	return undoable{}, nothingToUndoError("there is nothing of yours to take back")
}

func nothingToUndoError(message string) error {
	return &croft.Error{Code: croft.InvalidRequest, Message: message, Hint: "croft history"}
}

// UndoAct undoes an act.
func (svc *History) UndoAct(ctx context.Context, s project.Location, req croft.UndoRequest) (*croft.Operation, error) {
	u, err := svc.toUndo(ctx, s.Project, req)
	if err != nil {
		return nil, err
	}
	first := u.ops[0]
	a := project.Act{ID: project.NewID(), Undoes: first.Act}
	notes, err := svc.takeSteps(ctx, s.Project, u.steps, a, req.Mode)
	if err != nil {
		return nil, err
	}
	done, err := svc.Journal.Act(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	changed := len(done) > 0
	if !changed { // others have undone all of it before
		done = []journal.Operation{svc.emptyUndo(u.ops, a)}
	}
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if !changed {
			err = tx.Add(done[0])
		}
		err = errors.Join(err, tx.Reverse(first.Act, journal.OpReversed))
		if first.Undoes != "" { // what the act had itself undone is in force again
			err = errors.Join(err, tx.Reverse(first.Undoes, journal.OpDone))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	out := describeAct(done, changed)
	out.Notes = notes
	return &out, nil
}
