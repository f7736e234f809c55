package dashboard_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/dashboard"
)

// TestLivePages: pages of every kind follow what others do.
func TestLivePages(t *testing.T) {
	s := newSite(t)
	s.serveSettings()
	ws := s.make("fix", map[string]string{"a.txt": "a\n"})
	other := s.make("other", map[string]string{"b.txt": "b\n"})
	session, round := s.furnishRounds()
	for _, row := range []struct {
		page string
		do   func()
		want string // a line of the stream
	}{
		{"/new", func() { s.make("third", nil) }, `id="totals">5 workspaces`},
		{s.at(ws, "discard"), func() { s.make("fourth", nil) }, `id="totals">6 workspaces`},
		{"/", func() { s.finish(ws) }, `Ready to merge`},
		{s.in("conflicts"), func() { s.commit(other, "same", map[string]string{"a.txt": "otherwise\n"}); s.finish(other) }, `1 pair will collide`},
		{s.in("rounds"), func() { s.endRound(round) }, `between rounds`},
		{s.in("rounds/" + string(session.ID)), func() { s.anotherRound(session) }, `event: reload`},
		{"/history", func() { s.lock(ws) }, `</b> locked `},
		{"/trash", func() { s.remove(other) }, `<h2>`},
		{s.at(ws, "snapshots"), func() { s.snapshot(ws) }, `asked for`},
		{s.in("settings"), func() {
			s.git.Write("croft.toml", "[merge]\nchecks = [\"true\"]\n")
			s.git.Commit("checks")
			s.merge(ws)
		}, `event: old`},
	} {
		st := s.listen(row.page)
		st.waitFor(t, `id="totals"`)
		row.do()
		st.waitFor(t, row.want)
		st.cancel()
	}
}

func (s *site) endRound(round *croft.Round) {
	s.t.Helper()
	if _, err := s.svc.EndRound(s.t.Context(), croft.EndRoundRequest{Round: round.ID}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) anotherRound(session *croft.Session) {
	s.t.Helper()
	if _, err := s.svc.StartRound(s.t.Context(), croft.RoundRequest{Session: croft.ByID(session.ID), Agents: []string{"claude", "codex"}}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) lock(ws *croft.Workspace) {
	s.t.Helper()
	if _, err := s.svc.Lock(s.t.Context(), croft.LockRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) remove(ws *croft.Workspace) {
	s.t.Helper()
	if _, err := s.svc.Remove(s.t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{croft.ByID(ws.ID)}, Mode: croft.RemoveForce}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) snapshot(ws *croft.Workspace) {
	s.t.Helper()
	if _, err := s.svc.TakeSnapshot(s.t.Context(), croft.SnapshotRequest{Workspace: croft.ByID(ws.ID)}); err != nil {
		s.t.Fatal(err)
	}
}

// TestReviewSaysThatItIsOld: what a person chooses from is not changed, nor loaded again.
func TestReviewSaysThatItIsOld(t *testing.T) {
	s, _, review := newReview(t)
	st := s.listen(review)
	st.waitFor(t, `id="totals"`)
	s.merge(s.make("elsewhere", map[string]string{"elsewhere.txt": "x\n"}))
	for line := range st.lines {
		if line == "event: reload" {
			t.Fatal("the page is loaded again")
		}
		if line == "event: old" {
			return
		}
	}
	t.Fatal("the stream ended")
}

// TestLook: while a page is open, its project is asked to be looked at.
func TestLook(t *testing.T) {
	s := newSite(t)
	var mu sync.Mutex
	seen := map[croft.ID]int{}
	looked := make(chan struct{}, 1000)
	s.serve(dashboard.New(s.svc, dashboard.Options{Look: func(repo croft.ID) {
		mu.Lock()
		defer mu.Unlock()
		seen[repo]++
		looked <- struct{}{}
	}}))
	s.get("/")
	if len(looked) > 0 {
		t.Error("a page that is not open")
	}
	st := s.listen(s.in("queue"))
	<-looked
	<-looked
	st.cancel()
	mu.Lock()
	defer mu.Unlock()
	if seen[s.repo] == 0 || len(seen) != 1 {
		t.Errorf("looks at %v", seen)
	}
}

// TestEveryPageIsLive: the navigation of every page follows what happens.
func TestEveryPageIsLive(t *testing.T) {
	s := newSite(t, "true")
	for _, page := range s.furnish() {
		if strings.HasPrefix(page.name, "gone") || page.name == "notfound" || page.name == "error" {
			continue
		}
		body := s.get(page.path)
		if !strings.Contains(body, `data-events="/live?page=`) {
			t.Errorf("%s is not live", page.name)
		}
	}
}
