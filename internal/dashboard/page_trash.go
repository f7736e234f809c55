package dashboard

import (
	"slices"
	"time"

	"github.com/croft-sh/croft"
)

// trashPerPage is how many removed workspaces a page has, of each project.
const trashPerPage = 100

type trashData struct {
	Items    []trashRow
	Soon     []trashRow // work that is going to be deleted
	Bytes    int64
	Inodes   int64
	Older    []olderActs
	Problems []string
}

// trashRow is a removed workspace.
type trashRow struct {
	croft.TrashItem
	Repo    string
	Action  string
	Path    string
	Why     string
	What    string
	Share   int // of its time, in percent
	IsAway  bool
	Removed time.Time
}

// trashPage lists what can be restored.
func (d *dashboard) trashPage(r *request) (*page, error) {
	data := &trashData{}
	for _, repo := range r.Repos {
		if r.Repo != nil && repo.ID != r.Repo.ID {
			continue
		}
		req := croft.TrashRequest{Repo: croft.ByID(repo.ID), Page: croft.Page{Limit: trashPerPage}}
		if r.Repo != nil {
			req.After = r.URL.Query().Get("after")
		}
		list, err := d.svc.Trash(r.Context(), req)
		if err != nil {
			if r.Repo != nil {
				return nil, err
			}
			data.Problems = append(data.Problems, repo.Name+": "+croft.AsError("trash", err).Message)
			continue
		}
		for _, item := range list.Items {
			data.add(d.trashRowOf(repo, item))
		}
		if list.Next != "" {
			data.Older = append(data.Older, olderActs{repo.Name, addQuery(repoPath(repo.ID, "trash"), "after", list.Next)})
		}
	}
	slices.SortStableFunc(data.Items, func(a, b trashRow) int { return b.RemovedAt.Compare(a.RemovedAt) })
	p := &page{Template: "trash", Title: "Trash", Data: data}
	if r.URL.Query().Get("after") == "" {
		p.Live = []region{{Template: "trash", Data: data}}
	}
	return p, nil
}

func (data *trashData) add(row trashRow) {
	data.Items = append(data.Items, row)
	data.Bytes += row.Bytes
	data.Inodes += row.Inodes
	if !row.PurgeAt.IsZero() {
		data.Soon = append(data.Soon, row)
	}
}

func (d *dashboard) trashRowOf(repo croft.Repo, item croft.TrashItem) trashRow {
	row := trashRow{
		TrashItem: item, Repo: repo.Name, Action: repoPath(repo.ID, "trash/"+string(item.ID)),
		Why: conditionState(item.As).Word, IsAway: item.Left == croft.LeftAway,
	}
	switch item.Left {
	case croft.LeftDirectory:
		row.What = "everything"
	case croft.LeftSnapshot:
		row.What = "commits and a snapshot"
	case croft.LeftCommits:
		row.What = "its commits"
	case croft.LeftAway:
		row.What = "its directory was moved"
	}
	if len(item.Stripped) > 0 {
		row.What += ", without what can be made again"
	}
	if whole := item.ExpiresAt.Sub(item.RemovedAt); whole > 0 {
		row.Share = min(100, max(0, int(item.ExpiresAt.Sub(d.now())*100/whole)))
	}
	return row
}

// restoreTrash brings a removed workspace back, and shows it.
func (d *dashboard) restoreTrash(r *request) (string, error) {
	req := croft.RestoreRequest{Repo: r.ref(), Ref: croft.ByID(croft.ID(r.PathValue("item"))), Key: r.key()}
	if r.PostFormValue("mode") == "commits" {
		req.Mode = croft.RestoreCommits
	}
	ws, err := d.svc.Restore(r.Context(), req)
	if err != nil {
		return "", err
	}
	return workspacePath(r.Repo.ID, ws.ID, ""), nil
}
