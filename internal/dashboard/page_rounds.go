package dashboard

import (
	"net/url"
	"slices"

	"github.com/croft-sh/croft"
)

// sessionsPerPage is how many sessions a page has.
const sessionsPerPage = 50

// roundsData lists sessions.
type roundsData struct {
	Sessions []sessionRow
	Pager    pager
	Open     int
}

// sessionRow is a session in the list.
type sessionRow struct {
	croft.Session
	Path     string
	RepoName string
	OpenAt   int // the number of its open round; zero: none is
}

// roundsPage lists the sessions of a project, or of all: the open ones, then those that ended.
func (d *dashboard) roundsPage(r *request) (*page, error) {
	after := r.URL.Query().Get("after")
	data := &roundsData{}
	if after == "" {
		open, err := allOf(func(p croft.Page) (*croft.List[croft.Session], error) {
			return d.svc.Sessions(r.Context(), d.sessionsRequest(r, croft.SessionOpen, p))
		})
		if err != nil {
			return nil, err
		}
		slices.Reverse(open) // the newest first
		data.Open = len(open)
		data.add(r, open)
	}
	ended, err := d.svc.Sessions(r.Context(), d.sessionsRequest(r, croft.SessionEnded, croft.Page{Limit: sessionsPerPage, After: after}))
	if err != nil {
		return nil, err
	}
	data.add(r, ended.Items)
	if ended.Next != "" {
		data.Pager = pager{Text: "Sessions that ended", Next: r.path("rounds") + "?after=" + url.QueryEscape(ended.Next)}
	}
	if after != "" {
		data.Pager.Text, data.Pager.Prev = "Sessions that ended", r.path("rounds")
	}
	return &page{Template: "rounds", Title: "Rounds", Data: data, Live: []region{{Template: "sessions", Data: data}}}, nil
}

func (d *dashboard) sessionsRequest(r *request, state croft.SessionState, p croft.Page) croft.SessionsRequest {
	req := croft.SessionsRequest{States: []croft.SessionState{state}, Page: p}
	if r.Repo == nil {
		req.Repos = croft.ScopeAll
	} else {
		req.Repo = r.ref()
	}
	return req
}

func (data *roundsData) add(r *request, sessions []croft.Session) {
	for _, s := range sessions {
		row := sessionRow{Session: s, RepoName: repoName(r.Repos, s.RepoID), Path: sessionPath(s.RepoID, s.ID)}
		for _, round := range s.Rounds {
			if round.State == croft.RoundOpen {
				row.OpenAt = round.Number
			}
		}
		data.Sessions = append(data.Sessions, row)
	}
}

// sessionPath is the address of a session.
func sessionPath(repo, session croft.ID) string {
	return repoPath(repo, "rounds/"+url.PathEscape(string(session)))
}
