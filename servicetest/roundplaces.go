package servicetest

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/servicetest/harness"
)

func (roundScenarios) Carry(t *testing.T, f *fixture) {
	f.Write("README.md", "the user's change\n")
	f.Write("draft.txt", "draft\n")
	f.Git("add", "README.md")
	status := f.Git("status", "--porcelain")
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Carry: croft.CarryDirty})
	opus := seatOf(t, r, "opus")
	if f.ReadFile(filepath.Join(opus.Path, "README.md")) != "the user's change\n" || f.ReadFile(filepath.Join(opus.Path, "draft.txt")) != "draft\n" {
		t.Error("the user's changes are missing")
	}
	if got := f.status(opus.ID); got.Dirty() {
		t.Errorf("%+v", got)
	}
	f.WantStatus(f.Dir, status)
	f.writeIn(opus, "opus.txt", "opus\n")
	f.endRound(r)
	fin, err := f.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"})
	must(t, err)
	review := f.review(fin.Name)
	if len(review.Files) != 1 || review.Files[0].Path != "opus.txt" {
		t.Errorf("what the user had not committed is not the agent's work: %+v", review.Files)
	}
	f.mustApply(croft.ApplyRequest{Review: review.ID, Paths: []string{"."}})
	f.WantStatus(f.Dir, status)
	if got := f.Git("show", "--name-only", "--format=", "-m", "--first-parent", "main"); got != "opus.txt" {
		t.Errorf("applied %q", got)
	}
}

func (roundScenarios) Home(t *testing.T, f *fixture) {
	home := filepath.Join(filepath.Dir(f.Dir), "homes", "one")
	ses := f.session(croft.SessionRequest{Layout: "massgen"})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Homes: map[string]string{"opus": home}})
	opus := seatOf(t, r, "opus")
	if opus.Path != filepath.Join(home, ".worktree", "app") || opus.Env["CROFT_HOME"] != home {
		t.Errorf("%+v", opus)
	}
	f.writeIn(opus, ".massgen_scratch/notes.md", "notes\n")
	f.endRound(r)
	f.WantFile(filepath.Join(home, ".scratch_archive", opus.Label, "notes.md"), "notes\n")
	f.endSession(ses)
	if !f.Exists(filepath.Join(home, ".scratch_archive")) {
		t.Error("the caller's directory was removed")
	}
}

func (roundScenarios) NoContext(t *testing.T, f *fixture) {
	nowhere := f.at(t.TempDir())
	ses, err := nowhere.StartSession(t.Context(), croft.SessionRequest{Context: croft.ContextNone, Key: "k"})
	must(t, err)
	if again, err := nowhere.StartSession(t.Context(), croft.SessionRequest{Context: croft.ContextNone, Key: "k"}); err != nil || again.ID != ses.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	r, err := nowhere.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"a", "b"}})
	must(t, err)
	a := seatOf(t, *r, "a")
	f.writeIn(a, "answer.txt", "42\n")
	f.writeIn(a, ".croft_scratch/notes", "notes\n")
	done, err := nowhere.EndRound(t.Context(), croft.EndRoundRequest{Round: r.ID})
	if err != nil || len(done.Failed) > 0 {
		t.Fatalf("%v, %+v", err, done)
	}
	if got := f.GitIn(ses.Repo, "show", a.Branch+":answer.txt"); got != "42" {
		t.Errorf("on the branch: %q", got)
	}
	b := seatOf(t, *r, "b")
	f.WantFile(filepath.Join(b.Env["CROFT_HOME"], ".scratch_archive", a.Label, "notes"), "notes\n")
	must(t, errOf(nowhere.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(ses.ID)})))
	if got := f.GitIn(ses.Repo, "branch", "--format=%(refname:short)"); got != "main" {
		t.Errorf("branches %q", got)
	}
}

func (roundScenarios) NoTarget(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID)})
	w := seatOf(t, r, "opus")
	if w.Target != "" {
		t.Errorf("target %q", w.Target)
	}
	f.writeIn(w, "x.txt", "x\n")
	before := f.Git("rev-parse", "main")
	if m, err := f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: w.Name}); err == nil {
		t.Errorf("an attempt was merged: %+v", m)
	}
	f.WantAt("main", before)
}

// makeRepo makes a second repository with a name, in a directory of its own.
func (f *fixture) makeRepo(name string) *harness.Project {
	f.t.Helper()
	r := f.another()
	dir := filepath.Join(filepath.Dir(r.Dir), name)
	if name != filepath.Base(r.Dir) {
		f.GitIn(filepath.Dir(r.Dir), "clone", "--quiet", r.Dir, dir)
		r.Dir = dir
	}
	return r
}

func (roundScenarios) SeveralRepositories(t *testing.T, f *fixture) {
	same, lib := f.makeRepo("app"), f.makeRepo("lib") // one of the same name
	ses := f.session(croft.SessionRequest{})
	repos := []string{f.Dir, same.Dir, lib.Dir}
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Repos: repos})
	if len(r.Workspaces) != 6 {
		t.Fatalf("%d workspaces", len(r.Workspaces))
	}
	homes := map[string]string{}
	for i, w := range r.Workspaces {
		if w.Repo != repos[i%3] || w.Label != r.Workspaces[i-i%3].Label {
			t.Errorf("%d: repo %s label %s", i, w.Repo, w.Label)
		}
		home := w.Env["CROFT_HOME"]
		if homes[w.Agent] != "" && homes[w.Agent] != home {
			t.Errorf("%s has two homes", w.Agent)
		}
		homes[w.Agent] = home
		f.writeIn(w, "x.txt", w.Agent+filepath.Base(w.Path)+"\n")
		f.writeIn(w, ".croft_scratch/n", filepath.Base(w.Path)+"\n")
	}
	f.endRound(r)
	for _, w := range r.Workspaces {
		for _, home := range homes {
			name := filepath.Base(w.Path)
			if got := f.ReadFile(filepath.Join(home, ".scratch_archive", w.Label, name, "n")); got != name+"\n" {
				t.Errorf("archive of %s: %q", name, got)
			}
		}
	}
	fin, err := f.Present(t.Context(), croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "codex", Repo: lib.Dir})
	if err != nil || fin.Repo != lib.Dir || f.ReadFile(filepath.Join(fin.Path, "x.txt")) != "codexlib\n" {
		t.Errorf("%+v, %v", fin, err)
	}
	f.endSession(ses)
	for _, dir := range repos {
		if got := f.GitIn(dir, "branch", "--format=%(refname:short)"); got != "main" {
			t.Errorf("%s: branches %q", dir, got)
		}
	}
}

func (roundScenarios) AllOrNone(t *testing.T, f *fixture) {
	lib := f.makeRepo("lib")
	ses := f.session(croft.SessionRequest{})
	f.GitIn(lib.Dir, "branch", "taken")
	there := f.GitIn(lib.Dir, "for-each-ref")
	_, err := f.StartRound(t.Context(), croft.RoundRequest{
		Session: croft.ByID(ses.ID), Agents: []string{"opus", "codex"}, Repos: []string{f.Dir, lib.Dir}, Branches: map[string]string{"codex": "taken"},
	})
	wantCode(t, err, croft.BranchExists)
	f.wantNames()
	if got := f.branches(); len(got) != 0 {
		t.Errorf("branches left: %v", got)
	}
	if got := f.GitIn(lib.Dir, "for-each-ref"); got != there {
		t.Errorf("in the other repository:\n%s", got)
	}
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Repos: []string{f.Dir, lib.Dir}})
	if r.Number != 1 || len(r.Workspaces) != 4 {
		t.Errorf("%+v", r)
	}
}
