package cli

import (
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/screen"
)

// withCommands adapts the next steps of workspaces to where the person stands: checks are
// approved in the project, and nowhere else.
func (a *app) withCommands(workspaces []croft.Workspace) []croft.Workspace {
	for i := range workspaces {
		ws := &workspaces[i]
		if next := ws.Next; next != nil && next.Action == croft.ActionApprove && a.env.Dir != ws.Repo {
			ws.Next = &croft.Next{What: next.What, Action: next.Action, Command: "cd " + shellWord(ws.Repo) + " && " + next.Command}
		}
	}
	return workspaces
}

// nextCell is the command for the next step of a workspace, in a table.
func nextCell(ws *croft.Workspace) cell {
	if ws.Next == nil {
		return plainCell("-")
	}
	return cell{command: ws.Next.Command}
}

// conditionCells are the condition of a workspace as people read it, and the reason. That
// nobody has looked is the condition then, and no reason.
func conditionCells(ws *croft.Workspace) (state, why cell) {
	if ws.IsUnseen() {
		return styledCell("not looked at", styleDim), plainCell("-")
	}
	return styledCell(strings.ReplaceAll(string(ws.Status), "-", " "), kindOf(ws).Style()), plainCell(orDash(ws.Why))
}

// kindOf is what the condition of a workspace asks of a person.
func kindOf(ws *croft.Workspace) screen.Kind {
	if ws.IsUnseen() {
		return screen.Nothing
	}
	switch ws.Status {
	case croft.ConditionMissing, croft.ConditionBroken, croft.ConditionConflict, croft.ConditionCheckFailed, croft.ConditionStuck:
		return screen.Stuck
	case croft.ConditionToReview, croft.ConditionPending, croft.ConditionAhead:
		return screen.Ready
	case croft.ConditionMaking, croft.ConditionMerging, croft.ConditionChecking, croft.ConditionQueued, croft.ConditionWorking:
		return screen.Going
	case croft.ConditionMerged:
		return screen.Done
	case croft.ConditionInPlace, croft.ConditionLocked, croft.ConditionUnseen, croft.ConditionEmpty, croft.ConditionRemoved,
		croft.ConditionDiscarded, croft.ConditionReaped, croft.ConditionUndone:
		return screen.Nothing
	case croft.ConditionWaiting:
		if ws.Next == nil {
			return screen.Going // what it waits for comes by itself
		}
	}
	return screen.Look
}

// workspacesResult has workspaces, the oldest first.
type workspacesResult struct {
	Workspaces []croft.Workspace `json:"workspaces"`
	Worktrees  *[]croft.Worktree `json:"worktrees,omitempty"` // with list --foreign: git's worktrees that are not Croft's
	Cursor     croft.Cursor      `json:"cursor,omitempty"`    // with list: for events --after
	Unseen     []croft.ID        `json:"unseen,omitempty"`    // with list: those that there was no time to look at; list --full takes it
	Gone       []croft.ID        `json:"gone,omitempty"`      // with list --watch, which prints a line for each change: those that are not in the list any more
}
