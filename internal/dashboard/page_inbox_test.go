package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/caller"
)

func TestInbox(t *testing.T) {
	s := newSite(t)
	want(t, "the empty inbox", s.get("/"), "Nothing needs you", "croft new researcher")

	ready := s.make("ready", map[string]string{"a.txt": "a\n"})
	s.finish(ready)
	s.make("idle", nil)
	page := s.get("/")
	want(t, "the inbox", page, "Nothing needs you", "Ready to merge", `id="t-`+string(ready.ID), `action="`+s.at(ready, "merge")+`"`, `value="tok&#34;en&lt;&amp;&gt;1"`,
		`id="w-`+string(ready.ID), "ready to merge", "no work yet", `data-events="/live?page=%2F`)
	want(t, "the inbox of the project", s.get(s.in("")), `aria-current="true"><bdi>app</bdi>`, "in app")
	if idle := s.get("/?state=idle"); strings.Contains(idle, string(ready.ID)) || !strings.Contains(idle, "no work yet") {
		t.Error("the filter by state leaves the wrong ones")
	}
	if found := s.get("/?q=READ"); !strings.Contains(found, string(ready.ID)) || strings.Contains(found, ">idle<") {
		t.Error("the filter by text leaves the wrong ones")
	}
	want(t, "a filter that finds nothing", s.get("/?q=nosuch"), "No workspace is like that now")
}

func TestInboxPages(t *testing.T) {
	s := newSite(t)
	var parts []croft.CreateRequest
	for i := range 60 {
		parts = append(parts, croft.CreateRequest{Name: fmt.Sprintf("w%02d", i)})
	}
	if _, err := s.svc.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: parts}); err != nil {
		t.Fatal(err)
	}
	first, second := s.get("/"), s.get("/?page=2")
	if n := strings.Count(first, `<tr id="w-`); n != 50 {
		t.Errorf("the first page has %d rows", n)
	}
	if n := strings.Count(second, `<tr id="w-`); n != 10 {
		t.Errorf("the second page has %d rows", n)
	}
	want(t, "the first page", first, `href="/?page=2" rel="next"`, "1 to 50 of 60")
	want(t, "the last page", s.get("/?page=99"), "51 to 60 of 60", `rel="prev"`)
}

func TestWhoMaySee(t *testing.T) {
	s := newSite(t)
	ws := s.make("hidden-name", map[string]string{"a.txt": "a\n"})
	s.finish(ws)
	s.who.Access = croft.AccessRead
	if page := s.get("/"); strings.Contains(page, `method="post" action="/r/`) || strings.Contains(page, "formaction") {
		t.Error("a caller who may only read is shown actions")
	} else {
		want(t, "a reader's page", page, `action="/theme"`)
		if strings.Contains(page, `action="/bulk"`) {
			t.Error("a reader has a form that has no button")
		}
	}
	if a := s.send("/theme", "theme", "dark"); a.status != http.StatusSeeOther || !strings.Contains(a.header.Get("Set-Cookie"), "theme=dark") {
		t.Errorf("a reader does not choose the theme: %d", a.status)
	}
	if a := s.send("/bulk", "do", "merge"); a.status != http.StatusForbidden {
		t.Errorf("a caller who may only read acts: %d", a.status)
	}
	for _, who := range []caller.Caller{{}, {Access: croft.AccessWorkspace, Workspace: ws.ID}} {
		s.who = who
		if a := s.do(http.MethodGet, "/", nil); a.status != http.StatusForbidden || strings.Contains(a.body, "hidden-name") {
			t.Errorf("%v sees the inbox: %d", who, a.status)
		}
	}
}

func TestFoundation(t *testing.T) {
	s := newSite(t)
	page := s.get("/")
	_, rest, _ := strings.Cut(page, `rel="stylesheet" href="`)
	css, _, _ := strings.Cut(rest, `"`)
	a := s.do(http.MethodGet, css, nil)
	if a.status != http.StatusOK || !strings.Contains(a.header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/css") {
		t.Errorf("the stylesheet %q: %d %v", css, a.status, a.header)
	}
	for _, path := range []string{"/nosuch", "/r/nosuch/", "/live?page=/nosuch", "/live?page=//evil.example/", "/static/croft.css"} {
		if a := s.do(http.MethodGet, path, nil); a.status != http.StatusNotFound || !strings.Contains(a.body, "What happened") {
			t.Errorf("%s: %d\n%s", path, a.status, a.body)
		}
	}
	if a := s.send("/nosuch"); a.status != http.StatusMethodNotAllowed {
		t.Errorf("a form sent nowhere: %d", a.status)
	}
	for back, to := range map[string]string{"/queue?x=1": "/queue?x=1", "//evil.example": "/", "https://evil.example": "/", "/\\evil": "/", "/\t/evil": "/"} {
		a := s.send("/theme", "theme", "dark", "back", back)
		if a.header.Get("Location") != to || !strings.HasPrefix(a.header.Get("Set-Cookie"), "theme=dark") {
			t.Errorf("back %q leads to %q with %q", back, a.header.Get("Location"), a.header.Get("Set-Cookie"))
		}
	}
}
