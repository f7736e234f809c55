package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

func (roundScenarios) Again(t *testing.T, f *fixture) {
	req := croft.SessionRequest{Key: "issue-42"}
	ses := f.session(req)
	other := f.at(f.Dir)
	if same, err := other.StartSession(t.Context(), req); err != nil || same.ID != ses.ID {
		t.Errorf("%+v, %v", same, err)
	}
	wantCode(t, errOf(other.StartSession(t.Context(), croft.SessionRequest{Key: "issue-42", Retention: "3"})), croft.KeyConflict)
	ask := croft.RoundRequest{Session: croft.ByID(ses.ID), Number: 1, Agents: []string{"opus", "codex"}}
	one := f.round(ask)
	same, err := other.StartRound(t.Context(), ask)
	must(t, err)
	if diff := cmp.Diff(one, *same); diff != "" {
		t.Errorf("started again:\n%s", diff)
	}
	wantCode(t, errOf(other.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Number: 1, Agents: []string{"opus"}})), croft.KeyConflict)
	f.writeIn(seatOf(t, one, "opus"), "x.txt", "x\n")
	first := f.endRound(one)
	second, err := other.EndRound(t.Context(), croft.EndRoundRequest{Round: one.ID})
	must(t, err)
	if diff := cmp.Diff(first, *second); diff != "" {
		t.Errorf("ended again:\n%s", diff)
	}
	started, err := other.StartRound(t.Context(), ask)
	if err != nil || started.State != croft.RoundEnded {
		t.Errorf("started after its end: %+v, %v", started, err)
	}
	fin, err := f.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"})
	must(t, err)
	if again, err := other.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"}); err != nil || again.ID != fin.ID {
		t.Errorf("%+v, %v", again, err)
	}
	f.endSession(ses)
	f.endSession(ses)
}

func (roundScenarios) OneFailure(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	opus, codex := seatOf(t, r, "opus"), seatOf(t, r, "codex")
	f.writeIn(codex, "codex.txt", "codex\n")
	// Croft cannot commit for an agent whose rebase stopped.
	f.commitIn(opus.Path, "README.md", "opus\n")
	f.commitIn(f.Dir, "README.md", "main\n")
	if out, err := f.TryGit(opus.Path, "rebase", "main"); err == nil {
		t.Fatalf("the rebase did not stop: %s", out)
	}
	done, err := f.EndRound(t.Context(), croft.EndRoundRequest{Round: r.ID})
	must(t, err)
	if len(done.Failed) != 1 || done.Failed[0].Name != "opus" || done.State != croft.RoundOpen {
		t.Errorf("%+v", done)
	}
	checkError(t, done.Failed[0].Reason)
	if !f.Exists(opus.Path) || f.Exists(codex.Path) {
		t.Errorf("opus there: %v, codex there: %v", f.Exists(opus.Path), f.Exists(codex.Path))
	}
	f.WantContent(codex.Branch+":codex.txt", "codex")
	f.GitIn(opus.Path, "rebase", "--abort")
	if again := f.endRound(r); again.State != croft.RoundEnded || f.Exists(opus.Path) {
		t.Errorf("%+v", again)
	}
}

