package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type roundModeScenarios struct{}

func (roundModeScenarios) Isolated(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{})
	r := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Mode: croft.ModeIsolated})
	w := seatOf(t, r, "opus")
	if mode, err := f.Host.Stat(filepath.Join(w.Path, ".git")); err != nil || !mode.IsDir() || w.Mode != croft.ModeIsolated {
		t.Fatalf("%+v: %v", w, err)
	}
	f.writeIn(w, ".croft_scratch/notes", "notes\n")
	f.WantClean(w.Path)
	f.commitIn(w.Path, "mine.txt", "mine\n")
	f.writeIn(w, "more.txt", "more\n")
	f.endRound(r)
	if got := f.Git("diff", "--name-only", "main", w.Branch); got != "mine.txt\nmore.txt" {
		t.Errorf("on the branch: %q", got)
	}
	f.WantFile(archived(w.Env["CROFT_HOME"], w, "notes"), "notes\n")
	fin := f.present(croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus", Mode: croft.ModeIsolated})
	review := f.review(fin.Name)
	f.mustApply(croft.ApplyRequest{Review: review.ID, Paths: []string{"more.txt"}})
	f.endSession(ses)
	if got := f.branches(); len(got) != 0 || !f.Exists(filepath.Join(f.Dir, "more.txt")) || f.Exists(filepath.Join(f.Dir, "mine.txt")) {
		t.Errorf("branches %v", got)
	}
}

func (roundModeScenarios) IsolatedSeesTheOthers(t *testing.T, f *fixture) {
	ses := f.session(croft.SessionRequest{Retention: croft.RetainAll})
	one := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Mode: croft.ModeIsolated})
	for _, w := range one.Workspaces {
		f.writeIn(w, "by.txt", w.Agent+"\n")
	}
	f.endRound(one)
	two := f.round(croft.RoundRequest{Session: croft.ByID(ses.ID), Mode: croft.ModeIsolated})
	for _, w := range two.Workspaces {
		got := strings.Fields(f.GitIn(w.Path, "for-each-ref", "--format=%(refname:short)", "refs/heads"))
		if len(got) != 5 { // main, and two of each round
			t.Errorf("%s sees %v", w.Agent, got)
		}
		for _, o := range one.Workspaces {
			if text := f.GitIn(w.Path, "show", o.Branch+":by.txt"); text != o.Agent {
				t.Errorf("%s sees %q of %s", w.Agent, text, o.Agent)
			}
		}
	}
}

// plainProject is a directory without git, and a Service that was opened there.
func (f *fixture) plainProject() (string, croft.Service) {
	f.t.Helper()
	dir := filepath.Join(filepath.Dir(f.Dir), "plain", "notes")
	f.WriteFile(filepath.Join(dir, "text.md"), "text\n")
	f.WriteFile(filepath.Join(dir, "other.md"), "other\n")
	f.WriteFile(filepath.Join(dir, ".gitignore"), "cache/\n")
	f.WriteFile(filepath.Join(dir, "cache", "c"), "cached\n")
	return dir, f.at(dir)
}

