package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
)

const (
	rowsPerPage = 50 // of the table of workspaces
	todoRows    = 20 // of a group of the inbox
)

// inboxData is what the inbox shows: what needs a person, and a page of all workspaces.
type inboxData struct {
	Title, Summary string
	Path           string // of the page, without a filter
	IsEmpty        bool   // there is no workspace at all
	Groups         []todoGroup
	ListTitle      string
	Query, State   string
	Found          int // how many pass the filter
	Chips          []chip
	Tables         []workspaceTable
	Pager          pager
}

type todoGroup struct {
	ID      group
	Title   string
	Count   int
	Items   []*croft.Workspace
	IsTight bool
}

type chip struct {
	Name, Path string
	Count      int
	IsCurrent  bool
}

// workspaceTable has the workspaces of one project that are on the page.
type workspaceTable struct {
	Name, Path string
	Count      int // of all pages
	Items      []*croft.Workspace
}

// pager leads to the other pages of a list.
type pager struct {
	Text, Prev, Next string
}

// todoTitles are the groups of the inbox in their order.
var todoTitles = []struct {
	id    group
	title string
	tight bool
}{
	{groupAsks, "Agents that ask you", false},
	{groupStuck, "Stuck on the way to their target", false},
	{groupAllow, "For you to allow", false},
	{groupReady, "Ready to merge", true},
	{groupLook, "To look at", true},
}

// chips are the filters by group.
var chipGroups = []struct {
	state, name string
	groups      []group
}{
	{"", "All", nil},
	{"need", "Need you", []group{groupAsks, groupStuck, groupAllow}},
	{"work", "Working", []group{groupWork}},
	{"queue", "In the queue", []group{groupQueue}},
	{"ready", "Ready", []group{groupReady}},
	{"look", "To look at", []group{groupLook}},
	{"idle", "Idle", []group{groupIdle}},
}

func (d *dashboard) inboxPage(r *request) (*page, error) {
	all, err := d.lists.looked(r)
	if err != nil {
		return nil, err
	}
	query := r.URL.Query()
	data := &inboxData{Path: r.path(""), Query: query.Get("q"), State: query.Get("state")}
	var mine, found []*croft.Workspace
	byGroup := map[group][]*croft.Workspace{}
	for i := range all {
		ws := &all[i]
		if r.Repo != nil && ws.RepoID != r.Repo.ID {
			continue
		}
		mine = append(mine, ws)
		byGroup[groupOf(ws)] = append(byGroup[groupOf(ws)], ws)
		if matches(ws, data.Query) && isIn(groupOf(ws), data.State) {
			found = append(found, ws)
		}
	}
	data.describe(r, mine, byGroup)
	data.addChips(byGroup, len(mine))
	at, _ := strconv.Atoi(query.Get("page"))
	sortRows(found, r.Repos)
	data.addTables(r, found, max(at, 1))
	if data.Query == "" && data.State == "" && at <= 1 {
		data.addGroups(byGroup)
	}
	p := &page{Template: "inbox", Title: "Inbox", Data: data}
	if need := len(byGroup[groupAsks]) + len(byGroup[groupStuck]) + len(byGroup[groupAllow]); need > 0 {
		p.Title = "(" + strconv.Itoa(need) + ") Inbox"
	}
	p.Live = data.regions()
	p.Shape = fmt.Sprint(data.IsEmpty, len(data.Groups) > 0, len(data.Tables) > 0)
	return p, nil
}

