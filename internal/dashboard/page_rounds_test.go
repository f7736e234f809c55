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

// furnishRounds makes a session with an ended and an open round, of agents with names that tell.
func (s *site) furnishRounds() (*croft.Session, *croft.Round) {
	s.t.Helper()
	session, first := s.startRound("claude", "codex")
	for i := range first.Workspaces {
		s.commit(&first.Workspaces[i], "an attempt", map[string]string{"src/attempt.txt": "first of " + string(rune('a'+i)) + "\n"})
	}
	if _, err := s.svc.EndRound(s.t.Context(), croft.EndRoundRequest{Round: first.ID}); err != nil {
		s.t.Fatal(err)
	}
	second, err := s.svc.StartRound(s.t.Context(), croft.RoundRequest{Session: croft.ByID(session.ID), Agents: []string{"claude", "codex"}})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range second.Workspaces {
		s.commit(&second.Workspaces[i], "an attempt", map[string]string{"src/attempt.txt": "second of " + string(rune('a'+i)) + "\ntwo\n"})
	}
	return session, second
}

// TestNamesAreHidden: neither the page of a session nor those of its attempts tell who made what, until that is asked for.
func TestNamesAreHidden(t *testing.T) {
	s := newSite(t)
	session, _ := s.furnishRounds()
	list := s.get("/rounds")
	want(t, "sessions", list, "1 session is open", "fix-42", "round 2 is open")
	path := s.in("rounds/" + string(session.ID))
	hidden := s.get(path)
	want(t, "session", hidden, "Round 2", "Round 1", "attempt A", "attempt B", "name hidden", "+2", "End round 2…", "put away")
	attempts := regexp.MustCompile(`href="([^"]*/attempt/[^"]*)"`).FindAllStringSubmatch(hidden, -1)
	if len(attempts) != 4 {
		t.Fatalf("%d attempts", len(attempts))
	}
	for _, a := range attempts {
		page := s.get(a[1])
		want(t, "attempt", page, "attempt.txt", "Attempt of <bdi>agent")
		hidden += page
	}
	for _, name := range []string{"claude", "codex"} {
		if strings.Contains(hidden, name) {
			t.Errorf("%s is told", name)
		}
	}
	want(t, "with names", s.get(path+"?names=show"), "<bdi>claude</bdi>", "<bdi>codex</bdi>", "Hide names")
}

// TestPresent: the chosen attempt is presented, and its review shows its work.
func TestPresent(t *testing.T) {
	s := newSite(t)
	session, round := s.furnishRounds()
	path := s.in("rounds/" + string(session.ID))
	open := s.get(path)
	want(t, "session", open, "can be presented when round 2 has ended")
	if strings.Contains(open, `name="winner"`) {
		t.Error("an attempt of an open round can be chosen")
	}
	s.post(path + "/round/" + string(round.ID) + "/end")
	want(t, "session", s.get(path), `name="winner" value="`+string(round.Workspaces[1].ID), "Present and review")
	if a := s.send(path + "/present"); a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity {
		t.Errorf("nothing chosen: %d", a.status)
	}
	review := s.post(path+"/present", "winner", string(round.Workspaces[1].ID))
	want(t, "review", s.get(review), "second of b", "Apply to <bdi>main</bdi>")
	s.apply(review, "path", "src/attempt.txt")
	if got := s.git.Git("show", "main:src/attempt.txt"); got != "second of b\ntwo" {
		t.Errorf("main has %q", got)
	}
}

// TestEndRoundAndSession: both are asked for first, and a session that has changed since is not ended.
func TestEndRoundAndSession(t *testing.T) {
	s := newSite(t)
	session, round := s.furnishRounds()
	path := s.in("rounds/" + string(session.ID))
	want(t, "question", s.get(path+"/round/"+string(round.ID)+"/end"), "End round 2?", "2 checkouts go to the trash", "Leave it open")
	question := s.get(path + "/end")
	want(t, "question", question, "End <bdi>fix-42</bdi>?", `name="revision"`)
	revision := regexp.MustCompile(`name="revision" value="(\d+)"`).FindStringSubmatch(question)[1]
	if to := s.post(path + "/round/" + string(round.ID) + "/end"); to != path {
		t.Errorf("it leads to %s", to)
	}
	if got, err := s.svc.Round(t.Context(), croft.GetRequest{Ref: croft.ByID(round.ID)}); err != nil || got.State != croft.RoundEnded {
		t.Errorf("the round is %+v, %v", got, err)
	}
	want(t, "session", s.get(path), "between rounds", "Start another round")
	s.post(path + "/start")
	want(t, "session", s.get(path), "round 3 is open")
	if a := s.send(path+"/end", "revision", revision); a.status != http.StatusPreconditionFailed && a.status != http.StatusConflict {
		t.Errorf("an old question was answered: %d\n%s", a.status, a.body)
	}
	if a := s.send(path + "/end"); a.status < 400 {
		t.Errorf("a form without a revision: %d", a.status)
	}
	revision = regexp.MustCompile(`name="revision" value="(\d+)"`).FindStringSubmatch(s.get(path + "/end"))[1]
	s.post(path+"/end", "revision", revision)
	ended := s.get(path)
	want(t, "ended", ended, "ended")
	if strings.Contains(ended, `method="post" action="/r/`) {
		t.Error("an ended session has forms")
	}
	want(t, "sessions", s.get("/rounds"), "No session is open", "fix-42")
}

func TestRoundsForAReader(t *testing.T) {
	s := newSite(t)
	session, round := s.furnishRounds()
	s.who.Access = croft.AccessRead
	path := s.in("rounds/" + string(session.ID))
	for _, at := range []string{"/rounds", path, path + "/end", path + "/round/" + string(round.ID) + "/end"} {
		if page := withoutTheme(s.get(at)); strings.Contains(page, `method="post"`) || strings.Contains(page, "<input") {
			t.Errorf("%s has a form", at)
		}
	}
	if a := s.send(path+"/end", "revision", "1"); a.status != http.StatusForbidden {
		t.Errorf("a reader ends a session: %d", a.status)
	}
}

// TestHostileAttempts: what agents of a round write is text.
func TestHostileAttempts(t *testing.T) {
	s := newSite(t)
	session, round := s.startRound("claude")
	gittest.WriteFile(t, filepath.Join(round.Workspaces[0].Path, hostileName), hostile+"\n")
	path := s.in("rounds/" + string(session.ID))
	for _, at := range []string{path, path + "/attempt/" + string(round.Workspaces[0].ID), path + "?names=show"} {
		page := s.get(at)
		for _, bad := range []string{"<img", "<script>", "\x1b", "\u202e"} {
			if strings.Contains(page, bad) {
				t.Errorf("%s has %q", at, bad)
			}
		}
	}
}
