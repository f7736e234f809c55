package dashboard

import (
	"net/url"

	"github.com/croft-sh/croft"
)

// laterShown is how many of the later merges are listed.
const laterShown = 20

// revertData is the question before a merge is taken back.
type revertData struct {
	Plan   *croft.RevertPlan
	Later  []croft.Merge // some of those that came after it
	Action string
	Back   string
}

// revertPage asks before the merge of a workspace is taken back.
func (d *dashboard) revertPage(r *request) (*page, error) {
	ws, err := d.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	m, err := d.newestMerge(r, ws)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, &croft.Error{Code: croft.NotMerged, Op: "revert", Workspace: ws.Name, Message: "its work was never merged"}
	}
	return d.askRevert(r, m.ID, workspacePath(r.Repo.ID, ws.ID, ""))
}

// revertMergePage asks before a merge is taken back, whatever became of its workspace.
func (d *dashboard) revertMergePage(r *request) (*page, error) {
	return d.askRevert(r, croft.ID(r.PathValue("merge")), repoPath(r.Repo.ID, "queue"))
}

func (d *dashboard) askRevert(r *request, id croft.ID, back string) (*page, error) {
	plan, err := d.svc.PlanRevert(r.Context(), croft.RevertRequest{Repo: r.ref(), Merge: id})
	if err != nil {
		return nil, err
	}
	data := &revertData{Plan: plan, Back: back, Action: repoPath(r.Repo.ID, "m/"+url.PathEscape(string(plan.Merge.ID))+"/revert")}
	list, err := d.svc.Merges(r.Context(), croft.MergesRequest{Repo: r.ref(), Target: plan.Branch, Scope: croft.ScopeAll, Page: croft.Page{Limit: searchPage}})
	if err != nil {
		return nil, err
	}
	for _, m := range list.Items {
		if m.Status == croft.MergeMerged && m.ID != plan.Merge.ID && m.EndedAt.After(plan.Merge.EndedAt) && len(data.Later) < min(laterShown, plan.Later) {
			data.Later = append(data.Later, m)
		}
	}
	return &page{Template: "revert", Title: "Undo the merge of " + plan.Merge.WorkspaceName, Data: data}, nil
}

// revert takes a merge back, if its target is still at the commit that the question was about.
func (d *dashboard) revert(r *request) (string, error) {
	target := r.PostFormValue("target")
	if target == "" {
		return "", &croft.Error{Code: croft.InvalidRequest, Op: "revert", Message: "the form does not say which commit of the target it was made for"}
	}
	m, err := d.svc.SubmitRevert(r.Context(), croft.RevertRequest{Repo: r.ref(), Merge: croft.ID(r.PathValue("merge")), Target: target, Key: r.key()})
	if err != nil {
		return "", err
	}
	return queuePath(r.Repo.ID, m.Target), nil
}
