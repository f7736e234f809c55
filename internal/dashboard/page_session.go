package dashboard

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft"
)

const (
	roundsShown  = 3               // of a session, unless all are asked for
	attemptsTime = 2 * time.Second // how long a page may count the lines of attempts
	attemptsRead = 4               // at a time
)

// sessionData is the page of a session: its agents and rounds as a table.
type sessionData struct {
	Session *croft.Session
	Repo    string
	Path    string
	Rounds  []*croft.Round // the newest first
	Hidden  int            // rounds that are not shown
	Rows    []agentRow
	Open    *croft.Round
	IsNamed bool // names of agents are shown
	CanPick bool // an attempt can be presented: no round is open
	Agents  int
	Tree    *roundTree
}

// agentRow has the attempts of one agent.
type agentRow struct {
	Agent  string
	Letter string
	Cells  []attemptCell // one for each round that is shown
}

// attemptCell is what an agent made in a round.
type attemptCell struct {
	WS     *croft.Workspace // nil: it took no part
	Path   string           // of its changes, under its label
	Total  *croft.Changes   // nil: not counted
	Fault  string           // why it could not be put away
	Held   int              // files that were not committed
	IsOver bool
}

// sessionPage shows the attempts of a session. Names are hidden until they are asked for, and the order of the rows tells
// nothing of them.
func (d *dashboard) sessionPage(r *request) (*page, error) {
	session, err := d.svc.Session(r.Context(), croft.GetRequest{Repo: r.ref(), Ref: croft.ByID(croft.ID(r.PathValue("session")))})
	if err != nil {
		return nil, err
	}
	data := &sessionData{Session: session, Repo: r.Repo.Name, Path: sessionPath(r.Repo.ID, session.ID), IsNamed: r.URL.Query().Get("names") == "show", Agents: len(session.Agents)}
	if err := d.readRounds(r, data); err != nil {
		return nil, err
	}
	data.fill(r)
	d.countAttempts(r, data)
	data.Tree = treeOf(data)
	title := session.Name
	if title == "" {
		title = "Session " + string(session.ID)
	}
	return &page{
		Template: "session", Title: title, Data: data, Pace: costlyPace, Shape: fmt.Sprint(data.CanPick, data.Open != nil),
		Live: []region{{Template: "session-head", Data: data}, {Template: "round-tree", Data: data}, {Template: "attempts", Data: data}},
	}, nil
}

// readRounds reads the newest rounds, or all of them.
func (d *dashboard) readRounds(r *request, data *sessionData) error {
	all := slices.Clone(data.Session.Rounds)
	slices.SortFunc(all, func(a, b croft.RoundSummary) int { return b.Number - a.Number })
	for i, s := range all {
		if i >= roundsShown && r.URL.Query().Get("rounds") != "all" && s.State != croft.RoundOpen {
			data.Hidden++
			continue
		}
		round, err := d.svc.Round(r.Context(), croft.GetRequest{Repo: r.ref(), Ref: croft.ByID(s.ID)})
		if err != nil {
			return err
		}
		data.Rounds = append(data.Rounds, round)
		if round.State == croft.RoundOpen && data.Open == nil {
			data.Open = round
		}
	}
	return nil
}

// fill sorts the attempts by agent. The order is that of a digest, so that it does not tell who is who.
func (data *sessionData) fill(r *request) {
	var agents []string
	for _, a := range data.Session.Agents {
		agents = append(agents, a.Name)
	}
	place := func(name string) string {
		sum := sha256.Sum256([]byte(string(data.Session.ID) + "\x00" + name))
		return string(sum[:])
	}
	slices.SortFunc(agents, func(a, b string) int { return strings.Compare(place(a), place(b)) })
	for i, name := range agents {
		row := agentRow{Agent: name, Letter: letter(i)}
		for _, round := range data.Rounds {
			row.Cells = append(row.Cells, cellOfRound(r, data, round, name))
		}
		for _, c := range row.Cells {
			data.CanPick = data.CanPick || c.WS != nil && data.Open == nil && data.Session.State == croft.SessionOpen
		}
		data.Rows = append(data.Rows, row)
	}
}

// letter names the rows: A to Z, then numbers.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return strconv.Itoa(i + 1)
}

func cellOfRound(r *request, data *sessionData, round *croft.Round, agent string) attemptCell {
	for i := range round.Workspaces {
		ws := &round.Workspaces[i]
		if ws.Agent != agent || ws.RepoID != r.Repo.ID {
			continue
		}
		c := attemptCell{WS: ws, Path: data.Path + "/attempt/" + url.PathEscape(string(ws.ID)), IsOver: round.State == croft.RoundEnded}
		for _, k := range round.Failed {
			if k.ID == ws.ID && k.Reason != nil {
				c.Fault = k.Reason.Message
			}
		}
		for _, h := range round.HeldBack {
			if h.Workspace == ws.ID {
				c.Held = len(h.Paths)
			}
		}
		return c
	}
	return attemptCell{}
}