func (roundScenarios) StillOpen(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}})
	wantCode(t, errOf(f.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}})), croft.RoundBusy)
	// Another agent does not have to wait.
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"codex"}})
	if r.Number != 2 {
		t.Errorf("round %d", r.Number)
	}
	wantCode(t, errOf(f.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"})), croft.RoundBusy)
}

func (roundScenarios) SessionsApart(t *testing.T, f *fixture) {
	one, two := f.session(croft.SessionRequest{Name: "one"}), f.session(croft.SessionRequest{Name: "two"})
	a := f.round(croft.RoundRequest{Session: croft.ByID(one.ID)})
	b := f.round(croft.RoundRequest{Session: croft.ByID(two.ID)})
	for _, r := range []croft.Round{a, b} {
		f.writeIn(seatOf(t, r, "opus"), "x.txt", string(r.Session)+"\n")
	}
	f.endRound(a)
	done := f.endRound(f.round(croft.RoundRequest{Session: croft.ByID(one.ID)}))
	if done.Number != 2 {
		t.Errorf("round %d", done.Number)
	}
	before := f.Git("for-each-ref", "refs/heads/"+seatOf(t, b, "opus").Branch, "refs/heads/"+seatOf(t, b, "codex").Branch)
	f.endSession(one)
	for _, w := range b.Workspaces {
		if now := f.show(string(w.ID)); now.State != croft.Ready || !f.Exists(w.Path) {
			t.Errorf("%+v", now)
		}
	}
	if got := f.Git("for-each-ref", "refs/heads"); !strings.Contains(got, before) {
		t.Errorf("branches of the other session:\n%s\nwant\n%s", got, before)
	}
	f.endRound(b)
	list, err := f.Sessions(t.Context(), croft.SessionsRequest{})
	if err != nil || len(list.Items) != 1 || list.Items[0].ID != two.ID {
		t.Errorf("%+v, %v", list, err)
	}
}

func (roundScenarios) SessionEnd(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{Name: "fix"})
	r := f.round(croft.RoundRequest{Session: "fix"})
	opus := seatOf(t, r, "opus")
	f.writeIn(opus, "x.txt", "x\n")
	f.endSession(ses) // with the round still open
	if f.Exists(opus.Path) || len(f.branches()) != 0 {
		t.Errorf("left: %v, %v", f.Exists(opus.Path), f.branches())
	}
	w, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: string(opus.ID)})
	if err != nil || f.ReadFile(filepath.Join(w.Path, "x.txt")) != "x\n" {
		t.Errorf("%+v, %v", w, err)
	}
	wantCode(t, errOf(f.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}})), croft.SessionOver)
}

func (roundScenarios) SessionErrors(t *testing.T, f *fixture) {
	wantCode(t, errOf(f.Session(t.Context(), croft.GetRequest{Ref: "nope"})), croft.SessionNotFound)
	wantCode(t, errOf(f.StartRound(t.Context(), croft.RoundRequest{Session: "nope", Agents: []string{"a"}})), croft.SessionNotFound)
	wantCode(t, errOf(f.EndRound(t.Context(), croft.EndRoundRequest{Round: "nope"})), croft.RoundNotFound)
	wantCode(t, errOf(f.EndSession(t.Context(), croft.EndSessionRequest{Session: "nope"})), croft.SessionNotFound)
	ses := f.session(croft.SessionRequest{Name: "one"})
	_, err := f.StartSession(t.Context(), croft.SessionRequest{Name: "one"})
	wantCode(t, err, croft.WorktreeExists)
	for _, bad := range []croft.RoundRequest{
		{},
		{Agents: []string{"a", "a"}},
		{Agents: []string{"presenter"}},
		{Agents: []string{"a"}, Number: -1},
		{Agents: []string{"a"}, Homes: map[string]string{"a": "relative"}},
		{Agents: []string{"a"}, Carry: "everything"},
		{Agents: []string{"a"}, Mode: "odd"},
	} {
		bad.Session = croft.ByID(ses.ID)
		wantCode(t, errOf(f.StartRound(t.Context(), bad)), croft.InvalidRequest)
	}
	wantCode(t, errOf(f.StartSession(t.Context(), croft.SessionRequest{Retention: "none"})), croft.InvalidRequest)
	wantCode(t, errOf(f.StartSession(t.Context(), croft.SessionRequest{Layout: "swarm"})), croft.InvalidRequest)
	wantCode(t, errOf(f.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "nobody"})), croft.WorktreeNotFound)
	f.wantNames()
}

func (roundScenarios) Legacy(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}, Mode: croft.ModeLegacy})
	w := r.Workspaces[0]
	if w.Path != f.Dir || w.Mode != croft.ModeLegacy {
		t.Errorf("%+v", w)
	}
	f.Write("direct.txt", "direct\n")
	f.endRound(r)
	f.endSession(ses)
	f.WantFile(filepath.Join(f.Dir, "direct.txt"), "direct\n")
}
