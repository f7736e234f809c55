package dashboard_test

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestGetDoesNotAct: an address that takes a form does nothing without one.
func TestGetDoesNotAct(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	history, err := s.svc.History(t.Context(), croft.HistoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, act := range []string{"merge", "resolve", "snapshot", "lock", "unlock", "hold", "release", "cancel", "remove", "restore", "discard"} {
		paths = append(paths, s.at(ws, act))
	}
	for _, path := range append(paths, "/bulk?do=merge&w="+string(s.repo)+"/"+string(ws.ID), "/theme", s.in("undo/"+string(history.Items[0].ID)), s.in("queue/hold"), s.in("trash/"+string(ws.ID))) {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			s.do(method, path, nil)
		}
	}
	after, err := s.svc.History(t.Context(), croft.HistoryRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Items) != len(history.Items) {
		t.Errorf("%d acts were done without a form: %+v", len(after.Items)-len(history.Items), after.Items[0])
	}
}

// TestTraversal: what a path or a parameter says is an ID or a path of the work, and leads nowhere else.
func TestTraversal(t *testing.T) {
	s := newSite(t)
	gittest.WriteFile(t, s.git.Home+"/secret", "top secret\n")
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	for _, bad := range []string{"../../home/secret", "/etc/passwd", "%2e%2e%2fsecret", "..%2f..%2fhome%2fsecret", "path:" + s.git.Home, "name:fix", ".", "", "\x00", "--help", "HEAD", ":(glob)**"} {
		for _, path := range []string{
			s.at(ws, "file?path=") + url.QueryEscape(bad), s.in("w/") + url.PathEscape(bad), "/r/" + url.PathEscape(bad) + "/", s.in("m/") + url.PathEscape(bad) + "/log",
			s.in("m/x/log?check=") + url.QueryEscape(bad), s.in("undo/") + url.PathEscape(bad), s.in("queue?target=") + url.QueryEscape(bad), s.at(ws, "?after=") + url.QueryEscape(bad),
			"/?page=" + url.QueryEscape(bad), "/live?page=" + url.QueryEscape(bad), s.in("history?after=") + url.QueryEscape(bad), "/static/" + url.PathEscape(bad),
		} {
			a := s.do(http.MethodGet, path, nil)
			if a.status >= http.StatusInternalServerError || strings.Contains(a.body, "top secret") || strings.Contains(a.body, "root:") {
				t.Errorf("%s: %d\n%s", path, a.status, a.body)
			}
		}
		for _, path := range []string{s.in("w/") + url.PathEscape(bad) + "/merge", s.in("trash/") + url.PathEscape(bad), s.in("m/") + url.PathEscape(bad) + "/cancel"} {
			if a := s.send(path, "target", bad, "snapshot", bad, "w", bad); a.status < http.StatusMultipleChoices || a.status >= http.StatusInternalServerError {
				t.Errorf("POST %s: %d\n%s", path, a.status, a.body)
			}
		}
	}
}

// TestTwoProjects: a project that has gone does not keep the others from being shown.
func TestTwoProjects(t *testing.T) {
	s := newSite(t)
	other := gittest.New(t)
	second, err := s.svc.Repo(t.Context(), croft.RepoRequest{Repo: croft.ByPath(other.Dir)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.Create(t.Context(), croft.CreateRequest{Repo: croft.ByID(second.ID), Name: "elsewhere"}); err != nil {
		t.Fatal(err)
	}
	s.make("here", map[string]string{"a.txt": "a\n"})
	want(t, "the inbox of all", s.get("/"), "in 2 repositories", "elsewhere", "<bdi>here</bdi>")
	if page := s.get(s.in("")); strings.Contains(page, "elsewhere") {
		t.Error("the inbox of one project shows another's workspaces")
	}
	want(t, "the conflicts of all", s.get("/conflicts"), "Choose a repository", "/r/"+string(second.ID)+"/conflicts")
	if err := os.Rename(other.Dir, other.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/queue", "/conflicts", "/history", "/trash", s.in("")} {
		want(t, path+" without a project", s.get(path), "not found")
	}
	if a := s.do(http.MethodGet, "/r/"+string(second.ID)+"/queue", nil); a.status >= http.StatusInternalServerError {
		t.Errorf("the queue of a project that is gone: %d\n%s", a.status, a.body)
	}
}

// FuzzRequests: no request makes a handler panic, or fails for a reason of the server's own.
func FuzzRequests(f *testing.F) {
	s := newSite(f)
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	for _, path := range []string{"", "queue?target=main", "conflicts", "history?q=x&after=y", "trash", "w/" + string(ws.ID), "w/" + string(ws.ID) + "/file?path=a.txt&from=-1", "w/x/checks", "m/x/log?from=9", "undo/x"} {
		f.Add(path, "")
		f.Add(path, "w=a/b&do=discard&target=x&snapshot=y&reason=z&work=yes")
	}
	f.Fuzz(func(t *testing.T, path, form string) {
		u := &url.URL{Path: "/r/" + string(s.repo) + "/"}
		p, query, _ := strings.Cut(path, "?")
		u.Path += p
		u.RawQuery = url.PathEscape(query)
		if strings.Contains(query, "&") || strings.Contains(query, "=") {
			u.RawQuery = strings.Map(func(r rune) rune {
				if r <= ' ' || r >= 0x7f || r == '#' {
					return '_'
				}
				return r
			}, query)
		}
		method, values := http.MethodGet, url.Values(nil)
		if form != "" {
			method = http.MethodPost
			values, _ = url.ParseQuery(form)
			if values == nil {
				values = url.Values{}
			}
			values.Set("csrf", formToken)
		}
		if strings.Contains(u.Path, "/live") || strings.Contains(u.Path, "discard") {
			return
		}
		in := *s
		in.t = t
		if a := in.do(method, u.RequestURI(), values); a.status >= http.StatusInternalServerError {
			t.Errorf("%s %s: %d\n%s", method, u, a.status, a.body)
		}
	})
}
