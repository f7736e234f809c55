package dashboard

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// actsPerPage is how many acts a page of the history has, of each project.
const actsPerPage = 50

// addQuery adds a parameter to an address.
func addQuery(address, name, value string) string {
	sep := "?"
	if strings.Contains(address, "?") {
		sep = "&"
	}
	return address + sep + url.QueryEscape(name) + "=" + url.QueryEscape(value)
}

type historyData struct {
	Days     []historyDay
	Query    string
	Path     string
	Older    []olderActs
	Problems []string
	IsEmpty  bool
}

// olderActs leads to the older acts of a project.
type olderActs struct {
	Name, Path string
}

// historyPage lists what was done, in one project or in all.
func (d *dashboard) historyPage(r *request) (*page, error) {
	data := &historyData{Query: r.URL.Query().Get("q"), Path: r.path("history")}
	var ops []croft.Operation
	for _, repo := range r.Repos {
		if r.Repo != nil && repo.ID != r.Repo.ID {
			continue
		}
		req := croft.HistoryRequest{Repo: croft.ByID(repo.ID), Page: croft.Page{Limit: actsPerPage}}
		if r.Repo != nil {
			req.After = r.URL.Query().Get("after")
		}
		list, err := d.svc.History(r.Context(), req)
		if err != nil {
			if r.Repo != nil {
				return nil, err
			}
			data.Problems = append(data.Problems, repo.Name+": "+croft.AsError("history", err).Message)
			continue
		}
		for _, op := range list.Items {
			if hasWords(op, data.Query) {
				ops = append(ops, op)
			}
		}
		if list.Next != "" {
			data.Older = append(data.Older, olderActs{repo.Name, addQuery(repoPath(repo.ID, "history"), "after", list.Next)})
		}
	}
	slices.SortStableFunc(ops, func(a, b croft.Operation) int { return b.StartedAt.Compare(a.StartedAt) })
	data.Days = daysOf(ops, d.now(), r.Repos)
	data.IsEmpty = len(ops) == 0
	p := &page{Template: "history", Title: "History", Data: data}
	if r.URL.Query().Get("after") == "" {
		p.Live = []region{{Template: "history", Data: data}}
	}
	return p, nil
}

// hasWords reports whether an act has all words of a filter.
func hasWords(op croft.Operation, filter string) bool {
	text := strings.ToLower(op.Kind + "\n" + op.Actor + "\n" + op.WorkspaceName + "\n" + string(op.ID) + "\n" + verbs[op.Kind].verb)
	for word := range strings.FieldsSeq(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// undoData is the question before an act is undone.
type undoData struct {
	Plan   *croft.UndoPlan
	Act    historyAct
	Action string
	Back   string
	// IsForced: the undo is refused because of uncommitted work, which would go to the trash.
	IsForced bool
}

// undoPage asks before an act is undone.
func (d *dashboard) undoPage(r *request) (*page, error) {
	id := croft.ID(r.PathValue("op"))
	plan, err := d.svc.PlanUndo(r.Context(), croft.UndoRequest{Repo: r.ref(), Operation: id})
	if err != nil {
		return nil, err
	}
	data := &undoData{Plan: plan, Act: actOf(plan.Operation, r.Repos), Action: repoPath(r.Repo.ID, "undo/"+url.PathEscape(string(plan.Operation.ID))), Back: r.path("history")}
	data.IsForced = plan.Refused != nil && plan.Refused.Code == croft.WorkspaceDirty
	return &page{Template: "undo", Title: "Undo", Data: data}, nil
}

// undo undoes the act that the question was about.
func (d *dashboard) undo(r *request) (string, error) {
	req := croft.UndoRequest{Repo: r.ref(), Operation: croft.ID(r.PathValue("op")), Key: r.key()}
	if r.PostFormValue("work") == "yes" {
		req.Mode = croft.RemoveForce
	}
	for _, field := range r.PostForm["seen"] {
		if id, stamp, ok := strings.Cut(field, " "); ok {
			if req.Stamps == nil {
				req.Stamps = map[croft.ID]string{}
			}
			req.Stamps[croft.ID(id)] = stamp
		}
	}
	_, err := d.svc.Undo(r.Context(), req)
	if errors.Is(err, croft.WorkChanged) {
		return "", r.askAgain(d.undoPage, "History", err, func(*page) string {
			return "The work in " + croft.AsError("undo", err).Workspace + " has changed since you were asked. Below is what the undo would do now."
		})
	}
	if err != nil {
		return "", err
	}
	return r.path("history"), nil
}
