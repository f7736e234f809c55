package dashboard_test

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// hostile is text that an agent may have chosen: markup, quotes, the ends of attributes and scripts, escape
// sequences, and characters that turn the direction of text.
const hostile = "<img src=x onerror=alert(1)>\"'`&</script><script>alert(2)</script>\x1b[31m\x1b]0;t\x07\u202egnp.exe\u2066\u200b"

// hostileName is the same as far as a name of a file may have it.
const hostileName = "<img src=x onerror=alert(1)>\"'&<script>\x1b[2J\u202egnp.exe"

// furnishHostile makes a workspace in which all that an agent can choose is hostile, and returns the pages
// that show it.
func (s *site) furnishHostile() []namedPage {
	t := s.t
	t.Helper()
	agent := "<b onclick=alert(3)>agent"
	ws, err := s.svc.Create(t.Context(), croft.CreateRequest{Name: "victim", Meta: map[string]string{"x": hostile}, Agent: agent})
	if err != nil {
		ws = s.make("victim", nil)
	}
	s.commit(ws, hostile, map[string]string{filepath.Join("d", hostileName): hostile + "\n", "src/main.txt": "x\ntwo\nthree\n"})
	gittest.WriteFile(t, filepath.Join(ws.Path, "un"+hostileName), "x")
	_, _ = s.svc.Lock(t.Context(), croft.LockRequest{Workspace: croft.ByID(ws.ID), Reason: strings.ReplaceAll(hostile, "\x1b", "")})
	_, _ = s.svc.TakeSnapshot(t.Context(), croft.SnapshotRequest{Workspace: croft.ByID(ws.ID), Reason: "<script>alert(4)</script>"})
	other := s.make("other", map[string]string{"src/main.txt": "<script>alert(5)</script>\ntwo\nthree\n", filepath.Join("d", hostileName): "other\n"})
	s.merge(other)
	s.merge(ws)
	held := s.make("held", map[string]string{"h.txt": "h\n"})
	if _, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(held.ID)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.ChangeQueue(t.Context(), croft.QueueRequest{Action: croft.QueueHold, Reason: "<script>alert(6)</script>"}); err != nil {
		t.Fatal(err)
	}
	gone := s.make("gone", map[string]string{"g.txt": "g\n"})
	if _, err := s.svc.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{croft.ByID(gone.ID)}}); err != nil {
		t.Fatal(err)
	}
	pages := []namedPage{
		{"inbox", "/"},
		{"filter", "/?q=%3Cscript%3Ealert(7)%3C/script%3E"},
		{"queues", "/queue"},
		{"queue", s.in("queue") + "?target=main"},
		{"conflicts", s.in("conflicts")},
		{"history", "/history"},
		{"historyfilter", "/history?q=%22%3E%3Cscript%3E"},
		{"trash", "/trash"},
		{"changes", s.at(ws, "")},
		{"commits", s.at(ws, "commits")},
		{"activity", s.at(ws, "activity")},
		{"checks", s.at(ws, "checks")},
		{"snapshots", s.at(ws, "snapshots")},
		{"discard", s.at(ws, "discard")},
		{"revert", s.at(other, "revert")},
		{"merged", s.at(other, "")},
		{"held", s.at(held, "")},
		{"gone", s.at(gone, "")},
		{"notfound", "/%3Cscript%3Ealert(8)%3C/script%3E"},
		{"badfile", s.at(ws, "file?path=%3Cscript%3Ealert(9)")},
	}
	if id := regexp.MustCompile(`href="([^"]*/undo/[a-z0-9]+)"`).FindStringSubmatch(s.get("/history")); id != nil {
		pages = append(pages, namedPage{"undo", id[1]})
	}
	page := s.get(s.at(ws, ""))
	if file := regexp.MustCompile(`href="([^"]*/file\?path=[^"]*)"`).FindStringSubmatch(page); file != nil {
		pages = append(pages, namedPage{"file", strings.ReplaceAll(file[1], "&amp;", "&")})
	}
	if log := regexp.MustCompile(`href="(/r/[^"]*/log\?check=[a-z0-9]+)"`).FindStringSubmatch(s.get(s.at(ws, "checks"))); log != nil {
		pages = append(pages, namedPage{"log", log[1]})
	}
	return pages
}

// TestHostileTextIsText: nothing that an agent chose becomes markup, on any page.
func TestHostileTextIsText(t *testing.T) {
	s := newSite(t, `cat d/* ; printf '\033]0;x\007<script>alert(10)</script>\033[5m\n'; test ! -e src/never`)
	seen := ""
	for _, p := range s.furnishHostile() {
		a := s.do(http.MethodGet, p.path, nil)
		if a.status >= http.StatusInternalServerError {
			t.Errorf("%s: %d\n%s", p.name, a.status, a.body)
		}
		seen += a.body
		lower := strings.ToLower(a.body)
		for _, bad := range []string{"<img", "<script>", "<b onclick", "\x1b", "\u202e", "\u2066", "\u200b", "style=", "javascript:"} {
			if strings.Contains(lower, bad) {
				t.Errorf("%s has %q", p.name, bad)
			}
		}
		if on := regexp.MustCompile(`<[a-z][^<>]*\son[a-z]+\s*=`).FindString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(lower, `""`)); on != "" {
			t.Errorf("%s has an attribute that runs: %s", p.name, on)
		}
		for _, form := range regexp.MustCompile(`(?s)<form [^>]*method="post".*?</form>`).FindAllString(a.body, -1) {
			if !strings.Contains(form, `name="csrf" value="tok&#34;en&lt;&amp;&gt;1"`) {
				t.Errorf("%s has a form without the token: %.200s", p.name, form)
			}
		}
	}
	want(t, "all pages together", seen, "&lt;img src=x onerror=alert(1)&gt;", "&lt;script&gt;alert(6)", "&lt;script&gt;alert(4)", "alert(5)")
}