// matches reports whether all words of a filter are in what is shown of a workspace.
func matches(ws *croft.Workspace, filter string) bool {
	text := strings.ToLower(strings.Join([]string{ws.Name, ws.Agent, ws.Role, ws.Session, ws.Branch, string(ws.ID), ws.Why}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// isIn reports whether a group is one of those that a state of the filter means.
func isIn(g group, state string) bool {
	if state == "" || string(g) == state {
		return true
	}
	for _, c := range chipGroups {
		if c.state == state {
			return slices.Contains(c.groups, g)
		}
	}
	return false
}

// sortRows sorts by project, then by what a person should see first.
func sortRows(rows []*croft.Workspace, repos []croft.Repo) {
	place := map[croft.ID]int{}
	for i, r := range repos {
		place[r.ID] = i
	}
	order := []group{groupAsks, groupStuck, groupAllow, groupReady, groupQueue, groupLook, groupWork, groupIdle}
	slices.SortStableFunc(rows, func(a, b *croft.Workspace) int {
		if n := place[a.RepoID] - place[b.RepoID]; n != 0 {
			return n
		}
		return slices.Index(order, groupOf(a)) - slices.Index(order, groupOf(b))
	})
}

func (data *inboxData) describe(r *request, mine []*croft.Workspace, byGroup map[group][]*croft.Workspace) {
	need := len(byGroup[groupAsks]) + len(byGroup[groupStuck]) + len(byGroup[groupAllow])
	switch need {
	case 0:
		data.Title = "Nothing needs you"
	case 1:
		data.Title = "1 thing needs you"
	default:
		data.Title = numberText(need) + " things need you"
	}
	if len(mine) == 0 {
		data.IsEmpty, data.Summary = true, "There is no workspace yet."
		return
	}
	where := "in " + countText(len(r.Repos), "repository")
	if r.Repo != nil {
		where = "in " + r.Repo.Name
	}
	data.Summary = countText(len(mine), "workspace") + " " + where + ". " + countText(len(byGroup[groupWork]), "agent") + " at work, " +
		countText(len(byGroup[groupQueue]), "merge") + " in the queue, " + numberText(len(byGroup[groupReady])) + " ready to merge."
}

func (data *inboxData) addChips(byGroup map[group][]*croft.Workspace, all int) {
	for _, c := range chipGroups {
		n := all
		if c.state != "" {
			n = 0
			for _, g := range c.groups {
				n += len(byGroup[g])
			}
		}
		data.Chips = append(data.Chips, chip{c.name, data.address(c.state, 1), n, data.State == c.state})
	}
}

func (data *inboxData) addGroups(byGroup map[group][]*croft.Workspace) {
	for _, t := range todoTitles {
		if items := byGroup[t.id]; len(items) > 0 {
			data.Groups = append(data.Groups, todoGroup{t.id, t.title, len(items), items[:min(len(items), todoRows)], t.tight})
		}
	}
}

// addTables cuts the workspaces into pages, and the page into projects.
func (data *inboxData) addTables(r *request, found []*croft.Workspace, at int) {
	data.Found, data.ListTitle = len(found), "All workspaces"
	if data.Query != "" || data.State != "" {
		data.ListTitle = "Workspaces that match"
	}
	counts := map[croft.ID]int{}
	for _, ws := range found {
		counts[ws.RepoID]++
	}
	from := min((at-1)*rowsPerPage, max(len(found)-1, 0)/rowsPerPage*rowsPerPage)
	to := min(from+rowsPerPage, len(found))
	at = from/rowsPerPage + 1
	for _, ws := range found[from:to] {
		if n := len(data.Tables); n == 0 || data.Tables[n-1].Items[0].RepoID != ws.RepoID {
			data.Tables = append(data.Tables, workspaceTable{Name: repoName(r.Repos, ws.RepoID), Path: repoPath(ws.RepoID, ""), Count: counts[ws.RepoID]})
		}
		t := &data.Tables[len(data.Tables)-1]
		t.Items = append(t.Items, ws)
	}
	data.Pager.Text = numberText(from+1) + " to " + numberText(to) + " of " + numberText(len(found))
	if at > 1 {
		data.Pager.Prev = data.address(data.State, at-1)
	}
	if to < len(found) {
		data.Pager.Next = data.address(data.State, at+1)
	}
}

// address is that of the page with a filter.
func (data *inboxData) address(state string, at int) string {
	q := url.Values{}
	if data.Query != "" {
		q.Set("q", data.Query)
	}
	if state != "" {
		q.Set("state", state)
	}
	if at > 1 {
		q.Set("page", strconv.Itoa(at))
	}
	if len(q) == 0 {
		return data.Path
	}
	return data.Path + "?" + q.Encode()
}

// regions are the live parts: the groups whole, the table only if it has other rows, and else its rows.
func (data *inboxData) regions() []region {
	live := []region{{Template: "inbox-head", Data: data}}
	if len(data.Groups) > 0 {
		live = append(live, region{Template: "todo", Data: data})
	}
	if len(data.Tables) == 0 {
		return live
	}
	rows := region{Template: "rows", Data: data}
	var single []region
	for _, t := range data.Tables {
		for _, ws := range t.Items {
			rows.Key += string(ws.ID) + " "
			single = append(single, region{Template: "row", Data: ws})
		}
	}
	return append(append(live, rows), single...)
}

func repoName(repos []croft.Repo, id croft.ID) string {
	for _, r := range repos {
		if r.ID == id {
			return r.Name
		}
	}
	return string(id)
}
