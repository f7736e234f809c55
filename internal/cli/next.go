package cli

import (
	"strings"

	"github.com/croft-sh/croft"
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
	return styledCell(strings.ReplaceAll(string(ws.Status), "-", " "), conditionStyle(ws.Status)), plainCell(orDash(ws.Why))
}

// conditionStyle is the colour of a condition: red if a person must act, yellow if one
// should look, green if it is ready for one, blue if it goes on by itself, and dim if there
// is nothing to do.
func conditionStyle(c croft.Condition) style {
	switch c {
	case croft.ConditionMissing, croft.ConditionBroken, croft.ConditionConflict, croft.ConditionCheckFailed, croft.ConditionStuck:
		return styleRed
	case croft.ConditionToReview, croft.ConditionPending, croft.ConditionAhead:
		return styleGreen
	case croft.ConditionMaking, croft.ConditionMerging, croft.ConditionChecking, croft.ConditionQueued, croft.ConditionWorking:
		return styleBlue
	case croft.ConditionMerged, croft.ConditionInPlace, croft.ConditionLocked, croft.ConditionUnseen, croft.ConditionEmpty, croft.ConditionRemoved,
		croft.ConditionDiscarded, croft.ConditionReaped, croft.ConditionUndone:
		return styleDim
	}
	return styleYellow
}

// workspacesResult has workspaces, the oldest first.
type workspacesResult struct {
	Workspaces []croft.Workspace `json:"workspaces"`
	Worktrees  *[]croft.Worktree `json:"worktrees,omitempty"` // with list --foreign: git's worktrees that are not Croft's
	Cursor     croft.Cursor      `json:"cursor,omitempty"`    // with list: for events --after
	Unseen     []croft.ID        `json:"unseen,omitempty"`    // with list: those that there was no time to look at; list --full takes it
}
