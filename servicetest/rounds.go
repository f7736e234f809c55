package servicetest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft"
)

type roundScenarios struct{}

func (f *fixture) session(req croft.SessionRequest) croft.Session {
	f.t.Helper()
	ses, err := f.StartSession(f.t.Context(), req)
	must(f.t, err)
	return *ses
}

func (f *fixture) round(req croft.RoundRequest) croft.Round {
	f.t.Helper()
	if len(req.Agents) == 0 {
		req.Agents = []string{"opus", "codex"}
	}
	r, err := f.StartRound(f.t.Context(), req)
	must(f.t, err)
	return *r
}

func (f *fixture) endRound(r croft.Round) croft.Round {
	f.t.Helper()
	out, err := f.EndRound(f.t.Context(), croft.EndRoundRequest{Round: r.ID})
	if err != nil || len(out.Failed) > 0 {
		f.t.Fatalf("EndRound: %v, %+v", err, out)
	}
	return *out
}

func (f *fixture) endSession(s croft.Session) {
	f.t.Helper()
	if _, err := f.EndSession(f.t.Context(), croft.EndSessionRequest{Session: croft.ByID(s.ID)}); err != nil {
		f.t.Fatalf("EndSession: %v", err)
	}
}

// branches lists the repository's branches but main.
func (f *fixture) branches() []string {
	f.t.Helper()
	list := strings.Fields(f.Git("for-each-ref", "--format=%(refname:short)", "refs/heads"))
	return slices.DeleteFunc(list, func(b string) bool { return b == "main" })
}

// seatOf finds the workspace of an agent.
func seatOf(t *testing.T, r croft.Round, agent string) croft.Workspace {
	t.Helper()
	for _, w := range r.Workspaces {
		if w.Agent == agent {
			return w
		}
	}
	t.Fatalf("no workspace of %s in %+v", agent, r)
	return croft.Workspace{}
}

func (roundScenarios) Lifecycle(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{Name: "fix"})
	one := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	if one.Number != 1 || one.State != croft.RoundOpen || len(one.Workspaces) != 2 {
		t.Fatalf("%+v", one)
	}
	opus := seatOf(t, one, "opus")
	f.writeIn(opus, "opus.txt", "by opus\n")
	done := f.endRound(one)
	if done.State != croft.RoundEnded || f.Exists(opus.Path) {
		t.Errorf("round %s, checkout there: %v", done.State, f.Exists(opus.Path))
	}
	f.WantContent(opus.Branch+":opus.txt", "by opus")
	if w := seatOf(t, done, "opus"); w.State != croft.Trashed || w.Head != f.Git("rev-parse", opus.Branch) {
		t.Errorf("%+v", w)
	}
	two := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	again := seatOf(t, two, "opus")
	if two.Number != 2 || again.Branch == opus.Branch || again.Path != opus.Path || f.Exists(filepath.Join(again.Path, "opus.txt")) {
		t.Errorf("round %d: %+v", two.Number, again)
	}
	f.endSession(ses)
	if got := f.branches(); len(got) != 0 {
		t.Errorf("branches left: %v", got)
	}
	f.wantNames()
	// The work of both rounds can be restored.
	must(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: string(opus.ID)})))
	f.WantContent(opus.Branch+":opus.txt", "by opus")
}

func (roundScenarios) BranchNames(t *testing.T, f *fixture) {
	for name, want := range map[string]string{"rounds": `^croft/[0-9a-f]{8}$`, "massgen": `^massgen/[0-9a-f]{8}$`} {
		ses := f.session(croft.SessionRequest{Layout: name, Name: name})
		r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{name + "a", name + "b"}})
		for _, w := range r.Workspaces {
			if !regexp.MustCompile(want).MatchString(w.Branch) {
				t.Errorf("branch %q, want %s", w.Branch, want)
			}
			for _, secret := range []string{w.Agent, w.Label, string(ses.ID)} {
				if strings.Contains(strings.TrimPrefix(w.Path, filepath.Dir(f.Dir)), secret) {
					t.Errorf("path %q says %q", w.Path, secret)
				}
			}
		}
	}
}

func (roundScenarios) BranchLabel(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Branches: map[string]string{"opus": "attempt/one"}})
	if got := seatOf(t, r, "opus").Branch; got != "attempt/one" {
		t.Errorf("branch %q", got)
	}
	if got := seatOf(t, r, "codex").Branch; !strings.HasPrefix(got, "croft/") {
		t.Errorf("branch %q", got)
	}
	// Croft never uses a branch that it did not make.
	f.Git("branch", "mine")
	f.endRound(r)
	_, err := f.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}, Branches: map[string]string{"opus": "mine"}})
	wantCode(t, err, croft.BranchExists)
}

