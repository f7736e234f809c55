package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

func (s *site) names() string {
	s.t.Helper()
	list, err := s.svc.Workspaces(s.t.Context(), croft.WorkspacesRequest{})
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, ws := range list.Items {
		names = append(names, ws.Name)
	}
	return strings.Join(names, " ")
}

// TestNewWorkspaces: lines, a count with one name, and a count alone.
func TestNewWorkspaces(t *testing.T) {
	s := newSite(t)
	want(t, "form", s.get("/new"), `action="/new"`, `value="`+string(s.repo)+`"`, "Make workspaces")
	if to := s.post("/new", "repo", string(s.repo), "names", "one\r\n\r\n two \r\n"); to != s.in("") {
		t.Errorf("it leads to %s", to)
	}
	s.post(s.in("new"), "repo", string(s.repo), "names", "try", "count", "3", "mode", "isolated")
	if got := s.names(); got != "one two try-1 try-2 try-3" {
		t.Errorf("made %q", got)
	}
	to := s.post("/new", "repo", string(s.repo))
	want(t, "the one that was made", s.get(to), "no work yet")
	if n := len(strings.Fields(s.names())); n != 6 {
		t.Errorf("%d workspaces", n)
	}
}

// TestNewShowsAPlan: nothing is made, and the form keeps what is in it.
func TestNewShowsAPlan(t *testing.T) {
	s := newSite(t)
	a := s.send("/new", "repo", string(s.repo), "names", "one\ntwo", "do", "plan", "base", "main")
	if a.status != http.StatusOK {
		t.Fatalf("%d\n%s", a.status, a.body)
	}
	want(t, "plan", a.body, "2 workspaces would be made", "croft/one", "croft/two", "one\ntwo</textarea>", `name="base" value="main"`)
	if got := s.names(); got != "" {
		t.Errorf("made %q", got)
	}
}

// TestNewSaysWhatIsWrong: beside the field, with all that was typed, and nothing is made.
func TestNewSaysWhatIsWrong(t *testing.T) {
	s := newSite(t)
	s.git.Write("roles/developer/CLAUDE.md", "develop\n")
	s.git.Commit("a role")
	s.make("taken", nil)
	for _, c := range []struct {
		field  string
		fields []string
	}{
		{"names", []string{"names", "fine\ntaken"}},
		{"names", []string{"names", "<b>\"bad name"}},
		{"base", []string{"names", "a", "base", "nowhere"}},
		{"role", []string{"names", "a", "role", "nobody"}},
		{"session", []string{"names", "a", "layout", "swarm", "role", "developer"}},
		{"count", []string{"count", "101"}},
		{"count", []string{"count", "-1"}},
		{"count", []string{"names", "a\nb", "count", "3"}},
		{"repo", []string{"names", "a", "repo", "nosuchrepo"}},
	} {
		for _, do := range []string{"plan", "make"} {
			fields := append([]string{"do", do}, c.fields...)
			if c.field != "repo" {
				fields = append(fields, "repo", string(s.repo))
			}
			a := s.send("/new", fields...)
			if a.status < 400 || a.status >= 500 || !strings.Contains(a.body, `id="e-`+c.field+`"`) || !strings.Contains(a.body, `aria-describedby="e-`+c.field+`"`) {
				t.Errorf("%s of %v: %d, want it beside %s\n%s", do, c.fields, a.status, c.field, mainOf(a.body))
			}
			if strings.Contains(a.body, "<b>\"bad") {
				t.Error("a name is markup")
			}
		}
	}
	if got := s.names(); got != "taken" {
		t.Errorf("made %q", got)
	}
	s.who.Access = croft.AccessRead
	if page := withoutTheme(s.get("/new")); strings.Contains(page, `method="post"`) {
		t.Error("a reader sees the form")
	}
	if a := s.send("/new", "repo", string(s.repo), "names", "x"); a.status != http.StatusForbidden {
		t.Errorf("a reader makes a workspace: %d", a.status)
	}
}

// mainOf is what a page says, without the frame.
func mainOf(page string) string {
	if i := strings.Index(page, "<main"); i >= 0 {
		page = page[i:]
	}
	if i := strings.Index(page, "</main>"); i >= 0 {
		page = page[:i]
	}
	return page
}
