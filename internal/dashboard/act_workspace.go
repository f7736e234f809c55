package dashboard

import (
	"net/http"

	"github.com/croft-sh/croft"
)

// onWorkspace makes an action of a call that concerns the workspace of the path. The browser
// comes back to the page that the form was on.
func onWorkspace(call func(*request, croft.Ref) error) func(*request) (string, error) {
	return func(r *request) (string, error) {
		if err := call(r, croft.ByID(croft.ID(r.PathValue("ws")))); err != nil {
			return "", err
		}
		return r.back(), nil
	}
}

func (d *dashboard) mergeOne(r *request, ws croft.Ref) error {
	_, err := d.svc.SubmitMerge(r.Context(), croft.MergeRequest{Repo: r.ref(), Workspace: ws, Head: r.FormValue("head"), Key: r.key()})
	return err
}

func (d *dashboard) resolveOne(r *request, ws croft.Ref) error {
	_, err := d.svc.Resolve(r.Context(), croft.MergeRequest{Repo: r.ref(), Workspace: ws, Key: r.key()})
	return err
}

func (d *dashboard) snapshotOne(r *request, ws croft.Ref) error {
	_, err := d.svc.TakeSnapshot(r.Context(), croft.SnapshotRequest{Repo: r.ref(), Workspace: ws, Reason: r.PostFormValue("reason"), Key: r.key()})
	return err
}

func (d *dashboard) lockOne(r *request, ws croft.Ref) error {
	_, err := d.svc.Lock(r.Context(), croft.LockRequest{Repo: r.ref(), Workspace: ws, Reason: r.PostFormValue("reason"), Key: r.key()})
	return err
}

func (d *dashboard) unlockOne(r *request, ws croft.Ref) error {
	_, err := d.svc.Unlock(r.Context(), croft.LockRequest{Repo: r.ref(), Workspace: ws, Key: r.key()})
	return err
}

// changeQueue holds, releases or cancels the merge of a workspace.
func (d *dashboard) changeQueue(action croft.QueueAction) func(*request, croft.Ref) error {
	return func(r *request, ws croft.Ref) error {
		waiting, err := d.lists.waiting(r)
		if err != nil {
			return err
		}
		for _, m := range waiting {
			if croft.ByID(m.Workspace) == ws && m.RepoID == r.Repo.ID && m.State != croft.MergeDone {
				return d.changeMerge(r, action, m.ID)
			}
		}
		return &croft.Error{Code: croft.MergeNotFound, Op: "queue", Message: "no merge of the workspace waits now"}
	}
}

// changeMerge holds, releases or cancels a merge, or puts it first.
func (d *dashboard) changeMerge(r *request, action croft.QueueAction, id croft.ID) error {
	_, err := d.svc.ChangeQueue(r.Context(), croft.QueueRequest{Repo: r.ref(), Action: action, Merges: []croft.Ref{croft.ByID(id)}, Reason: r.PostFormValue("reason"), Key: r.key()})
	return err
}

// removeOne moves a workspace to the trash, unless something in it would have to be asked about.
func (d *dashboard) removeOne(r *request, ws croft.Ref) error {
	result, err := d.svc.Remove(r.Context(), croft.RemoveRequest{Repo: r.ref(), Workspaces: []croft.Ref{ws}, Key: r.key()})
	if err != nil {
		return err
	}
	for _, k := range result.Kept {
		return k.Reason
	}
	return nil
}

// restoreOne brings a removed workspace back, and shows it.
func (d *dashboard) restoreOne(r *request, ws croft.Ref) error {
	_, err := d.svc.Restore(r.Context(), croft.RestoreRequest{Repo: r.ref(), Ref: ws, Key: r.key()})
	return err
}

// restoreSnapshot puts a workspace back to a snapshot of it.
func (d *dashboard) restoreSnapshot(r *request, ws croft.Ref) error {
	id := r.PostFormValue("snapshot")
	s, err := d.svc.Snapshot(r.Context(), croft.GetRequest{Repo: r.ref(), Ref: croft.ByID(croft.ID(id))})
	if err != nil {
		return err
	}
	if croft.ByID(s.Workspace) != ws {
		return &refusal{
			status: http.StatusBadRequest, title: "The snapshot is of another workspace", happened: "The form names a snapshot that is not of the workspace.",
			left: "Nothing was changed.", next: "Go back and load the page again.",
		}
	}
	_, err = d.svc.Restore(r.Context(), croft.RestoreRequest{Repo: r.ref(), Ref: croft.ByID(s.ID), Key: r.key()})
	return err
}