func (f *fixture) threeRounds(keep croft.Retention) (croft.Session, [][]string) {
	f.t.Helper()
	ses := f.session(croft.SessionRequest{Retention: keep})
	var alive [][]string
	for n := range 3 {
		r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
		f.writeIn(seatOf(f.t, r, "opus"), "n.txt", fmt.Sprint(n))
		f.endRound(r)
		alive = append(alive, f.branches())
	}
	return ses, alive
}

func (roundScenarios) OneBranchPerAgent(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	one := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	opus := seatOf(t, one, "opus")
	f.writeIn(opus, "n.txt", "one\n")
	f.endRound(one)
	tip := f.Git("rev-parse", opus.Branch)
	two := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}})
	want := []string{seatOf(t, two, "opus").Branch, opus.Branch, seatOf(t, one, "codex").Branch}
	slices.Sort(want)
	if diff := cmp.Diff(want, f.branches()); diff != "" {
		t.Errorf("what an agent made last is there while it works: %s", diff)
	}
	f.endRound(two)
	want = slices.DeleteFunc(want, func(b string) bool { return b == opus.Branch })
	if diff := cmp.Diff(want, f.branches()); diff != "" {
		t.Errorf("each agent has one branch: %s", diff)
	}
	f.Git("gc", "--quiet", "--prune=now")
	f.WantCommit(tip)
}

func (roundScenarios) RetentionAll(t *testing.T, f *fixture) {
	ses, alive := f.threeRounds(croft.RetainAll)
	if len(alive[2]) != 6 {
		t.Errorf("branches %v", alive)
	}
	f.endSession(ses)
	if got := f.branches(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func (roundScenarios) RetentionNumber(t *testing.T, f *fixture) {
	_, alive := f.threeRounds("2")
	if len(alive[0]) != 2 || len(alive[1]) != 4 || len(alive[2]) != 4 {
		t.Errorf("branches %v", alive)
	}
}

func (roundScenarios) AutoCommit(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	opus := seatOf(t, r, "opus")
	f.writeIn(opus, "README.md", "changed\n")
	f.writeIn(opus, "new/file.txt", "new\n")
	f.Delete(filepath.Join(opus.Path, "src", "main.txt"))
	f.writeIn(opus, "staged.txt", "staged\n")
	f.GitIn(opus.Path, "add", "staged.txt")
	f.writeIn(opus, "staged.txt", "and changed\n")
	f.Link(opus.Path, "link", "README.md")
	f.writeIn(opus, "run.sh", "run\n")
	f.MakeExecutable(opus.Path, "run.sh")
	f.endRound(r)
	if got := f.Git("log", "-1", "--format=%s", opus.Branch); got != "[ROUND] Auto-commit" {
		t.Errorf("message %q", got)
	}
	if got := f.Git("diff", "--name-status", "--no-renames", "main", opus.Branch); got != "M\tREADME.md\nA\tlink\nA\tnew/file.txt\nA\trun.sh\nD\tsrc/main.txt\nA\tstaged.txt" {
		t.Errorf("committed %q", got)
	}
	for name, want := range map[string]string{
		"README.md": "100644 changed", "new/file.txt": "100644 new", "staged.txt": "100644 and changed", "link": "120000 README.md", "run.sh": "100755 run",
	} {
		mode, _, _ := strings.Cut(f.Git("ls-tree", opus.Branch, name), " ")
		if got := mode + " " + f.Git("cat-file", "blob", opus.Branch+":"+name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if n := f.Git("rev-list", "--count", "main.."+opus.Branch); n != "1" {
		t.Errorf("%s commits", n)
	}
}

func (roundScenarios) NothingToCommit(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	opus := seatOf(t, r, "opus")
	mine := f.commitIn(opus.Path, "mine.txt", "mine\n")
	f.endRound(r)
	f.WantAt(opus.Branch, mine)
	if got := f.Git("rev-parse", seatOf(t, r, "codex").Branch); got != f.Git("rev-parse", "main") {
		t.Errorf("a commit of nothing: %s", got)
	}
}

func (roundScenarios) FreshFromHead(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	f.endRound(f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)}))
	head := f.commitIn(f.Dir, "later.txt", "later\n")
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	if w := seatOf(t, r, "opus"); w.Base != head || w.BaseRef != "HEAD" || !f.Exists(filepath.Join(w.Path, "later.txt")) {
		t.Errorf("%+v", w)
	}
}

func (roundScenarios) Base(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	one := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	f.writeIn(seatOf(t, one, "codex"), "codex.txt", "by codex\n")
	f.endRound(one)
	winner := seatOf(t, one, "codex").Branch
	two := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Base: winner})
	for _, w := range two.Workspaces {
		if w.BaseRef != winner || f.ReadFile(filepath.Join(w.Path, "codex.txt")) != "by codex\n" {
			t.Errorf("%+v", w)
		}
	}
	f.endRound(two)
	wantCode(t, errOf(f.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}, Base: "nowhere"})), croft.BaseNotFound)
}