// countAttempts counts the lines of attempts, as many as there is time for.
func (d *dashboard) countAttempts(r *request, data *sessionData) {
	ctx, cancel := context.WithTimeout(r.Context(), attemptsTime)
	defer cancel()
	next := make(chan *attemptCell)
	var wg sync.WaitGroup
	for range attemptsRead {
		wg.Go(func() {
			for c := range next {
				diff, err := d.svc.Diff(ctx, croft.DiffRequest{Repo: r.ref(), Workspace: croft.ByID(c.WS.ID), Detail: croft.DetailStat, Page: croft.Page{Limit: 1}})
				if err == nil {
					c.Total = &diff.Total
				}
			}
		})
	}
	for i := range data.Rows {
		for j := range data.Rows[i].Cells {
			if c := &data.Rows[i].Cells[j]; c.WS != nil {
				next <- c
			}
		}
	}
	close(next)
	wg.Wait()
}

// attemptData is the page of what an agent made in a round, under its label.
type attemptData struct {
	Label, Back, Path string
	Session           *croft.Session
	Repo              string
	RepoID            croft.ID
	Changes           *changesData
	Round             int
}

// attemptPage shows the changes of an attempt without the name of its agent.
func (d *dashboard) attemptPage(r *request) (*page, error) {
	session, err := d.svc.Session(r.Context(), croft.GetRequest{Repo: r.ref(), Ref: croft.ByID(croft.ID(r.PathValue("session")))})
	if err != nil {
		return nil, err
	}
	ws, err := d.workspaceOf(r)
	if err != nil {
		return nil, err
	}
	back := sessionPath(r.Repo.ID, session.ID)
	query := r.URL.Query()
	data := &attemptData{Label: ws.Label, Back: back, Path: back + "/attempt/" + url.PathEscape(string(ws.ID)), Session: session, Repo: r.Repo.Name, RepoID: r.Repo.ID, Round: ws.Round}
	req := croft.DiffRequest{Repo: r.ref(), Workspace: croft.ByID(ws.ID), Detail: croft.DetailStat, Page: croft.Page{Limit: filesPerPage, After: query.Get("after")}}
	if path := query.Get("path"); path != "" {
		req.Paths = []string{path}
	}
	review, err := d.svc.Diff(r.Context(), req)
	if err != nil {
		return nil, err
	}
	data.Changes = &changesData{Review: review}
	for i, f := range review.Files {
		data.Changes.Files = append(data.Changes.Files, diffFile{ReviewFile: f, Number: i + 1, Letter: letterOf(f.Status), Path: f.Path, Show: data.Path + "?path=" + url.QueryEscape(f.Path)})
	}
	if len(req.Paths) > 0 {
		err = d.openOne(r, req, data.Changes)
	} else {
		err = d.openFiles(r, req, data.Changes.Files)
	}
	if err != nil {
		return nil, err
	}
	if review.Next != "" {
		data.Changes.Pager = pager{Text: "The first " + strconv.Itoa(len(review.Files)) + " of " + countText(review.Total.Files, "file"), Next: data.Path + "?after=" + url.QueryEscape(review.Next)}
	}
	return &page{
		Template: "attempt", Title: "Attempt of " + ws.Label, Data: data,
		Shape: shapeOfDiff(review), OnShape: shapeIsOld, Watch: func(e *croft.Event) bool { return e.Workspace == ws.ID },
	}, nil
}

// openOne reads the lines of the one file that was asked for, by pages.
func (d *dashboard) openOne(r *request, req croft.DiffRequest, data *changesData) error {
	req.Detail, req.Page = croft.DetailLines, croft.Page{Limit: 1}
	review, err := d.svc.Diff(r.Context(), req)
	if err != nil || len(review.Files) == 0 || len(data.Files) == 0 {
		return err
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	from = max(from, 0)
	f := &data.Files[0]
	var total int
	f.Hunks, total = cutLines(hunksOf(review.Files[0].Hunks), from, linesPerPage)
	f.IsOpen, f.IsCut = true, review.Files[0].IsCut
	to := min(from+linesPerPage, total)
	data.Pager = pager{Text: "Lines " + numberText(from+1) + " to " + numberText(to) + " of " + numberText(total)}
	if from > 0 {
		data.Pager.Prev = f.Show + "&from=" + strconv.Itoa(max(0, from-linesPerPage))
	}
	if to < total {
		data.Pager.Next = f.Show + "&from=" + strconv.Itoa(to)
	}
	return nil
}
