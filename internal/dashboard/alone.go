package dashboard

import (
	"bytes"
	"html/template"
	"net/http"

	"github.com/croft-sh/croft"
)

// Handler serves the pages, and writes those that the server in front needs before it knows who calls.
type Handler struct{ d *dashboard }

// ServeHTTP serves a page or an action to the caller of the request's context.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.d.ServeHTTP(w, r) }

// IsPublic reports whether a path may be had without a login: the files that the page of the login uses.
func (h *Handler) IsPublic(path string) bool {
	_, ok := h.d.assets.byPath[path]
	return ok
}

// Login is what the page of the login says.
type Login struct {
	Next   string // a path of the server, for the form to pass on
	Failed string // why the last attempt failed; empty at the first
}

// Login writes the page on which a browser logs in. Its form posts token and next to /login.
func (h *Handler) Login(w http.ResponseWriter, r *http.Request, l Login) {
	l.Next = localPath(l.Next)
	req := h.d.request(r)
	f := h.d.bareFrame(req)
	f.Title = "Sign in"
	h.d.writeAlone(w, req, http.StatusOK, "login", f, l)
}

// Error writes the page of an error, which stands alone. It reads no body and asks the Service nothing: the request may
// be one that was refused for what it is.
func (h *Handler) Error(w http.ResponseWriter, r *http.Request, e *croft.Error) {
	req := h.d.request(r)
	data := describe(e)
	data.Inbox = "/"
	h.d.failAlone(w, req, data)
}

// writeAlone writes a page without the navigation.
func (d *dashboard) writeAlone(w http.ResponseWriter, r *request, status int, name string, f *frame, data any) {
	set := d.templates.pages[name]
	var main bytes.Buffer
	if err := set.ExecuteTemplate(&main, "main", view{f, data}); err != nil {
		d.log.ErrorContext(r.Context(), "page", "template", name, "error", err)
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	f.Main = template.HTML(main.String()) //nolint:gosec // html/template made it
	d.write(w, r, status, set, "alone", f)
}
