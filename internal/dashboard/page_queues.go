package dashboard

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/croft-sh/croft"
)

// queueRow is one queue in the list of all.
type queueRow struct {
	Repo     croft.Repo
	Target   string
	Path     string
	Tip      string
	Waiting  int
	Held     int
	Now      *croft.Merge // the merge that it works on
	State    state
	Message  string // how the target moved outside of the queue, or why it cannot be read
	Hint     string
	IsStuck  bool // nothing is merged until a person acts
	Problem  string
	Refused  string // why the last merge that ended was not merged
	priority int
}

type queuesData struct {
	Title string
	Rows  []queueRow
	Total int
}

// queuesPage lists the queues of all projects, or of one.
func (d *dashboard) queuesPage(r *request) (*page, error) {
	rows, err := d.queues(r)
	if err != nil {
		return nil, err
	}
	data := &queuesData{Rows: rows}
	for _, q := range rows {
		data.Total += q.Waiting
	}
	switch data.Total {
	case 0:
		data.Title = "Nothing waits"
	case 1:
		data.Title = "1 merge in the queue"
	default:
		data.Title = numberText(data.Total) + " merges in the queues"
	}
	return &page{Template: "queues", Title: "Queues", Data: data, Live: []region{{Template: "queues", Data: data}}}, nil
}

// queues are the queues of the projects that the request is about, those that work first.
func (d *dashboard) queues(r *request) ([]queueRow, error) {
	waiting, err := d.lists.waiting(r)
	if err != nil {
		return nil, err
	}
	var rows []queueRow
	for _, repo := range r.Repos {
		if r.Repo != nil && repo.ID != r.Repo.ID {
			continue
		}
		byTarget := map[string]*queueRow{}
		row := func(target string) *queueRow {
			q := byTarget[target]
			if q == nil {
				q = &queueRow{Repo: repo, Target: target, Path: queuePath(repo.ID, target), State: state{"empty", "t-grey", "idle", false}}
				byTarget[target] = q
			}
			return q
		}
		d.readLanes(r, repo, row)
		d.readEnded(r, repo, row)
		for i := range waiting {
			if m := &waiting[i]; m.RepoID == repo.ID {
				row(m.Target).add(m)
			}
		}
		for _, q := range byTarget {
			rows = append(rows, *q)
		}
	}
	slices.SortFunc(rows, func(a, b queueRow) int {
		return cmp.Or(b.priority-a.priority, cmp.Compare(a.Repo.Name, b.Repo.Name), cmp.Compare(a.Target, b.Target))
	})
	return rows, nil
}

// readLanes fills in what is known of the targets of a project. A project that cannot be read
// has a row that says so.
func (d *dashboard) readLanes(r *request, repo croft.Repo, row func(string) *queueRow) {
	if repo.IsMissing {
		return
	}
	lanes, err := allOf(func(p croft.Page) (*croft.List[croft.Lane], error) {
		return d.svc.Lanes(r.Context(), croft.LanesRequest{Repo: croft.ByID(repo.ID), Page: p})
	})
	if err != nil {
		q := row(repo.Branch)
		q.Problem = croft.AsError("lanes", err).Message
		return
	}
	for _, l := range lanes {
		q := row(l.Target)
		q.Tip, q.Message, q.Hint = l.Tip, l.Message, l.Hint
		q.IsStuck = l.Protect && l.Message != "" || l.Reason != ""
	}
}

// endedRead is how many merges that have ended are read to learn which queues have been used.
const endedRead = 50

// readEnded adds the queues whose merges have all ended, and says of each why its last one was refused, if it was.
func (d *dashboard) readEnded(r *request, repo croft.Repo, row func(string) *queueRow) {
	list, err := d.svc.Merges(r.Context(), croft.MergesRequest{Repo: croft.ByID(repo.ID), Scope: croft.ScopeAll, Page: croft.Page{Limit: endedRead}})
	if err != nil {
		return // the row of the project says why
	}
	seen := map[string]bool{}
	for i := range list.Items {
		m := &list.Items[i]
		if m.Status == croft.MergeDiscarded {
			continue // no merge
		}
		q := row(m.Target)
		if isFirst := !seen[m.Target]; isFirst && m.State == croft.MergeDone && m.Status == croft.MergePending && m.Message != "" {
			q.Refused, q.State = m.WorkspaceName+": "+m.Message, mergeState(m)
		}
		seen[m.Target] = true
	}
}

// add counts a merge of the queue.
func (q *queueRow) add(m *croft.Merge) {
	if m.State == croft.MergeDone { // pending, and tried again
		q.priority = max(q.priority, 1)
		return
	}
	q.Waiting++
	q.priority = max(q.priority, 2)
	switch {
	case m.State == croft.MergeChecking || m.State == croft.MergeMerging && q.Now == nil:
		q.Now, q.State, q.priority = m, mergeState(m), 3
	case m.IsHeld:
		q.Held++
	}
	if q.Now != nil {
		return
	}
	q.State = conditionState(croft.ConditionQueued)
	if q.Held == q.Waiting {
		q.State = conditionState(croft.ConditionHeld)
	}
}

// queuePath is the address of the queue of a target.
func queuePath(repo croft.ID, target string) string {
	return repoPath(repo, "queue") + "?target=" + url.QueryEscape(target)
}
