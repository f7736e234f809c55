package dashboard

import (
	"crypto/rand"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/croft-sh/croft"
)

// functions are what templates may call.
func functions(a *assets) template.FuncMap {
	return template.FuncMap{
		"asset":    func(name string) string { return a.paths[name] },
		"on":       func(f *frame, data any) view { return view{f, data} },
		"csrf":     formFields,
		"pair":     func(a, b any) pair { return pair{a, b} },
		"icon":     icon,
		"plain":    func(s string) string { return plain([]byte(s)) },
		"span":     spanText,
		"took":     func(d croft.Duration) string { return tookText(time.Duration(d)) },
		"size":     sizeText,
		"number":   numberText,
		"count":    countText,
		"short":    shortCommit,
		"state":    stateOf,
		"reason":   reasonText,
		"age":      func(f *frame, t time.Time) string { return spanText(f.Now.Sub(t)) },
		"left":     func(f *frame, t time.Time) string { return spanText(t.Sub(f.Now)) },
		"stamp":    func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"clock":    func(t time.Time) string { return t.Local().Format("15:04") },
		"repo":     func(f *frame, id croft.ID) string { return f.projects[id] },
		"in":       repoPath,
		"ws":       func(ws *croft.Workspace) string { return workspacePath(ws.RepoID, ws.ID, "") },
		"dir":      func(p string) string { return p[:strings.LastIndexByte(p, '/')+1] },
		"base":     func(p string) string { return p[strings.LastIndexByte(p, '/')+1:] },
		"seconds":  seconds,
		"long":     tookText,
		"repolink": func(r *croft.Repo) string { return repoPath(r.ID, "") },
		"cell":     func(name string, c any) cellView { return cellOf(name, c) },
		"query":    url.QueryEscape,
		"add":      func(a, b int) int { return a + b },
		"files":    func(w *croft.Work) bool { return w.Has(croft.AspectFiles) },
		"commits": func(w *croft.Work) bool {
			return w.Has(croft.AspectCommits)
		},
	}
}

// pair hands a template two things.
type pair struct{ A, B any }

// cellView is a cell of the matrix with the name of its row.
type cellView struct {
	Name string
	Cell matrixCell
}

func cellOf(name string, c any) cellView {
	if p, ok := c.(*matrixCell); ok {
		return cellView{name, *p}
	}
	cell, _ := c.(matrixCell)
	return cellView{name, cell}
}

// seconds are whole seconds.
func seconds(d croft.Duration) int { return int(time.Duration(d).Seconds()) }

// workspacePath is the address of a page of a workspace.
func workspacePath(repo, ws croft.ID, to string) string {
	path := "w/" + url.PathEscape(string(ws))
	if to != "" {
		path += "/" + to
	}
	return repoPath(repo, path)
}

// formFields are the fields of every form that posts: the token that the server in front wants, the
// page that the form is on, and a key, so that it acts once however often it is sent.
func formFields(f *frame) template.HTML {
	return template.HTML(`<input type="hidden" name="csrf" value="` + template.HTMLEscapeString(f.Caller.Form) + //nolint:gosec // escaped
		`"><input type="hidden" name="back" value="` + template.HTMLEscapeString(f.Here) +
		`"><input type="hidden" name="key" value="` + rand.Text() + `">`)
}

// icon is a symbol of icons.svg, with further classes.
func icon(name string, classes ...string) template.HTML {
	class := strings.Join(append([]string{"icon"}, classes...), " ")
	return template.HTML(`<svg class="` + template.HTMLEscapeString(class) + `" viewBox="0 0 16 16" aria-hidden="true"><use href="#i-` + //nolint:gosec // escaped
		template.HTMLEscapeString(name) + `"/></svg>`)
}
