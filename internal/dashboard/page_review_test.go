package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// numbered are lines of a file, with some of them changed.
func numbered(n int, changed ...int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		text := fmt.Sprintf("line %d", i)
		for _, c := range changed {
			if c == i {
				text += " changed"
			}
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// newReview serves a project with a file of two distant places that a workspace changed, and a review of that.
func newReview(t *testing.T) (*site, *croft.Workspace, string) {
	t.Helper()
	s := newSite(t)
	s.git.Write("two.txt", numbered(40))
	s.git.Write("other.txt", "one\n")
	s.git.Commit("files")
	ws := s.make("fix", map[string]string{"two.txt": numbered(40, 3, 35), "other.txt": "two\n", "new.txt": "new\n"})
	return s, ws, s.post(s.at(ws, "review"))
}

// apply sends a choice, waits for it, and returns the page that says what became of it.
func (s *site) apply(review string, fields ...string) string {
	s.t.Helper()
	to := s.post(review, fields...)
	u, err := url.Parse(to)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wait(croft.ID(u.Query().Get("applied")))
	return s.get(to)
}

func TestReviewAppliesHunks(t *testing.T) {
	s, _, review := newReview(t)
	page := s.get(review)
	want(t, "review", page, `name="hunk" value="two.txt:1" checked`, `name="hunk" value="two.txt:2" checked`, `name="path" value="new.txt"`, "Apply to <bdi>main</bdi>", "frozen")
	if strings.Contains(page, `name="path" value="two.txt" aria-label="All of two.txt" checked`) {
		t.Error("a file with hunks is chosen whole: without the script, a hunk could not be left")
	}
	done := s.apply(review, "hunk", "two.txt:2", "path", "new.txt", "message", "the end only")
	want(t, "applied", done, "Applied to <bdi>main</bdi>")
	if got := s.git.Git("show", "main:two.txt"); got != strings.TrimSuffix(numbered(40, 35), "\n") {
		t.Errorf("two.txt:\n%s", got)
	}
	if got := s.git.Git("show", "main:new.txt"); got != "new" {
		t.Errorf("new.txt: %q", got)
	}
	if got := s.git.Git("show", "main:other.txt"); got != "one" {
		t.Errorf("other.txt was not chosen: %q", got)
	}
	if got := s.git.Git("log", "-1", "--format=%s", "main"); got != "the end only" {
		t.Errorf("message %q", got)
	}
}

// TestReviewWholeFileWins: a checked file means all of it, whatever its hunks say.
func TestReviewWholeFileWins(t *testing.T) {
	s, _, review := newReview(t)
	s.apply(review, "path", "two.txt", "hunk", "two.txt:1")
	if got := s.git.Git("show", "main:two.txt"); got != strings.TrimSuffix(numbered(40, 3, 35), "\n") {
		t.Errorf("two.txt:\n%s", got)
	}
}

// TestReviewDrift: a file that the target changed since is said to be, is not chosen, and taking it does
// not touch the target; others can be taken.
func TestReviewDrift(t *testing.T) {
	s, _, review := newReview(t)
	if strings.Contains(s.get(review), "moved since this review") {
		t.Error("the target did not move yet")
	}
	s.git.Write("other.txt", "from elsewhere\n")
	s.git.Write("unrelated.txt", "x\n")
	s.git.Commit("elsewhere")
	page := s.get(review)
	want(t, "drift", page, "moved since this review", "1 file of this page changed there", "changed in the target", "Taking it is refused until you look again")
	if strings.Count(page, "changed in the target</span>") != 1 {
		t.Error("more than one file is said to have changed")
	}
	if strings.Contains(page, `value="other.txt:1" checked`) || !strings.Contains(page, `value="two.txt:1" checked`) {
		t.Error("the wrong files are chosen")
	}
	before := s.git.Git("rev-parse", "main")
	refused := s.apply(review, "path", "other.txt")
	want(t, "refused", refused, "Not applied", "other.txt", "was not touched")
	if s.git.Git("rev-parse", "main") != before {
		t.Error("the target moved")
	}
	want(t, "others", s.apply(review, "path", "new.txt"), "Applied to <bdi>main</bdi>")
}

// TestReviewIsFrozen: what the agent does later is in the next review only.
func TestReviewIsFrozen(t *testing.T) {
	s, ws, review := newReview(t)
	s.commit(ws, "more", map[string]string{"later.txt": "later\n"})
	if strings.Contains(s.get(review), "later.txt") {
		t.Error("the review has what came later")
	}
	want(t, "the next review", s.get(s.post(s.at(ws, "review"))), "later.txt")
}

func TestReviewRefusals(t *testing.T) {
	s, _, review := newReview(t)
	for _, fields := range [][]string{nil, {"path", "nothing.txt"}, {"hunk", "two.txt:9"}, {"hunk", "two.txt"}, {"hunk", "two.txt:x"}, {"path", "%zz"}, {"path", "../../etc/passwd"}} {
		if a := s.send(review, fields...); a.status < 400 || a.status >= 500 {
			t.Errorf("%v: %d\n%s", fields, a.status, a.body)
		}
	}
	if a := s.do(http.MethodGet, s.in("review/nosuchreview0000"), nil); a.status != http.StatusNotFound {
		t.Errorf("no such review: %d", a.status)
	}
	s.who.Access = croft.AccessRead
	if page := withoutTheme(s.get(review)); strings.Contains(page, `method="post"`) || strings.Contains(page, "<input") || !strings.Contains(page, "two.txt") {
		t.Error("a reader sees forms, or no review")
	}
	if a := s.send(review, "path", "new.txt"); a.status != http.StatusForbidden {
		t.Errorf("a reader applies: %d", a.status)
	}
}

// TestReviewOfHostileNames: a path with characters that a page must not have survives the form.
func TestReviewOfHostileNames(t *testing.T) {
	s := newSite(t)
	name := "<b>'\"&%41:1\x1b[2J\u202e"
	ws := s.make("victim", nil)
	gittest.WriteFile(t, filepath.Join(ws.Path, "d", name), hostile+"\n")
	review := s.post(s.at(ws, "review"))
	page := s.get(review)
	for _, bad := range []string{"<b>", "<img", "<script>", "\x1b", "\u202e"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	value := regexp.MustCompile(`name="hunk" value="([^"]+)"`).FindStringSubmatch(page)
	if value == nil {
		t.Fatalf("no hunk:\n%s", page)
	}
	field := strings.NewReplacer("&amp;", "&", "&#39;", "'", "&#34;", `"`, "&lt;", "<", "&gt;", ">").Replace(value[1])
	want(t, "applied", s.apply(review, "hunk", field), "Applied to")
	if got := s.git.Git("cat-file", "-t", "main:d/"+name); got != "blob" {
		t.Errorf("%q is not in the target", name)
	}
}

// TestReviewOfLongDiff: a long file is not on the page of the review, nor chosen, and is fetched by pages.
func TestReviewOfLongDiff(t *testing.T) {
	s := newSite(t)
	ws := s.make("long", map[string]string{"long.txt": numbered(20_000), "short.txt": "s\n"})
	review := s.post(s.at(ws, "review"))
	page := s.get(review)
	if len(page) > 100_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	want(t, "review", page, "20,000 changed lines", `value="short.txt:1" checked`)
	part := s.get(review + "/file?path=long.txt&part=1")
	if n := strings.Count(part, `class="cd"`); n != linesOfPage || strings.Contains(part, "<html") {
		t.Errorf("the part has %d lines", n)
	}
	next := s.get(review + "/file?path=long.txt&from=19000")
	want(t, "the end", next, "Lines 19,001 to 20,000 of 20,000", "further lines", `value="long.txt:1"`, `rel="prev"`)
	if strings.Contains(next, "checked") {
		t.Error("something is chosen")
	}
}

const linesOfPage = 1500

// TestReviewOfAnEndedRound: the work of an agent whose checkout is gone can be chosen from once it is presented.
func TestReviewOfAnEndedRound(t *testing.T) {
	s := newSite(t)
	session, round := s.startRound("one", "two")
	ws := &round.Workspaces[0]
	s.commit(ws, "an attempt", map[string]string{"attempt.txt": "a\n"})
	if _, err := s.svc.EndRound(t.Context(), croft.EndRoundRequest{Round: round.ID}); err != nil {
		t.Fatal(err)
	}
	presenter, err := s.svc.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(session.ID), Winner: string(ws.ID)})
	if err != nil {
		t.Fatal(err)
	}
	review := s.post(s.at(presenter, "review"))
	want(t, "review", s.get(review), "attempt.txt")
	want(t, "applied", s.apply(review, "path", "attempt.txt"), "Applied to <bdi>main</bdi>")
}

// startRound starts a session with a round of agents.
func (s *site) startRound(agents ...string) (*croft.Session, *croft.Round) {
	s.t.Helper()
	session, err := s.svc.StartSession(s.t.Context(), croft.SessionRequest{Name: "fix-42"})
	if err != nil {
		s.t.Fatal(err)
	}
	round, err := s.svc.StartRound(s.t.Context(), croft.RoundRequest{Session: croft.ByID(session.ID), Agents: agents})
	if err != nil {
		s.t.Fatal(err)
	}
	return session, round
}
