package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/explain"
)

// takeSteps takes an act back, step by step, and says what did not come back. If a step
// fails, the error says which were taken before it, and which were not.
func (e *Engine) takeSteps(ctx context.Context, r *repo, steps []step, a act, mode croft.RemoveMode) (notes []string, err error) {
	rewound := map[croft.ID]bool{}
	for i, st := range steps {
		switch {
		case st.revert != nil:
			if err = e.undoMerge(ctx, r, *st.revert, a); errors.Is(err, croft.NotMerged) {
				if gone := e.goneBefore(ctx, r, *st.revert); gone != "" {
					notes, err = append(notes, st.name()+": "+gone), nil
				}
			}
		case st.rewind != nil:
			err = e.rewind(ctx, r, *st.rewind, a)
			rewound[st.rec.Workspace.ID] = true
		case st.restore:
			was := e.left(ctx, r, st.rec)
			if err = e.restoreOne(ctx, r, st.rec, croft.RestoreWhole, a); err == nil {
				for _, note := range restoreNotes(st.rec, was) {
					notes = append(notes, st.name()+": "+note)
				}
			}
		default:
			how := undoMode(mode, rewound[st.rec.Workspace.ID])
			_, err = e.removeOne(ctx, r, st.rec, removal{Event: croft.EventWorkspaceRemoved, act: a}, how)
			err = undoByForce(err, a.undoes)
		}
		if err != nil {
			return nil, partly(explain.Error("undo", st.name(), err), steps, i, a.undoes)
		}
	}
	return notes, nil
}

// partly says of an undo that failed at a step what it did before, and how it goes on.
func partly(err error, steps []step, at int, undone croft.ID) error {
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
