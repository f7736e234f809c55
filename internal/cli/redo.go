package cli

import (
	"context"
	"slices"

	"github.com/croft-sh/croft"
)

// redoName is the name by which `croft undo` takes back the last undo.
const redoName = "redo"

// lastUndo finds the last undo that can be taken back. What took back an undo is no undo: to take that back would undo the act again.
// If that was taken back, too, the first undo is in force again, and is found.
func lastUndo(ctx context.Context, svc croft.History, repo croft.Ref) (croft.ID, error) {
	_, _ = svc.PlanUndo(ctx, croft.UndoRequest{Repo: repo}) // it recovers an undo whose process was killed, and which is the last, too
	acts, err := svc.History(ctx, croft.HistoryRequest{Repo: repo})
	if err != nil {
		return "", err
	}
	redone := func(act croft.Operation) bool {
		return slices.ContainsFunc(acts.Items, func(o croft.Operation) bool { return o.ID == act.Undoes && o.Kind == "undo" })
	}
	for _, act := range acts.Items {
		if act.Kind == "undo" && act.State == "running" {
			return "", &croft.Error{Code: croft.InProgress, Op: redoName, Message: "an undo of " + act.WorkspaceName + " has not ended", Hint: "croft history"}
		}
		if act.Kind == "undo" && act.IsUndoable && !redone(act) {
			return act.ID, nil
		}
	}
	return "", &croft.Error{Code: croft.OperationNotFound, Op: redoName, Message: "nothing was undone that could be done again", Hint: "croft history"}
}
