package dashboard

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/croft-sh/croft"
)

// laterShown is how many of the later merges are listed.
const laterShown = 20

// revertData is the question before a merge is taken back.
type revertData struct {
	Plan   *croft.RevertPlan
	Later  []laterMerge // those that came after it, the last of them
	More   int          // how many came after it besides
	Repo   string
	Action string
	Back   string
	Since  []string // who changed the places that the undo conflicts on; none: that is not known
}

// laterMerge is a merge that came after the one that is to be taken back.
type laterMerge struct {
	croft.Merge
	Meets      []string // the files that both changed, some of them
	More       int      // how many there are besides
	IsCompared bool
}

const (
	// meetsShown is how many files that two merges changed are named.
	meetsShown = 3
	// meetsFiles is how many files of a merge are compared.
	meetsFiles = 2000
	// meetsTime is how long merges may be compared.
	meetsTime = 3 * time.Second
)

// revertPage asks before the merge of a workspace is taken back.
func (d *dashboard) revertPage(r *request) (*page, error) {
	ws, err := d.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	plan, err := d.planRevert(r, ws)
	if errors.Is(err, croft.MergeNotFound) {
		return nil, &croft.Error{Code: croft.NotMerged, Op: "revert", Workspace: ws.Name, Message: "its work was never merged"}
	}
	if err != nil {
		return nil, err
	}
	return d.askRevert(r, plan, workspacePath(r.Repo.ID, ws.ID, ""))
}

// planRevert finds the merge of a workspace that brought its work, and what taking it back would meet.
func (d *dashboard) planRevert(r *request, ws *croft.Workspace) (*croft.RevertPlan, error) {
	return d.svc.PlanRevert(r.Context(), croft.RevertRequest{Repo: r.ref(), Ref: croft.ByID(ws.ID)})
}

// revertMergePage asks before a merge is taken back, whatever became of its workspace.
func (d *dashboard) revertMergePage(r *request) (*page, error) {
	plan, err := d.svc.PlanRevert(r.Context(), croft.RevertRequest{Repo: r.ref(), Merge: croft.ID(r.PathValue("merge"))})
	if err != nil {
		return nil, err
	}
	return d.askRevert(r, plan, repoPath(r.Repo.ID, "queue"))
}

func (d *dashboard) askRevert(r *request, plan *croft.RevertPlan, back string) (*page, error) {
	data := &revertData{Plan: plan, Repo: r.Repo.Name, Back: back, Action: repoPath(r.Repo.ID, "m/"+url.PathEscape(string(plan.Merge.ID))+"/revert")}
	list, err := d.svc.Merges(r.Context(), croft.MergesRequest{Repo: r.ref(), Target: plan.Branch, Scope: croft.ScopeAll, Page: croft.Page{Limit: searchPage}})
	if err != nil {
		return nil, err
	}
	for _, m := range list.Items {
		// A merge without a commit brought nothing, and the plan does not count it.
		if m.Status == croft.MergeMerged && m.Commit != "" && m.ID != plan.Merge.ID && m.EndedAt.After(plan.Merge.EndedAt) && len(data.Later) < laterShown {
			data.Later = append(data.Later, laterMerge{Merge: m})
		}
	}
	data.More = max(0, plan.Later-len(data.Later))
	d.compareLater(r, data)
	return &page{Template: "revert", Title: "Undo the merge of " + plan.Merge.WorkspaceName, Data: data}, nil
}

// compareLater finds the files of the later merges that the merge changed, too. What cannot be read, or takes
// too long, is not compared: the plan has the conflicts in any case.
func (d *dashboard) compareLater(r *request, data *revertData) {
	ctx, cancel := context.WithTimeout(r.Context(), meetsTime)
	defer cancel()
	own, err := d.filesOf(ctx, r, data.Plan.Merge.ID)
	if err != nil {
		return
	}
	conflicts := map[string]bool{}
	for _, c := range data.Plan.Conflicts {
		conflicts[c.Path] = true
	}
	for i := range data.Later {
		m := &data.Later[i]
		files, err := d.filesOf(ctx, r, m.ID)
		if err != nil {
			return
		}
		m.IsCompared = true
		isInTheWay := false
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if !own[path] {
				continue
			}
			isInTheWay = isInTheWay || conflicts[path]
			if len(m.Meets) < meetsShown {
				m.Meets = append(m.Meets, path)
			} else {
				m.More++
			}
		}
		if isInTheWay {
			data.Since = append(data.Since, m.WorkspaceName)
		}
	}
}

// filesOf are the paths that a merge changed, the old ones of renamed files as well.
func (d *dashboard) filesOf(ctx context.Context, r *request, id croft.ID) (map[string]bool, error) {
	work, err := d.svc.Diff(ctx, croft.DiffRequest{Repo: r.ref(), Merge: id, Detail: croft.DetailStat, Page: croft.Page{Limit: meetsFiles}})
	if err != nil {
		return nil, err
	}
	files := map[string]bool{}
	for _, f := range work.Files {
		files[f.Path] = true
		if f.OldPath != "" {
			files[f.OldPath] = true
		}
	}
	return files, nil
}

// revert takes a merge back, if its target is still at the commit that the question was about.
func (d *dashboard) revert(r *request) (string, error) {
	target := r.PostFormValue("target")
	if target == "" {
		return "", &croft.Error{Code: croft.InvalidRequest, Op: "revert", Message: "the form does not say which commit of the target it was made for"}
	}
	m, err := d.svc.SubmitRevert(r.Context(), croft.RevertRequest{Repo: r.ref(), Merge: croft.ID(r.PathValue("merge")), Target: target, Key: r.key()})
	if isOutdated(err) {
		return "", r.askAgain(d.revertMergePage, "Queue", err, func(p *page) string {
			plan := p.Data.(*revertData).Plan
			return plan.Branch + " was at " + shortCommit(target) + " when you were asked, and is at " + shortCommit(plan.Target) + " now."
		})
	}
	if err != nil {
		return "", err
	}
	return queuePath(r.Repo.ID, m.Target), nil
}
