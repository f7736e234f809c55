package servicetest

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type branchScenarios struct{}

// heads lists the commit of every branch.
func (f *fixture) heads() string {
	f.t.Helper()
	return f.Git("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/")
}

// wantCommitsRefused makes every call that commits in a workspace, and expects that each is
// refused with the code and moves no branch.
func (f *fixture) wantCommitsRefused(w croft.Workspace, want croft.Code) {
	f.t.Helper()
	heads, work := f.heads(), f.GitIn(w.Path, "status", "--porcelain")
	wantCode(f.t, errOf(f.Finish(f.t.Context(), croft.FinishRequest{Workspace: w.Name})), want)
	wantCode(f.t, errOf(f.Finish(f.t.Context(), croft.FinishRequest{Workspace: w.Name, Message: "work", Policy: croft.MergeAlways})), want)
	wantCode(f.t, errOf(f.SubmitMerge(f.t.Context(), croft.MergeRequest{Workspace: w.Name})), want)
	wantCode(f.t, errOf(f.Resolve(f.t.Context(), croft.MergeRequest{Workspace: w.Name})), want)
	if got := f.heads(); got != heads {
		f.t.Errorf("branches were\n%s\nand are\n%s", heads, got)
	}
	f.WantStatus(w.Path, work)
}

// HeadOnTheTarget: if an agent points its HEAD at the target, Croft commits nothing there.
func (branchScenarios) HeadOnTheTarget(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "symbolic-ref", "HEAD", "refs/heads/main")
	f.writeIn(w, "unchecked.txt", "x\n")
	f.wantCommitsRefused(w, croft.WrongBranch)
	_, err := f.Finish(t.Context(), croft.FinishRequest{Workspace: "a"})
	e := croft.AsError("finish", err)
	for _, part := range []string{`"main"`, `"` + w.Branch + `"`} {
		if !strings.Contains(e.Message, part) {
			t.Errorf("the message %q does not name %s", e.Message, part)
		}
	}
	if want := "git -C " + w.Path + " switch " + w.Branch; e.Hint != want {
		t.Errorf("hint %q, want %q", e.Hint, want)
	}
}

func (branchScenarios) HeadOnItsOwn(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "switch", "--quiet", "--create", "mine")
	f.commitIn(w.Path, "committed.txt", "x\n")
	f.wantCommitsRefused(w, croft.WrongBranch)
	f.writeIn(w, "more.txt", "x\n")
	f.wantCommitsRefused(w, croft.WrongBranch)
}

func (branchScenarios) HeadDetached(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "switch", "--quiet", "--detach")
	f.writeIn(w, "work.txt", "x\n")
	f.wantCommitsRefused(w, croft.WrongBranch)
}

// SymbolicRef: the workspace's branch was made a symbolic ref to the target.
func (branchScenarios) SymbolicRef(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Git("symbolic-ref", "refs/heads/"+w.Branch, "refs/heads/main")
	f.writeIn(w, "work.txt", "x\n")
	f.wantCommitsRefused(w, croft.WrongBranch)
	if got := f.Git("symbolic-ref", "refs/heads/"+w.Branch); got != "refs/heads/main" {
		t.Errorf("the branch is now %s", got)
	}
}

// CheckedOutElsewhere: the user has checked the workspace's branch out in the main
// checkout, which would not follow a commit.
func (branchScenarios) CheckedOutElsewhere(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Git("switch", "--quiet", "--ignore-other-worktrees", w.Branch)
	f.commitIn(w.Path, "committed.txt", "x\n")
	if f.isIsolated() {
		f.pull(w.Path)
		f.WantClean(f.Dir)
	}
	f.writeIn(w, "work.txt", "x\n")
	f.wantCommitsRefused(w, croft.BranchInUse)
	f.Git("switch", "--quiet", "--discard-changes", "main")
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.WantClean(f.Dir)
}

// Resolve: a merge that has to be resolved is not put on another branch.
func (branchScenarios) Resolve(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.commitIn(w.Path, "README.md", "mine\n")
	f.commitIn(f.Dir, "README.md", "theirs\n")
	f.GitIn(w.Path, "switch", "--quiet", "--create", "mine")
	before := f.content(w.Path)
	wantCode(t, errOf(f.Resolve(t.Context(), croft.MergeRequest{Workspace: "a"})), croft.WrongBranch)
	f.same(w.Path, before)
}

// RestoreOnAnother: a snapshot is not restored while HEAD is on another branch.
func (branchScenarios) RestoreOnAnother(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.dirty(w)
	s := f.snapshot("a")
	f.GitIn(w.Path, "symbolic-ref", "HEAD", "refs/heads/main")
	heads := f.heads()
	wantCode(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: string(s.ID)})), croft.WrongBranch)
	if got := f.heads(); got != heads {
		t.Errorf("branches were\n%s\nand are\n%s", heads, got)
	}
	f.GitIn(w.Path, "symbolic-ref", "HEAD", "refs/heads/"+w.Branch)
	f.restore(string(s.ID))
}

// RestoreOfAnother: restoring a snapshot that was taken while HEAD was on another branch
// does not move that branch back.
func (branchScenarios) RestoreOfAnother(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.Git("branch", "--quiet", "other")
	f.GitIn(w.Path, "symbolic-ref", "HEAD", "refs/heads/other")
	if f.isIsolated() {
		f.GitIn(w.Path, "update-ref", "refs/heads/other", w.Base)
	}
	s := f.snapshot("a")
	f.GitIn(w.Path, "symbolic-ref", "HEAD", "refs/heads/"+w.Branch)
	tip := f.commitIn(f.Dir, "later.txt", "x\n")
	f.Git("branch", "--quiet", "--force", "other", tip)
	heads := f.heads()
	_, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: string(s.ID)})
	if !f.isIsolated() { // the repository of an isolated workspace never had the other branch checked out
		wantCode(t, err, croft.WrongBranch)
	}
	if got := f.heads(); got != heads {
		t.Errorf("branches were\n%s\nand are\n%s", heads, got)
	}
}

func (branchScenarios) RoundEnd(t *testing.T, f *fixture) {
	f.session(croft.SessionRequest{Name: "s"})
	r := f.round(croft.RoundRequest{Session: "s"})
	w := r.Workspaces[0]
	f.GitIn(w.Path, "symbolic-ref", "HEAD", "refs/heads/main")
	f.WriteFile(w.Path+"/unchecked.txt", "x\n")
	before := f.Git("rev-parse", "main")
	ended, err := f.EndRound(t.Context(), croft.EndRoundRequest{Round: r.ID})
	if err != nil || len(ended.Failed) != 1 || ended.Failed[0].Name != w.Agent {
		t.Fatalf("EndRound = %+v, %v; want %s not ended", ended, err, w.Agent)
	}
	wantCode(t, ended.Failed[0].Reason, croft.WrongBranch)
	f.WantAt("main", before)
	f.GitIn(w.Path, "symbolic-ref", "HEAD", "refs/heads/"+w.Branch)
	f.endRound(r)
}

// SwitchedBack: the command in the hint helps.
func (branchScenarios) SwitchedBack(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	f.GitIn(w.Path, "switch", "--quiet", "--create", "mine")
	f.writeIn(w, "work.txt", "x\n")
	wantCode(t, errOf(f.SubmitMerge(t.Context(), croft.MergeRequest{Workspace: "a"})), croft.WrongBranch)
	f.GitIn(w.Path, "switch", "--quiet", w.Branch)
	f.mustMerge(croft.MergeRequest{Workspace: "a"})
	f.WantContent("main:work.txt", "x")
}
