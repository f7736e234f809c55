package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/journal"
)

// planUndo says what Undo would do.
func (e *Engine) planUndo(ctx context.Context, s standing, req croft.UndoRequest) (*croft.UndoPlan, error) {
	u, err := e.toUndo(ctx, s.repo, req)
	if err != nil {
		return nil, err
	}
	plan := &croft.UndoPlan{Operation: describe(u.ops, true)}
	for _, ops := range u.later {
		plan.Later = append(plan.Later, describe(ops, true))
	}
	rewound := map[croft.ID]bool{}
	for _, st := range u.steps {
		line := st.String()
		switch {
		case st.revert != nil:
			if gone := e.goneBefore(ctx, s.repo, *st.revert); gone != "" {
				line += ": " + gone
			}
		case st.rewind != nil:
			rewound[st.rec.Workspace.ID] = true
		case !st.restore && plan.Refused == nil:
			err := e.guardNow(ctx, s.repo, st.rec, undoMode(req.Mode, rewound[st.rec.Workspace.ID]))
			if ctx.Err() != nil {
				return nil, explain.About(st.name(), err)
			}
			if err != nil {
				plan.Refused = croft.AsError("undo", explain.Error("undo", st.name(), undoByForce(err, plan.Operation.ID)))
			}
		}
		plan.Steps = append(plan.Steps, line)
	}
	return plan, nil
}

// undoMode is how an undo removes a workspace. One that it has just rewound came from the
// trash with the work that it has, and what it had since is saved.
func undoMode(asked croft.RemoveMode, isRewound bool) croft.RemoveMode {
	if isRewound && asked == croft.RemoveSafe {
		return removeWithWork
	}
	return asked
}

// undoByForce says of a removal that was refused because of uncommitted work how the undo
// that it is part of takes place.
func undoByForce(err error, undone croft.ID) error {
	why, ok := errors.AsType[*croft.Error](err)
	if !ok || why.Code != croft.WorkspaceDirty {
		return err
	}
	told := *why
	told.Hint = "croft undo --force " + string(undone)
	return &told
}

// goneBefore says of a merge whose target has nothing to take back how that is. It is
// empty if there is something, and if that cannot be told.
func (e *Engine) goneBefore(ctx context.Context, r *repo, m journal.Merge) string {
	if m.Commit == "" || m.Before == "" || r.git == nil {
		return ""
	}
	tip, err := r.git.ReadRef(ctx, "refs/heads/"+m.Target)
	if err != nil {
		return ""
	}
	attempts, err := r.git.Attempts(git.InMemory)
	if err != nil {
		return ""
	}
	defer attempts.Close()
	merged, err := attempts.MergeOver(ctx, m.Commit, tip, m.Before)
	if err != nil || !merged.Clean() {
		return ""
	}
	if at, err := attempts.ReadCommit(ctx, tip); err != nil || merged.Tree != at.Tree {
		return ""
	}
	isEmpty, err := e.broughtNothing(ctx, r, m)
	switch {
	case err != nil:
		return ""
	case isEmpty:
		return fmt.Sprintf("it changed nothing on %s", m.Target)
	case m.Kind == croft.KindRevert:
		return fmt.Sprintf("%s has all of it again", m.Target)
	}
	return fmt.Sprintf("%s has nothing of it any more", m.Target)
}

// emptyUndo is the operation of an undo that found nothing to do, for the history.
func (e *Engine) emptyUndo(undone []journal.Operation, a act) journal.Operation {
	op := journal.Operation{
		ID: newID(), Act: a.id, Undoes: a.undoes, Kind: "undo", Actor: e.actor(), Repo: undone[0].Repo, State: journal.OpDone,
		Input: []byte("{}"), Owner: self(), StartedAt: e.now(), EndedAt: e.now(),
	}
	for _, was := range undone {
		op.Workspaces, op.Names = append(op.Workspaces, was.Workspaces...), append(op.Names, was.Names...)
	}
	return op
}
