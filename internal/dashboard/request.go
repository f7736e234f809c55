package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
)

// maxForm is how many bytes a form may have.
const maxForm = 1 << 20

// request is a request for a page or an action.
type request struct {
	*http.Request
	d      *dashboard
	begun  time.Time // what the page shows was not read before
	Caller caller.Caller
	// Repo is the project that the page is of; nil: all of them.
	Repo *croft.Repo
	// Repos are all projects that the Service knows.
	Repos []croft.Repo

	listed []croft.Workspace // as the page has read them

	w http.ResponseWriter // of an action, for cookies
}

func (d *dashboard) request(r *http.Request) *request {
	return &request{Request: r, d: d, begun: time.Now(), Caller: caller.From(r.Context())}
}

// findRepos finds the projects.
func (r *request) findRepos() (err error) {
	r.Repos, err = r.d.lists.repos(r)
	return err
}

// scope finds the projects, and the one that the path names.
func (r *request) scope() error {
	if err := r.findRepos(); err != nil {
		return err
	}
	repos := r.Repos
	id := croft.ID(r.PathValue("repo"))
	if id == "" {
		return nil
	}
	for i := range repos {
		if repos[i].ID == id {
			r.Repo = &repos[i]
			return nil
		}
	}
	return &refusal{
		status: http.StatusNotFound, title: "No project is known by this ID",
		happened: "Croft has never seen the project, or was taken out of it.", left: "Nothing was changed.", next: "Choose a project from the list.",
	}
}

// ref names the project of the request to the Service.
func (r *request) ref() croft.Ref {
	if r.Repo == nil {
		return ""
	}
	return croft.ByID(r.Repo.ID)
}

// path is the address of a page within what the request is about: one project or all.
func (r *request) path(to string) string {
	if r.Repo == nil {
		return "/" + to
	}
	return repoPath(r.Repo.ID, to)
}

// repoPath is the address of a page of one project.
func repoPath(repo croft.ID, to string) string {
	return "/r/" + url.PathEscape(string(repo)) + "/" + to
}

// mayAct reports whether the caller may change anything.
func (r *request) mayAct() bool { return r.Caller.Access == croft.AccessAll }

// maySee reports whether the caller may see all projects.
func (r *request) maySee() bool {
	return r.Caller.Access == croft.AccessAll || r.Caller.Access == croft.AccessRead
}

// pageHandler serves a page.
type pageHandler struct {
	d   *dashboard
	row pageRow
}

func (h *pageHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := h.d.request(r)
	p, err := h.make(req)
	if c, ok := r.Context().Value(captureKey{}).(*captured); ok {
		c.request, c.page, c.err = req, p, err
		return
	}
	if err != nil {
		h.d.fail(w, req, err)
		return
	}
	h.d.show(w, req, p)
}

func (h *pageHandler) make(req *request) (*page, error) {
	if err := req.scope(); err != nil {
		return nil, err
	}
	p, err := h.row.make(req)
	if err != nil {
		return nil, err
	}
	p.nav, p.repo = h.row.nav.name, req.PathValue("repo")
	if h.row.under != "" {
		p.nav, p.current = h.row.under, "true"
	}
	return p, nil
}

// captureKey is for a request whose page is not written but kept, by the stream of a page.
type captureKey struct{}

type captured struct {
	request *request
	page    *page
	err     error
}

// answered is the error of an action that answers with a page instead of leading to one: a form with what is wrong
// in it, or a secret that is shown once. The page has the address that the form posts to, also for GET.
type answered struct {
	page *page
	// hasActed: the page answers what was done, and is shown once.
	hasActed bool
}

func (a *answered) Error() string { return a.page.Title }

// actionHandler serves what a form posts to.
type actionHandler struct {
	d   *dashboard
	act func(*request) (string, error)
	// isForAll: it changes nothing but a cookie of the browser's, which a caller who may only read may do, too.
	isForAll bool
}

func (h *actionHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := h.d.request(r)
	to, err := h.do(w, req)
	if a, ok := errors.AsType[*answered](err); ok {
		h.d.show(w, req, a.page)
		return
	}
	if err != nil {
		h.d.fail(w, req, err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (h *actionHandler) do(w http.ResponseWriter, req *request) (string, error) {
	if !req.mayAct() && !h.isForAll {
		return "", &refusal{
			status: http.StatusForbidden, title: "You may look, and not act",
			happened: "The token that you came with may read only.", left: "Nothing was changed.", next: "Log in with a token that may act.",
		}
	}
	req.Body = http.MaxBytesReader(w, req.Body, maxForm)
	if err := req.ParseForm(); err != nil {
		return "", &refusal{
			status: http.StatusBadRequest, title: "The form could not be read",
			happened: "It was too large, or cut off on its way.", left: "Nothing was changed.", next: "Go back and send it again.",
		}
	}
	if err := req.scope(); err != nil {
		return "", err
	}
	req.w = w
	return h.d.sent.do(req.Context(), req.key(req.Caller.Form, string(req.Caller.Token)), func() (string, error) { return h.act(req) })
}