// playPlain plays one round in a plain directory and presents its result.
func (f *fixture) playPlain(svc croft.Service, mode croft.Mode) (croft.Session, croft.Workspace, croft.Review) {
	f.t.Helper()
	ctx := f.t.Context()
	ses, err := svc.StartSession(ctx, croft.SessionRequest{})
	must(f.t, err)
	r, err := svc.StartRound(ctx, croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus", "codex"}, Mode: mode})
	must(f.t, err)
	w := seatOf(f.t, *r, "opus")
	if w.Mode != croft.ModeIsolated || f.ReadFile(filepath.Join(w.Path, "cache", "c")) != "cached\n" {
		f.t.Errorf("%+v", w)
	}
	if mode == croft.ModeWorktree && len(w.Notes) == 0 {
		f.t.Error("nobody is told that it is no worktree")
	}
	f.writeIn(w, "text.md", "better\n")
	f.writeIn(w, "other.md", "worse\n")
	f.writeIn(w, "new.md", "new\n")
	done, err := svc.EndRound(ctx, croft.EndRoundRequest{Round: r.ID})
	must(f.t, err)
	if len(done.Failed) > 0 {
		f.t.Fatalf("%+v", done.Failed)
	}
	fin, err := svc.Present(ctx, croft.PresentRequest{Session: croft.ByID(ses.ID), Winner: "opus"})
	must(f.t, err)
	review, err := svc.CreateReview(ctx, croft.ReviewRequest{Workspace: fin.Name})
	must(f.t, err)
	return *ses, *fin, *review
}

func (roundModeScenarios) PlainDirectory(t *testing.T, f *fixture) {
	dir, svc := f.plainProject()
	ses, _, review := f.playPlain(svc, croft.ModeAuto)
	m, err := croft.Apply(t.Context(), svc, croft.ApplyRequest{Review: review.ID, Paths: []string{"text.md", "new.md"}})
	if err != nil || m.Status != croft.MergeMerged {
		t.Fatalf("%+v, %v", m, err)
	}
	must(t, errOf(svc.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(ses.ID)})))
	for name, want := range map[string]string{"text.md": "better\n", "other.md": "other\n", "new.md": "new\n", "cache/c": "cached\n"} {
		if got := f.ReadFile(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if f.Exists(filepath.Join(dir, ".git")) {
		t.Error("a git directory was made in the project")
	}
	must(t, errOf(svc.Undo(t.Context(), croft.UndoRequest{Operation: actOf(t, svc, croft.KindApply)})))
	if f.ReadFile(filepath.Join(dir, "text.md")) != "text\n" || f.Exists(filepath.Join(dir, "new.md")) {
		t.Error("what was applied is still there")
	}
}

// actOf finds the last act of a kind.
func actOf(t *testing.T, svc croft.Service, kind croft.MergeKind) croft.ID {
	t.Helper()
	ops, err := svc.History(t.Context(), croft.HistoryRequest{})
	must(t, err)
	for _, op := range ops.Items {
		if op.Kind == string(kind) {
			return op.ID
		}
	}
	t.Fatalf("no %s in %+v", kind, ops)
	return ""
}

func (roundModeScenarios) PlainDirectoryFallsBack(t *testing.T, f *fixture) {
	_, svc := f.plainProject()
	f.playPlain(svc, croft.ModeWorktree)
}

func (roundModeScenarios) PlainDirectoryLegacy(t *testing.T, f *fixture) {
	dir, svc := f.plainProject()
	ses, err := svc.StartSession(t.Context(), croft.SessionRequest{})
	must(t, err)
	r, err := svc.StartRound(t.Context(), croft.RoundRequest{Session: croft.ByID(ses.ID), Agents: []string{"opus"}, Mode: croft.ModeLegacy})
	must(t, err)
	if w := r.Workspaces[0]; w.Path != dir || w.Mode != croft.ModeLegacy {
		t.Errorf("%+v", w)
	}
	_, err = svc.EndRound(t.Context(), croft.EndRoundRequest{Round: r.ID})
	must(t, err)
	must(t, errOf(svc.EndSession(t.Context(), croft.EndSessionRequest{Session: croft.ByID(ses.ID)})))
	f.WantFile(filepath.Join(dir, "text.md"), "text\n")
}

// PlainDirectoryChanged: the user changes the original directory during the session.
func (roundModeScenarios) PlainDirectoryChanged(t *testing.T, f *fixture) {
	dir, svc := f.plainProject()
	_, _, review := f.playPlain(svc, croft.ModeAuto)
	f.WriteFile(filepath.Join(dir, "text.md"), "the user's\n")
	m, err := croft.Apply(t.Context(), svc, croft.ApplyRequest{Review: review.ID, Paths: []string{"text.md"}})
	if err != nil || m.Status == croft.MergeMerged || !strings.Contains(m.Details, "text.md") {
		t.Errorf("%+v, %v", m, err)
	}
	f.WantFile(filepath.Join(dir, "text.md"), "the user's\n")
}
