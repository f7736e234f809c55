package cli

import (
	"context"

	"github.com/croft-sh/croft"
)

// redoName is the name by which `croft undo` takes back the last undo.
const redoName = "redo"

// lastUndo finds the last undo that can be taken back. What took back an undo is no undo: to take that back would undo the act again.
func lastUndo(ctx context.Context, svc croft.History, repo croft.Ref) (croft.ID, error) {
	acts, err := svc.History(ctx, croft.HistoryRequest{Repo: repo})
	if err != nil {
		return "", err
	}
	isUndo := map[croft.ID]bool{}
	for _, act := range acts.Items {
		isUndo[act.ID] = act.Kind == "undo"
	}
	for _, act := range acts.Items {
		if act.Kind == "undo" && act.IsUndoable && !isUndo[act.Undoes] {
			return act.ID, nil
		}
	}
	return "", &croft.Error{Code: croft.OperationNotFound, Op: redoName, Message: "nothing was undone that could be done again", Hint: "croft history"}
}
