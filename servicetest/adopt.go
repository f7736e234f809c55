package servicetest

import (
	"path"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type adoptScenarios struct{}

// foreignWorktree adds a worktree with git's own command, with work in it.
func foreignWorktree(t *testing.T, f *fixture, name string) string {
	t.Helper()
	at := path.Join(path.Dir(f.Dir), "elsewhere", name)
	f.Git("worktree", "add", "-q", "-b", "their-"+strings.ReplaceAll(name, " ", "-"), at)
	f.WriteFile(path.Join(at, "theirs.txt"), "work of "+name+"\n")
	return at
}

// Adopted: a worktree that git made becomes a workspace whose files, branch and registration
// stay; it is listed, finished, merged and removed like any other, and its branch stays.
func (adoptScenarios) Adopted(t *testing.T, f *fixture) {
	at := foreignWorktree(t, f, "hotfix")
	gitFile := f.ReadFile(path.Join(at, ".git"))
	got, err := f.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}, Agent: "claude", Meta: map[string]string{"x": "1"}})
	must(t, err)
	if len(got.Workspaces) != 1 || len(got.Left) != 0 {
		t.Fatalf("%+v", got)
	}
	w := got.Workspaces[0]
	if w.Name != "hotfix" || w.Path != at || w.Branch != "their-hotfix" || w.Target != "main" || !w.IsAdopted || w.Agent != "claude" || w.Meta["x"] != "1" || w.State != croft.Ready {
		t.Errorf("%+v", w)
	}
	if f.ReadFile(path.Join(at, "theirs.txt")) != "work of hotfix\n" || f.ReadFile(path.Join(at, ".git")) != gitFile {
		t.Error("its files were written")
	}
	again, err := f.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}})
	if err != nil || len(again.Workspaces) != 1 || again.Workspaces[0].ID != w.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	f.wantLook("hotfix", croft.ConditionDirty, croft.ActionDiff)
	must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: "hotfix", Policy: croft.MergeNever})))
	f.removed("hotfix")
	if _, err := f.Host.Stat(at); err == nil {
		t.Error("it is still there")
	}
	if f.Git("rev-parse", "--verify", "-q", "refs/heads/their-hotfix") == "" {
		t.Error("its branch is gone")
	}
	back, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: "hotfix"})
	must(t, err)
	if back.Path != at || !back.IsAdopted || f.ReadFile(path.Join(at, ".git")) != gitFile || f.ReadFile(path.Join(at, "theirs.txt")) != "work of hotfix\n" {
		t.Errorf("restored: %+v", back)
	}
	if st := f.Git("-C", at, "status", "--porcelain"); st != "" {
		t.Errorf("git status: %s", st)
	}
}

// All: every worktree that is no workspace yet is adopted, under a name of its own; a broken one
// is left, and says why.
func (adoptScenarios) All(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "one"})
	one := foreignWorktree(t, f, "one")
	odd := foreignWorktree(t, f, "Odd name")
	broken := foreignWorktree(t, f, "broken")
	must(t, f.Host.Remove(path.Join(broken, ".git")))
	got, err := f.Adopt(t.Context(), croft.AdoptRequest{All: croft.ScopeAll})
	must(t, err)
	names := map[string]string{}
	for _, w := range got.Workspaces {
		names[w.Path] = w.Name
	}
	if len(names) != 2 || names[one] != "one-2" || names[odd] == "" {
		t.Errorf("adopted: %v", names)
	}
	if len(got.Left) != 1 || got.Left[0].Path != broken || got.Left[0].Reason.Code != croft.WorkspaceBroken {
		t.Errorf("left: %+v", got.Left)
	}
	again, err := f.Adopt(t.Context(), croft.AdoptRequest{All: croft.ScopeAll})
	if err != nil || len(again.Workspaces) != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
}

// Refused: what is no worktree of the project, the project itself, and requests that contradict
// themselves.
func (adoptScenarios) Refused(t *testing.T, f *fixture) {
	for _, at := range []string{f.Dir, path.Dir(f.Dir), path.Join(f.Dir, "nowhere")} {
		got, err := f.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}})
		if err != nil || len(got.Workspaces) != 0 || len(got.Left) != 1 || got.Left[0].Reason.Code != croft.WorktreeNotFound {
			t.Errorf("%s: %+v, %v", at, got, err)
		}
	}
	at := foreignWorktree(t, f, "a")
	f.create(croft.CreateRequest{Name: "taken"})
	got, err := f.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}, Name: "taken"})
	if err != nil || len(got.Left) != 1 || got.Left[0].Reason.Code != croft.WorktreeExists {
		t.Errorf("a taken name: %+v, %v", got, err)
	}
	wantCode(t, errOf(f.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}, All: croft.ScopeAll})), croft.InvalidRequest)
	wantCode(t, errOf(f.Adopt(t.Context(), croft.AdoptRequest{All: croft.ScopeAll, Name: "x"})), croft.InvalidRequest)
}

// NameTaken: an adopted workspace in the trash does not take the registration of another
// worktree that git has given the same name since.
func (adoptScenarios) NameTaken(t *testing.T, f *fixture) {
	at := foreignWorktree(t, f, "same")
	must(t, errOf(f.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}})))
	must(t, errOf(f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"same"}, Mode: croft.RemoveForce})))
	other := path.Join(path.Dir(f.Dir), "another", "same")
	f.Git("worktree", "add", "-q", "-b", "other-same", other)
	wantCode(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: "same"})), croft.WorktreeExists)
	if st := f.Git("-C", other, "status", "--porcelain", "-b"); st != "## other-same" {
		t.Errorf("the other worktree: %s", st)
	}
	f.Git("worktree", "remove", other)
	back, err := f.Restore(t.Context(), croft.RestoreRequest{Ref: "same"})
	if err != nil || f.ReadFile(path.Join(back.Path, "theirs.txt")) != "work of same\n" {
		t.Errorf("restored: %+v, %v", back, err)
	}
}
