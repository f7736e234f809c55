package dashboard

import (
	"errors"
	"net/url"
	"strings"

	"github.com/croft-sh/croft"
)

// commitsPerPage is how many commits a page has.
const commitsPerPage = 50

// commitsData has the commits of a workspace, the newest first.
type commitsData struct {
	*croft.Commits
	Problem *croft.Error // why they cannot be listed
	Behind  int          // commits that only the target has
	Changes string       // the address of the first tab
	Work    string       // what is not committed, in words
	Pager   pager
}

func (d *dashboard) commitsPage(r *request) (*page, error) {
	v, err := d.viewOf(r, "commits")
	if err != nil {
		return nil, err
	}
	p := v.pageOf("commits", "Commits of ")
	data := &commitsData{Commits: &croft.Commits{}, Changes: v.Path}
	v.Body = data
	after := r.URL.Query().Get("after")
	list, err := d.svc.Commits(r.Context(), croft.CommitsRequest{Repo: r.ref(), Workspace: croft.ByID(v.WS.ID), Page: croft.Page{Limit: commitsPerPage, After: after}})
	if errors.Is(err, croft.CursorExpired) || errors.Is(err, croft.InvalidRequest) && after != "" {
		return nil, err
	}
	if err != nil {
		data.Problem = croft.AsError("commits", err)
		return p, nil
	}
	data.Commits = list
	data.Work = workText(list.Uncommitted)
	if v.WS.Work.Has(croft.AspectCommits) {
		data.Behind = v.WS.Work.Behind
	}
	address := workspacePath(r.Repo.ID, v.WS.ID, "commits")
	if list.Next != "" {
		data.Pager.Next = address + "?after=" + url.QueryEscape(list.Next)
	}
	if after != "" {
		data.Pager.Prev = address
	} else {
		p.Live = append(p.Live, region{Template: "commits", Data: v})
	}
	data.Pager.Text = countText(len(list.Items), "commit") + " of " + numberText(list.Total)
	return p, nil
}

// workText says what is not committed: 2 modified, 1 new.
func workText(u *croft.Uncommitted) string {
	if u == nil {
		return ""
	}
	var parts []string
	add := func(n int, word string) {
		if n > 0 {
			parts = append(parts, numberText(n)+" "+word)
		}
	}
	add(u.Files-u.NewFiles-u.DeletedFiles, "modified")
	add(u.NewFiles, "new")
	add(u.DeletedFiles, "deleted")
	add(len(u.HeldBack), "held back")
	return strings.Join(parts, ", ")
}
