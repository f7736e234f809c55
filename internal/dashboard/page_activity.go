package dashboard

import (
	"slices"

	"github.com/croft-sh/croft"
)

const (
	activitySearched = 2000 // operations that are looked through
	activityShown    = 100
)

// activityData has the acts of the history that concern a workspace, the last first.
type activityData struct {
	Days  []historyDay
	IsCut bool
}

func (d *dashboard) activityPage(r *request) (*page, error) {
	v, err := d.viewOf(r, "activity")
	if err != nil {
		return nil, err
	}
	data := &activityData{}
	var ops []croft.Operation
	at := croft.Page{Limit: searchPage}
	for range activitySearched / searchPage {
		list, err := d.svc.History(r.Context(), croft.HistoryRequest{Repo: r.ref(), Page: at})
		if err != nil {
			return nil, err
		}
		for _, op := range list.Items {
			if op.Workspace == v.WS.ID || slices.Contains(op.Workspaces, v.WS.ID) {
				ops = append(ops, op)
			}
		}
		if at.After = list.Next; at.After == "" || len(ops) >= activityShown {
			break
		}
	}
	data.IsCut = at.After != ""
	data.Days = daysOf(ops, d.now(), r.Repos)
	v.Body = data
	return v.pageOf("activity", "Activity of "), nil
}
