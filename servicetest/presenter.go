package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type presenterScenarios struct{}

// contest plays one round in which each agent writes a file of its own name.
func (f *fixture) contest(name string) (croft.Session, croft.Round) {
	f.t.Helper()
	ses := f.session(croft.SessionRequest{Name: name})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	for _, w := range r.Workspaces {
		f.writeIn(w, w.Agent+".txt", w.Agent+"\n")
	}
	return ses, f.endRound(r)
}

func (f *fixture) present(req croft.PresentRequest) croft.Workspace {
	f.t.Helper()
	w, err := f.Present(f.t.Context(), req)
	must(f.t, err)
	return *w
}

func (presenterScenarios) StartsFromTheWinner(t *testing.T, f *fixture) {
	ses, r := f.contest("")
	won := seatOf(t, r, "codex")
	fin := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "codex"})
	if fin.Branch != "presenter" || fin.Label != "presenter" || fin.Base != won.Head || fin.BaseRef != won.Branch || fin.Target != "main" {
		t.Errorf("%+v", fin)
	}
	if f.ReadFile(filepath.Join(fin.Path, "codex.txt")) != "codex\n" || f.Exists(filepath.Join(fin.Path, "opus.txt")) {
		t.Error("not the winner's files")
	}
}

func (presenterScenarios) OnlyItsChangesReachTheProject(t *testing.T, f *fixture) {
	ses, _ := f.contest("")
	fin := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "codex"})
	f.writeIn(fin, "final.txt", "final\n")
	f.writeIn(fin, ".croft_scratch/n", "n\n")
	review := f.review(fin.Name)
	f.mustApply(croft.ApplyRequest{Review: review.ID, Paths: []string{"codex.txt"}})
	if got := f.Git("diff", "--name-only", "HEAD^", "HEAD"); got != "codex.txt" {
		t.Errorf("applied %q", got)
	}
	f.endSession(ses)
	if got := f.Git("ls-files"); strings.Contains(got, "opus") || strings.Contains(got, "final") {
		t.Errorf("in the project: %s", got)
	}
	f.WantClean(f.Dir)
}

func (presenterScenarios) HunkByHunk(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, "long.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n")
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	text := f.ReadFile(filepath.Join(f.Dir, "long.txt"))
	f.writeIn(seatOf(t, r, "opus"), "long.txt", strings.Replace(strings.Replace(text, "2\n", "two\n", 1), "19\n", "nineteen\n", 1))
	f.endRound(r)
	fin := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"})
	review := f.review(fin.Name)
	if len(review.Files) != 1 || len(review.Files[0].Hunks) != 2 {
		t.Fatalf("%+v", review.Files)
	}
	f.mustApply(croft.ApplyRequest{Review: review.ID, Hunks: map[string][]int{"long.txt": {2}}})
	f.WantFile(filepath.Join(f.Dir, "long.txt"), strings.Replace(text, "19\n", "nineteen\n", 1))
}

func (presenterScenarios) TwoSessionsAtOnce(t *testing.T, f *fixture) {
	one, _ := f.contest("one")
	two, _ := f.contest("two")
	a := f.present(croft.PresentRequest{Session: croft.ByID(one.ID), Winner: "opus"})
	b := f.present(croft.PresentRequest{Session: croft.ByID(two.ID), Winner: "opus"})
	if a.Branch != "presenter" || !strings.HasPrefix(b.Branch, "presenter-") || a.Path == b.Path || b.Label != "presenter" {
		t.Errorf("%s at %s, %s at %s", a.Branch, a.Path, b.Branch, b.Path)
	}
	f.endSession(one)
	if now := f.show(string(b.ID)); now.State != croft.Ready {
		t.Errorf("%+v", now)
	}
}

func (presenterScenarios) TheUsersOwnBranch(t *testing.T, f *fixture) {
	f.Git("branch", "presenter")
	ses, _ := f.contest("")
	fin := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"})
	if !strings.HasPrefix(fin.Branch, "presenter-") {
		t.Errorf("branch %s", fin.Branch)
	}
	f.endSession(ses)
	if got := f.branches(); len(got) != 1 || got[0] != "presenter" {
		t.Errorf("branches %v", got)
	}
}

func (presenterScenarios) ByWorkspace(t *testing.T, f *fixture) {
	ses, r := f.contest("")
	fin := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: string(seatOf(t, r, "codex").ID)})
	if !f.Exists(filepath.Join(fin.Path, "codex.txt")) {
		t.Errorf("%+v", fin)
	}
}

func (presenterScenarios) AnotherWinner(t *testing.T, f *fixture) {
	ses, _ := f.contest("")
	fin := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"})
	wantCode(t, errOf(f.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "codex"})), croft.RoundBusy)
	f.remove(croft.RemoveRequest{Workspaces: []string{fin.Name}, Mode: croft.RemoveForce})
	if now := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "codex"}); !f.Exists(filepath.Join(now.Path, "codex.txt")) {
		t.Errorf("%+v", now)
	}
}

// AfterTheBranchIsDeleted: the winner may be an agent that took part in an earlier round
// only, or whose branch is deleted: its work still exists.
func (presenterScenarios) AfterTheBranchIsDeleted(t *testing.T, f *fixture) {
	ses, r := f.contest("")
	f.Git("branch", "-D", seatOf(t, r, "opus").Branch)
	f.Git("gc", "--quiet", "--prune=now")
	fin := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"})
	if f.ReadFile(filepath.Join(fin.Path, "opus.txt")) != "opus\n" {
		t.Errorf("%+v", fin)
	}
}
