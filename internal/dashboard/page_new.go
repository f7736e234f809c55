package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/croft-sh/croft"
)

// maxNew is how many workspaces one form may make.
const maxNew = 100

// newData is the form for new workspaces.
type newData struct {
	newForm
	Repos   []croft.Repo
	Layouts []string
	Modes   []croft.Mode
	Errors  map[string]string // what is wrong, by field; "" is of no field
	Hint    string
	Plan    []croft.Workspace // what would be made
	Action  string
	Back    string
}

// newForm is what the form has in its fields.
type newForm struct {
	Repo, Base, Names, Count, Agent, Role, Session, Layout, Mode string
}

// newLayouts and newModes are what can be chosen; the first is what the configuration says.
var (
	newLayouts = []string{"", "default", "agents", "swarm", "sibling"}
	newModes   = []croft.Mode{"", croft.ModeAuto, croft.ModeWorktree, croft.ModeIsolated, croft.ModeLegacy}
)

// newPage shows the empty form.
func (d *dashboard) newPage(r *request) (*page, error) { return d.newWith(r, newForm{}), nil }

func (d *dashboard) newWith(r *request, form newForm) *page {
	data := &newData{newForm: form, Layouts: newLayouts, Modes: newModes, Errors: map[string]string{}, Action: r.path("new"), Back: r.path("")}
	for _, repo := range r.Repos {
		if !repo.IsMissing {
			data.Repos = append(data.Repos, repo)
		}
	}
	if r.Repo != nil && data.Repo == "" {
		data.Repo = string(r.Repo.ID)
	}
	return &page{Template: "new", Title: "New workspaces", Data: data}
}

// makeNew makes the workspaces of the form, all or none, or shows what would be made.
func (d *dashboard) makeNew(r *request) (string, error) {
	form := newForm{
		Repo: r.PostFormValue("repo"), Base: r.PostFormValue("base"), Names: r.PostFormValue("names"), Count: r.PostFormValue("count"), Agent: r.PostFormValue("agent"),
		Role: r.PostFormValue("role"), Session: r.PostFormValue("session"), Layout: r.PostFormValue("layout"), Mode: r.PostFormValue("mode"),
	}
	p := d.newWith(r, form)
	data, _ := p.Data.(*newData)
	req, field, problem := form.request(r)
	if problem != "" {
		return "", data.refuse(p, field, problem)
	}
	if r.PostFormValue("do") == "plan" {
		plan, err := d.svc.PlanCreate(r.Context(), req)
		if err != nil {
			return "", data.explain(p, err)
		}
		data.Plan = plan.Workspaces
		return "", &answered{page: p}
	}
	req.Key = r.key()
	made, err := d.svc.CreateAll(r.Context(), req)
	if err != nil {
		return "", data.explain(p, err)
	}
	repo := croft.ID(form.Repo)
	if len(made.Workspaces) == 1 {
		return workspacePath(repo, made.Workspaces[0].ID, ""), nil
	}
	return repoPath(repo, ""), nil
}

// request turns the form into a request, or says which field is wrong.
func (f newForm) request(r *request) (req croft.CreateAllRequest, field, problem string) {
	known := false
	for _, repo := range r.Repos {
		known = known || string(repo.ID) == f.Repo && f.Repo != ""
	}
	if !known {
		return req, "repo", "Choose a repository."
	}
	req.Repo = croft.ByID(croft.ID(f.Repo))
	names, field, problem := f.names()
	if problem != "" {
		return req, field, problem
	}
	for _, name := range names {
		req.Workspaces = append(req.Workspaces, croft.CreateRequest{
			Name: name, Base: strings.TrimSpace(f.Base), Agent: strings.TrimSpace(f.Agent), Role: strings.TrimSpace(f.Role), Session: strings.TrimSpace(f.Session), Layout: f.Layout, Mode: croft.Mode(f.Mode),
		})
	}
	return req, "", ""
}

// names are those of the lines. A count without lines is of invented names, and with one line of that name
// and numbers.
func (f newForm) names() (names []string, field, problem string) {
	for line := range strings.Lines(f.Names) {
		if name := strings.TrimSpace(line); name != "" {
			names = append(names, name)
		}
	}
	count := 1
	if text := strings.TrimSpace(f.Count); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxNew {
			return nil, "count", "From 1 to " + strconv.Itoa(maxNew) + "."
		}
		count = n
	}
	switch {
	case len(names) > maxNew:
		return nil, "names", "At most " + strconv.Itoa(maxNew) + " at once."
	case len(names) > 1 && count > 1 && count != len(names):
		return nil, "count", "There are " + strconv.Itoa(len(names)) + " names. Leave the number empty, or give one name."
	case len(names) == 0:
		return make([]string, count), "", ""
	case len(names) == 1 && count > 1:
		all := make([]string, count)
		for i := range all {
			all[i] = names[0] + "-" + strconv.Itoa(i+1)
		}
		return all, "", ""
	}
	return names, "", ""
}

// fieldsOf says to which field the code of a refusal belongs.
var fieldsOf = map[croft.Code]string{
	croft.InvalidName: "names", croft.WorktreeExists: "names", croft.BranchExists: "names", croft.BranchBlocked: "names", croft.BranchInUse: "names",
	croft.BaseNotFound: "base", croft.TargetNotFound: "base", croft.RoleNotFound: "role", croft.SessionRequired: "session", croft.NotARepo: "repo",
}

// explain puts what the Service refused beside its field.
func (data *newData) explain(p *page, err error) error {
	e := croft.AsError("create", err)
	if e.Code.HTTPStatus() >= http.StatusInternalServerError && fieldsOf[e.Code] == "" {
		return err
	}
	data.Hint = e.Hint
	message := e.Message
	if e.Workspace != "" && !strings.Contains(message, e.Workspace) {
		message = e.Workspace + ": " + message
	}
	p.Status = e.Code.HTTPStatus()
	return data.refuse(p, fieldsOf[e.Code], message)
}

// refuse shows the form again with what is wrong.
func (data *newData) refuse(p *page, field, problem string) error {
	data.Errors[field] = problem
	if p.Status == 0 {
		p.Status = http.StatusUnprocessableEntity
	}
	return &answered{page: p}
}
