package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
)

// Allowed returns the methods with which a mux has a route at the path of a request. A route
// with the pattern others, which takes what no other one does, does not count.
func Allowed(mux *http.ServeMux, others string, r *http.Request) []string {
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := mux.Handler(other); pattern != others && pattern != "" {
			methods = append(methods, method)
		}
	}
	return methods
}

// RefuseMethod answers a request that no route takes: with 405 if its path takes the allowed
// methods, and with 404 if it takes none.
func RefuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	e := &croft.Error{Code: croft.InvalidRequest, Op: "call", Message: "the API has nothing at this path", Hint: "GET " + DocumentPath}
	if len(allowed) == 0 {
		WriteProblem(w, http.StatusNotFound, e)
		return
	}
	if slices.Contains(allowed, http.MethodGet) {
		allowed = append(slices.Clone(allowed), http.MethodHead)
	}
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	e.Message, e.Details = "the API has no "+r.Method+" at this path", "It has "+list+"."
	WriteProblem(w, http.StatusMethodNotAllowed, e)
}
