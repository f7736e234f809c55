package cli

import (
	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/cli/listing"
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

// conditionCells are the condition of a workspace as people read it, and the reason.
func conditionCells(ws *croft.Workspace) (state, why cell) {
	word, reason := listing.Condition(ws)
	if ws.IsUnseen() {
		return styledCell(word, styleDim), plainCell(reason)
	}
	return styledCell(word, kindOf(ws).Style()), plainCell(reason)
}

// kindOf is what the condition of a workspace asks of a person.
func kindOf(ws *croft.Workspace) screen.Kind { return listing.KindOf(ws) }

// workspacesResult has workspaces, the oldest first.
type workspacesResult struct {
	Workspaces []croft.Workspace `json:"workspaces"`
	Worktrees  *[]croft.Worktree `json:"worktrees,omitempty"` // with list --foreign: git's worktrees that are not Croft's
	Cursor     croft.Cursor      `json:"cursor,omitempty"`    // with list: for events --after
	Unseen     []croft.ID        `json:"unseen,omitempty"`    // with list: those that there was no time to look at: their state and next step are those of the record and the branches, and uncommitted work does not show; list --full takes the time
	Gone       []croft.ID        `json:"gone,omitempty"`      // with list --watch, which prints a line for each change: those that are not in the list any more
}
