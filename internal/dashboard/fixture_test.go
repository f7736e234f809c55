package dashboard_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/dashboard"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// policy is the one that the daemon sets.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// formToken is what every form has to carry.
const formToken = `tok"en<&>1`

// site is a dashboard over an engine, behind a server like the daemon's.
type site struct {
	t      testing.TB
	git    *gittest.Repo
	svc    croft.Service
	repo   croft.ID
	url    string
	who    caller.Caller
	forged int // posts without the token
	server *httptest.Server
	isDown *atomic.Bool // streams are refused
}

// newSite makes a project and serves its dashboard. croft.toml has checks if there are any, which
// are approved.
func newSite(t testing.TB, checks ...string) *site {
	t.Helper()
	s := &site{t: t, isDown: &atomic.Bool{}, git: gittest.New(t), who: caller.Caller{Access: croft.AccessAll, Name: "ada", Form: formToken}}
	if len(checks) > 0 {
		s.git.Write("croft.toml", fmt.Sprintf("[merge]\nchecks = [%s]\n", quoted(checks)))
		s.git.Commit("checks")
	}
	e, err := engine.Open(t.Context(), s.git.Dir, &engine.Options{Environ: s.git.Env, Actor: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	s.svc = e
	repo, err := e.Repo(t.Context(), croft.RepoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	s.repo = repo.ID
	if len(checks) > 0 {
		plan, err := e.Checks(t.Context(), croft.ChecksRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Approve(t.Context(), croft.ApproveRequest{Hash: plan.Hash}); err != nil {
			t.Fatal(err)
		}
	}
	s.serve(dashboard.New(e, dashboard.Options{}))
	return s
}

func quoted(words []string) string {
	var q []string
	for _, w := range words {
		q = append(q, fmt.Sprintf("%q", w))
	}
	return strings.Join(q, ", ")
}

// serve serves a dashboard as the daemon does: it says who calls, refuses forms without the token, and
// sets the policy.
func (s *site) serve(h http.Handler) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		if s.isDown.Load() && r.URL.Path == "/live" {
			panic(http.ErrAbortHandler)
		}
		if r.Method == http.MethodPost && r.FormValue("csrf") != formToken {
			s.forged++
			http.Error(w, "forged", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r.WithContext(caller.With(r.Context(), s.who)))
	}))
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.url, s.server = server.URL, server
}

// make makes a workspace with files that are committed.
func (s *site) make(name string, files map[string]string) *croft.Workspace {
	s.t.Helper()
	ws, err := s.svc.Create(s.t.Context(), croft.CreateRequest{Name: name})
	if err != nil {
		s.t.Fatal(err)
	}
	s.commit(ws, "work of "+name, files)
	return ws
}

func (s *site) commit(ws *croft.Workspace, message string, files map[string]string) {
	s.t.Helper()
	if len(files) == 0 {
		return
	}
	for path, text := range files {
		gittest.WriteFile(s.t, filepath.Join(ws.Path, path), text)
	}
	s.git.GitIn(ws.Path, "add", "-A")
	s.git.GitIn(ws.Path, "commit", "--quiet", "-m", message)
}

// finish says that the agent of a workspace has ended well.
func (s *site) finish(ws *croft.Workspace) {
	s.t.Helper()
	if _, err := s.svc.Finish(s.t.Context(), croft.FinishRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
		s.t.Fatal(err)
	}
}

// merge merges a workspace and waits.
func (s *site) merge(ws *croft.Workspace) *croft.Merge {
	s.t.Helper()
	m, err := s.svc.SubmitMerge(s.t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID)})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.wait(m.ID)
}

func (s *site) wait(id croft.ID) *croft.Merge {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	m, err := s.svc.WaitMerge(ctx, croft.WaitRequest{Merge: id})
	if err != nil {
		s.t.Fatal(err)
	}
	return m
}

// in is an address of the project.
func (s *site) in(path string) string { return "/r/" + string(s.repo) + "/" + path }

// at is an address of a workspace.
func (s *site) at(ws *croft.Workspace, path string) string {
	to := s.in("w/" + string(ws.ID))
	if path != "" {
		to += "/" + path
	}
	return to
}

// answer is what the server said.
type answer struct {
	status int
	header http.Header
	body   string
}

func (s *site) do(method, path string, form url.Values) answer {
	s.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	client := http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

// get loads a page, which has to be there.
func (s *site) get(path string) string {
	s.t.Helper()
	a := s.do(http.MethodGet, path, nil)
	if a.status != http.StatusOK {
		s.t.Fatalf("GET %s: %d\n%s", path, a.status, a.body)
	}
	return a.body
}

// post sends a form with the token, which has to be taken, and returns where it leads.
func (s *site) post(path string, fields ...string) string {
	s.t.Helper()
	a := s.send(path, fields...)
	if a.status != http.StatusSeeOther {
		s.t.Fatalf("POST %s: %d\n%s", path, a.status, a.body)
	}
	return a.header.Get("Location")
}

// send sends a form with the token.
func (s *site) send(path string, fields ...string) answer {
	s.t.Helper()
	form := url.Values{"csrf": {formToken}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return s.do(http.MethodPost, path, form)
}

// hidden are the hidden fields of the last form of a page that has some, without those that every form has.
func hidden(page string) []string {
	var fields []string
	for _, form := range regexp.MustCompile(`(?s)<form.*?</form>`).FindAllString(page, -1) {
		var of []string
		for _, f := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(form, -1) {
			if f[1] != "csrf" && f[1] != "key" && f[1] != "back" {
				of = append(of, f[1], html.UnescapeString(f[2]))
			}
		}
		if len(of) > 0 {
			fields = of
		}
	}
	return fields
}

// withoutTheme is a page without the form that a reader has, too.
func withoutTheme(page string) string {
	return regexp.MustCompile(`(?s)<form class="theme".*?</form>`).ReplaceAllString(page, "")
}

// want fails unless the text has all parts.
func want(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s has no %q:\n%s", what, p, text)
		}
	}
}
