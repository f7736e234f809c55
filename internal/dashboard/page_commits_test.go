package dashboard_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestCommits: the tab lists the commits of a workspace, what is not committed, and as what the
// target has a commit.
func TestCommits(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", nil)
	want(t, "a workspace without commits", s.get(s.at(ws, "commits")), "Nothing was committed yet", "Started from <code><bdi>main</bdi>@")
	s.commit(ws, "first", map[string]string{"a.txt": "a\n"})
	m, err := s.svc.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: croft.ByID(ws.ID), After: croft.AfterKeep})
	if err != nil {
		t.Fatal(err)
	}
	m = s.wait(m.ID)
	s.commit(ws, "second\n\nThe <b>reasons</b>.", map[string]string{"b.txt": "1\n2\n", "src/main.txt": "one\n"})
	gittest.WriteFile(t, filepath.Join(ws.Path, "c.txt"), "c\n")
	gittest.WriteFile(t, filepath.Join(ws.Path, "b.txt"), "1\n")
	page := s.get(s.at(ws, "commits"))
	want(t, "the commits", page, "Not committed yet</a> <span class=\"dimmer\">1 modified, 1 new</span>", "<bdi>second</bdi>", "The &lt;b&gt;reasons&lt;/b&gt;.",
		`<span class="p">+2</span> <span class="m">−2</span>`, "as <code>"+m.Commit[:7]+"</code>", "<bdi>main</bdi> has 1 commit that it lacks", "In <bdi>main</bdi>")
	if strings.Index(page, "<bdi>second</bdi>") > strings.Index(page, "<bdi>first</bdi>") {
		t.Error("the newest commit is not the first")
	}
	s.merge(ws)
	want(t, "the commits of a workspace that went", s.get(s.at(ws, "commits")), "<bdi>first</bdi>", "<bdi>second</bdi>", "as <code>"+m.Commit[:7]+"</code>")
	s.who.Access = croft.AccessRead
	want(t, "for a reader", s.get(s.at(ws, "commits")), "<bdi>first</bdi>")
}

// TestCommitPages: many commits are on pages. A page that a rewritten branch does not have any more
// is an error that says so.
func TestCommitPages(t *testing.T) {
	s := newSite(t)
	ws := s.make("fix", nil)
	for i := range 52 {
		s.git.GitIn(ws.Path, "commit", "--quiet", "--allow-empty", "-m", fmt.Sprintf("commit number %02d", i))
	}
	page := s.get(s.at(ws, "commits"))
	want(t, "the first page", page, "commit number 51<", "commit number 02<", "50 commits of 52", `rel="next"`)
	next := regexp.MustCompile(`href="([^"]*after=[^"]*)"`).FindStringSubmatch(page)
	second := s.get(next[1])
	want(t, "the second page", second, "commit number 01<", "commit number 00<", `rel="prev"`)
	if strings.Contains(second, "commit number 02<") {
		t.Error("the second page has a commit of the first")
	}
	s.git.GitIn(ws.Path, "reset", "--quiet", "--hard", "HEAD~51")
	if a := s.do(http.MethodGet, next[1], nil); a.status < 400 || !strings.Contains(a.body, "CURSOR_EXPIRED") {
		t.Errorf("a page of commits that are gone: %d", a.status)
	}
}
