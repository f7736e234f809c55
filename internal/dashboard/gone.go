package dashboard

import (
	"errors"

	"github.com/croft-sh/croft"
)

// describeGone says what became of the workspace that a path names, by its ID or, as a person may type it,
// by its name: where it is now, or how it went and how it comes back.
func (d *dashboard) describeGone(r *request, data *errorData) {
	named := r.PathValue("ws")
	ws, err := d.svc.Workspace(r.Context(), croft.WorkspaceRequest{Repo: r.ref(), Ref: croft.ByID(croft.ID(named)), Scope: croft.ScopeAll})
	if errors.Is(err, croft.WorktreeNotFound) || errors.Is(err, croft.InvalidRequest) {
		ws, err = d.svc.Workspace(r.Context(), croft.WorkspaceRequest{Repo: r.ref(), Ref: croft.ByName(named), Scope: croft.ScopeAll})
	}
	if err != nil {
		data.Happened = "No workspace of this project has this name or ID. It was never made, or nothing is left of it."
		data.Next, data.Command = "Look for it in the inbox, the trash or the history.", ""
		return
	}
	data.Command, data.Details = "", ""
	if ws.State != croft.Trashed {
		data.Happened = "The page of " + ws.Name + " has another address."
		data.Next, data.Open = "Open it there.", workspacePath(r.Repo.ID, ws.ID, "")
		return
	}
	data.Title = "No workspace is called " + ws.Name + " now"
	data.Open = workspacePath(r.Repo.ID, ws.ID, "")
	data.Happened = d.howItWent(ws)
	data.Left, data.Next = "Its commits are kept.", "Look at what is left of it."
	if !ws.KeptUntil.IsZero() {
		data.Left = "It can be restored for " + spanText(ws.KeptUntil.Sub(d.now())) + " at least."
		data.Next = "Bring the workspace back, or look at what is left of it."
		if r.mayAct() {
			data.Restore = data.Open + "/restore"
		}
	}
	if ws.Status == croft.ConditionMerged && r.mayAct() {
		if _, err := d.planRevert(r, ws); err == nil {
			data.Undo = data.Open + "/revert"
			data.Next = "Take the merge back, or bring the workspace back."
		}
	}
}

// howItWent says when and why a workspace went to the trash.
func (d *dashboard) howItWent(ws *croft.Workspace) string {
	ago := ""
	if !ws.RemovedAt.IsZero() {
		ago = " " + spanText(d.now().Sub(ws.RemovedAt)) + " ago"
	}
	switch ws.Status {
	case croft.ConditionMerged:
		text := "It was merged into " + ws.Target
		if ws.MergeCommit != "" {
			text += " as " + shortCommit(ws.MergeCommit)
		}
		return text + ", and its directory went to the trash" + ago + "."
	case croft.ConditionReverted:
		return "It was merged into " + ws.Target + " and taken back; its directory went to the trash" + ago + "."
	case croft.ConditionDiscarded:
		return "It was discarded" + ago + ", and its directory went to the trash."
	case croft.ConditionReaped:
		return "Its agent was gone, and its directory went to the trash" + ago + "."
	case croft.ConditionUndone:
		return "Its making was undone" + ago + ", and its directory went to the trash."
	}
	return "It was removed" + ago + ", and its directory went to the trash."
}
