package dashboard

import (
	"slices"
	"strconv"
	"time"

	"github.com/croft-sh/croft"
)

const (
	activityPerPage = 50
	activityEvents  = 2000 // the last ones of a workspace that are looked at
	activityActs    = 1000 // the last acts of the project that are looked through
)

// activityData is what happened to a workspace, the last first.
type activityData struct {
	Days  []activityDay
	Pager pager
}

type activityDay struct {
	Name    string
	Entries []entry
}

func (d *dashboard) activityPage(r *request) (*page, error) {
	v, err := d.viewOf(r, "activity")
	if err != nil {
		return nil, err
	}
	all, err := d.storyOf(r, v)
	if err != nil {
		return nil, err
	}
	number, _ := strconv.Atoi(r.URL.Query().Get("page"))
	number = min(max(1, number), (len(all)+activityPerPage-1)/activityPerPage)
	from := max(0, number-1) * activityPerPage
	shown := all[from:min(from+activityPerPage, len(all))]
	data := &activityData{Days: activityDays(shown, d.now())}
	address := workspacePath(r.Repo.ID, v.WS.ID, "activity")
	if from > 0 {
		data.Pager.Prev = address + "?page=" + strconv.Itoa(number-1)
	}
	if from+len(shown) < len(all) {
		data.Pager.Next = address + "?page=" + strconv.Itoa(number+1)
	}
	data.Pager.Text = numberText(from+1) + " to " + numberText(from+len(shown)) + " of " + numberText(len(all))
	v.Body = data
	p := v.pageOf("activity", "Activity of ")
	if from == 0 {
		p.Live = append(p.Live, region{Template: "activity", Data: v})
	}
	return p, nil
}

// activityDays divides entries by day.
func activityDays(list []entry, now time.Time) []activityDay {
	var days []activityDay
	for _, e := range list {
		name := dayName(e.At, now)
		if n := len(days); n == 0 || days[n-1].Name != name {
			days = append(days, activityDay{Name: name})
		}
		day := &days[len(days)-1]
		day.Entries = append(day.Entries, e)
	}
	return days
}

// storyOf tells what happened to a workspace, the last first: from its events, from acts that no
// event tells of, from its commits, and from what its agent asks.
func (d *dashboard) storyOf(r *request, v *workspaceView) ([]entry, error) {
	acts, err := d.actsOn(r, v.WS)
	if err != nil {
		return nil, err
	}
	s := &story{ws: v.WS, path: v.Path, acts: map[croft.ID]croft.Operation{}, told: map[croft.ID]bool{}, merges: map[croft.ID]*entry{}, open: map[string]*entry{}, over: map[croft.ID]*entry{}}
	for _, op := range acts {
		s.acts[op.ID] = op
	}
	events, err := d.eventsOf(r, v.WS.ID)
	if err != nil {
		return nil, err
	}
	for i := range events {
		s.add(&events[i])
	}
	for _, op := range slices.Backward(acts) {
		s.addAct(op, r.Repos)
	}
	if list, err := d.svc.Commits(r.Context(), croft.CommitsRequest{Repo: r.ref(), Workspace: croft.ByID(v.WS.ID)}); err == nil {
		for _, c := range slices.Backward(list.Items) {
			s.addCommit(c, d.now())
		}
	}
	if q := v.WS.Question; q != nil {
		s.put(&entry{At: q.Since, Icon: "asks", Tone: "t-amber", Text: "The agent asks", Quote: q.Text})
	}
	return s.ended(r.mayAct()), nil
}

// eventsOf are the last events of a workspace that its story is told from.
func (d *dashboard) eventsOf(r *request, id croft.ID) ([]croft.Event, error) {
	var last []croft.Event
	for e, err := range d.svc.Events(r.Context(), croft.EventsRequest{Repo: r.Repo.ID, Workspace: id, Kinds: toldKinds()}) {
		if err != nil {
			return nil, err
		}
		if last = append(last, e); len(last) >= 2*activityEvents {
			last = slices.Clone(last[activityEvents:])
		}
	}
	return last[max(0, len(last)-activityEvents):], nil
}

// actsOn are the acts of the history that concern a workspace, the last first.
func (d *dashboard) actsOn(r *request, ws *croft.Workspace) ([]croft.Operation, error) {
	var acts []croft.Operation
	at := croft.Page{Limit: searchPage}
	for range activityActs / searchPage {
		list, err := d.svc.History(r.Context(), croft.HistoryRequest{Repo: r.ref(), Page: at})
		if err != nil {
			return nil, err
		}
		for _, op := range list.Items {
			if op.Workspace == ws.ID || slices.Contains(op.Workspaces, ws.ID) {
				acts = append(acts, op)
			}
		}
		n := len(list.Items)
		if at.After = list.Next; at.After == "" || n > 0 && list.Items[n-1].StartedAt.Before(ws.CreatedAt.Add(-time.Hour)) {
			break
		}
	}
	return acts, nil
}
