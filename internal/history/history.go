// Package history shows what was done in a project, by which actor, and undoes it.
//
// An act is what one call did, however many operations it took. It is undone by its
// inverse: a removal by a restore, a merge by a revert through its lane, a rewind by
// another one, a creation by a removal. The plan says every step before it is taken,
// and why one cannot be. An undo is an act of its own, which can be undone.
//
// The package also streams events. The acts that it shows are in the journal. Other
// packages carry out the steps of an undo; this one only marks acts in the journal as
// reversed or in force again.
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
	"github.com/croft-sh/croft/internal/actor"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/lane"
	"github.com/croft-sh/croft/internal/once"
	"github.com/croft-sh/croft/internal/page"
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

// historyLimit is how many operations are listed unless the caller asks for more.
const historyLimit = 100

// ShowHistory lists the acts of a project, the last first.
func (svc *History) ShowHistory(ctx context.Context, s project.Location, req croft.HistoryRequest) (*croft.List[croft.Operation], error) {
	req.Limit = cmp.Or(req.Limit, historyLimit)
	acts, err := svc.listActs(ctx, s.Project, page.Reach(req.Page), svc.Journal.History)
	if err != nil {
		return nil, err
	}
	shown, err := page.Cut(acts, req.Page, page.Newest, func(ops []journal.Operation) page.Key {
		return page.Key{ID: string(ops[0].Act), At: ops[0].StartedAt}
	})
	if err != nil {
		return nil, err
	}
	undone := undoneActs(acts)
	out := &croft.List[croft.Operation]{Items: make([]croft.Operation, len(shown.Items)), Next: shown.Next}
	for i, ops := range shown.Items {
		if out.Items[i], err = svc.showAct(ctx, ops, undone); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ShowOperation returns the act with an ID.
func (svc *History) ShowOperation(ctx context.Context, s project.Location, req croft.GetRequest) (*croft.Operation, error) {
	whole, err := svc.WholeID(ctx, journal.IdentifiedActs, s.ID, req.Ref)
	if err != nil {
		return nil, err
	}
	ops, err := svc.act(ctx, cmp.Or(whole, croft.RefToID(req.Ref)))
	if err != nil {
		return nil, err
	}
	if len(ops) == 0 || ops[0].Repo != s.ID {
		return nil, &croft.Error{Code: croft.OperationNotFound, Message: fmt.Sprintf("there is no operation %q", req.Ref), Hint: "croft history"}
	}
	undoing, err := svc.Journal.Undoing(ctx, ops[0].Act)
	if err != nil {
		return nil, err
	}
	out, err := svc.showAct(ctx, ops, map[croft.ID]bool{ops[0].Act: len(undoing) > 0})
	return &out, err
}

// act lists the operations of one act, the first first, without publications.
func (svc *History) act(ctx context.Context, id croft.ID) ([]journal.Operation, error) {
	ops, err := svc.Journal.Act(ctx, id)
	return slices.DeleteFunc(ops, func(op journal.Operation) bool { return op.Kind == "publish" }), err
}

// undoneActs returns the IDs of the acts that other acts undid.
func undoneActs(acts [][]journal.Operation) map[croft.ID]bool {
	undone := map[croft.ID]bool{}
	for _, ops := range acts {
		undone[ops[0].Undoes] = true
	}
	return undone
}

// showAct returns an act as callers see it, and whether it can be undone.
func (svc *History) showAct(ctx context.Context, ops []journal.Operation, undone map[croft.ID]bool) (croft.Operation, error) {
	steps, err := svc.planInverse(ctx, ops, 1)
	if _, ok := errors.AsType[*journal.RowError](err); ok {
		steps, err = nil, nil // a row that the undo needs cannot be read, so the act is shown as one that cannot be undone
	}
	isUndoable := len(steps) > 0
	if isUndoable && slices.ContainsFunc(ops, isMerge) {
		// Of a merge that was reverted by another act, the workspace in the trash is left. That is restored by its
		// name: to undo the merge would say something else.
		steps, err = svc.planInverse(ctx, ops, 0)
		isUndoable = err == nil && slices.ContainsFunc(steps, func(s step) bool { return s.revert != nil })
	}
	op := svc.describe(ctx, ops, isUndoable)
	if undone[op.ID] && op.State == string(journal.OpDone) && !op.IsUndoable {
		op.State = "undone" // its process died before it could record that
	}
	return op, err
}

// listActs lists the operations of a repository by the act that they were part of, the
// last act first. list is a list of the journal's: it reads the last ones of a number.
func (svc *History) listActs(ctx context.Context, r *project.Project, limit int, list func(context.Context, croft.ID, int) ([]journal.Operation, error)) ([][]journal.Operation, error) {
	for most := 10 * limit; ; most *= 4 { // an act has a few operations, or many
		ops, err := list(ctx, r.ID, most)
		if err != nil {
			return nil, err
		}
		acts := byAct(ops, limit)
		if most <= 0 || len(ops) < most {
			return acts, nil
		}
		if len(acts) < limit {
			continue
		}
		for i, ops := range acts { // the first operations of one may be further back
			if acts[i], err = svc.act(ctx, ops[0].Act); err != nil {
				return nil, err
			}
		}
		return acts, nil
	}
}

// byAct groups operations, the last first, by the act that they were part of. It returns at
// most as many acts as the limit says, unless that is negative.
func byAct(ops []journal.Operation, limit int) [][]journal.Operation {
	var acts [][]journal.Operation
	index := map[croft.ID]int{}
	for _, op := range ops {
		i, ok := index[op.Act]
		if !ok {
			if len(acts) == limit {
				continue
			}
			i = len(acts)
			index[op.Act] = i
			acts = append(acts, nil)
		}
		acts[i] = append([]journal.Operation{op}, acts[i]...)
	}
	return acts
}

// describeAct returns an act as callers see it.
func describeAct(ops []journal.Operation, undoable bool) croft.Operation {
	first := ops[0]
	out := croft.Operation{
		ID: first.Act, RepoID: first.Repo, Kind: first.Kind, State: string(first.State), StartedAt: first.StartedAt.UTC(),
		IsUndoable: undoable, Undoes: first.Undoes,
	}
	out.Actor, out.ActorWorkspace = actor.Cut(first.Actor)
	if first.Undoes != "" {
		out.Kind = "undo"
	} else if isDiscard(first) {
		out.Kind = "discard"
	}
	if first.State == journal.OpReversed {
		out.State = "undone"
	}
	var names []string
	for _, op := range ops {
		if op.State == journal.OpRunning {
			out.State = string(journal.OpRunning)
		}
		names, out.Workspaces = appendNew(names, op.Names), appendNew(out.Workspaces, op.Workspaces)
	}
	out.WorkspaceName = strings.Join(names, " ")
	if len(out.Workspaces) == 1 {
		out.Workspace = out.Workspaces[0]
	}
	return out
}

// isDiscard reports whether an operation removed a workspace because its work was not wanted.
func isDiscard(op journal.Operation) bool {
	var how removal.Spec
	return op.Kind == "remove" && json.Unmarshal(op.Input, &how) == nil && how.As == croft.ConditionDiscarded
}

// appendNew appends what a list does not have.
func appendNew[T comparable](list, more []T) []T {
	for _, v := range more {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
}

// step is one part of an undo.
type step struct {
	rec     journal.Record
	restore bool            // from the trash
	rewind  *croft.Snapshot // to this snapshot
	revert  *journal.Merge  // this merge; else the workspace is removed
	brings  bool            // reverting that one brings work to the target again
}

func (s step) name() string {
	if s.revert != nil {
		return s.revert.WorkspaceName
	}
	return s.rec.Workspace.Name
}

func (s step) String() string {
	w := s.rec.Workspace
	if s.revert != nil && s.brings {
		return fmt.Sprintf("bring the work of %s back to %s by a revert of %s", s.revert.WorkspaceName, s.revert.Target, shortCommit(s.revert.Commit))
	}
	if s.revert != nil {
		return fmt.Sprintf("revert the merge of %s on %s, %s", s.revert.WorkspaceName, s.revert.Target, shortCommit(s.revert.Commit))
	}
	if s.rewind != nil {
		return fmt.Sprintf("bring %s back to the snapshot of %s", w.Name, s.rewind.CreatedAt.Format(time.RFC3339))
	}
	if s.restore {
		return fmt.Sprintf("restore %s from the trash to %s", w.Name, w.Path)
	}
	return fmt.Sprintf("move %s to the trash, with branch %s", w.Name, w.Branch)
}

// planInverse returns the steps that undo an act in the present state, the last first:
// workspaces that the act made or restored are removed, those that it removed are
// restored. Steps that are already undone are left out. If most is positive, it looks for so
// many steps only.
func (svc *History) planInverse(ctx context.Context, ops []journal.Operation, most int) ([]step, error) {
	var steps []step
	restored := map[croft.ID]bool{} // workspaces that the steps restore
	ops = slices.Clone(ops)
	slices.SortStableFunc(ops, func(a, b journal.Operation) int { return a.EndedAt.Compare(b.EndedAt) })
	for _, op := range slices.Backward(ops) {
		if op.State != journal.OpDone {
			continue
		}
		if isMerge(op) {
			m, err := svc.mergeOf(ctx, op)
			if err != nil {
				return nil, err
			}
			if m != nil {
				brings, err := svc.takesAway(ctx, *m)
				if err != nil {
					return nil, err
				}
				steps = append(steps, step{revert: m, brings: brings})
			}
			continue
		}
		for _, id := range slices.Backward(op.Workspaces) {
			if most > 0 && len(steps) >= most {
				return steps, nil
			}
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
	return revertsFirst(steps), nil
}

// revertsFirst puts the reverts of merges before what becomes of workspaces: a revert is the step that others can refuse, by a
// conflict or a check that fails, and then nothing is to be done. No other step needs to come before it.
func revertsFirst(steps []step) []step {
	slices.SortStableFunc(steps, func(x, y step) int {
		if isRevert := x.revert != nil; isRevert == (y.revert != nil) {
			return 0
		} else if isRevert {
			return -1
		}
		return 1
	})
	return steps
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
	return &croft.Error{Code: done.Reason, Workspace: m.WorkspaceName, Message: done.Message, Details: done.Details, Hint: done.Hint}
}

// UndoAct undoes an act. A call with a key undoes the act that the first call with that key
// found; once that is undone, it returns the undo.
func (svc *History) UndoAct(ctx context.Context, s project.Location, req croft.UndoRequest) (*croft.Operation, error) {
	if once.HasKey(ctx) {
		before, err := svc.pinUndone(ctx, s.Project, &req)
		if before != nil || err != nil {
			return before, err
		}
	}
	u, err := svc.findUndoable(ctx, s.Project, req)
	if err != nil {
		return nil, err
	}
	if !once.HasKey(ctx) { // else pinUndone has compared, before the first step
		if err := svc.requireShown(ctx, s.Project, u.steps, req.Stamps); err != nil {
			return nil, err
		}
	}
	first := u.ops[0]
	a := project.Act{Undoes: first.Act}
	// The steps of a call that was killed and those of the repeated call are one act.
	if a.ID, err = once.PinID(ctx, "undo", project.NewID); err != nil {
		return nil, err
	}
	notes, err := svc.takeSteps(ctx, s.Project, u.steps, a, req.Mode)
	if err != nil {
		return nil, err
	}
	done, err := svc.Journal.Act(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	changed := len(done) > 0
	if !changed { // other calls have undone all of it before
		done = []journal.Operation{svc.emptyUndo(ctx, u.ops, a)}
	}
	out := svc.describe(ctx, done, changed)
	out.Notes = notes
	err = svc.Journal.Update(ctx, func(tx *journal.Tx) (err error) {
		if !changed {
			err = tx.Add(done[0])
		}
		return errors.Join(err, recordUndone(tx, first), once.Answer(ctx, tx, &out))
	})
	if err != nil {
		return nil, err
	}
	return &out, nil
}

// recordUndone records that the act of an operation was undone.
func recordUndone(tx *journal.Tx, op journal.Operation) error {
	err := tx.Reverse(op.Act, journal.OpReversed)
	if op.Undoes != "" { // the act was itself an undo: the act that it undid is in force again
		err = errors.Join(err, tx.Reverse(op.Undoes, journal.OpDone))
	}
	return err
}
