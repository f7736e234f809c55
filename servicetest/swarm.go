package servicetest

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// swarmScenarios hold the preset swarm to the worktree manager that it imitates.
type swarmScenarios struct{}

// withRoles commits the configuration of four roles before each scenario.
func withRoles(g group) group {
	for i, s := range g.scenarios {
		g.scenarios[i].run = func(t *testing.T, f *fixture) {
			f.Roles(swarmRoles()...)
			f.Commit("roles")
			s.run(t, f)
		}
	}
	return g
}

func swarm(role, session string) croft.CreateRequest {
	return croft.CreateRequest{Role: role, Session: session, Layout: "swarm"}
}

func swarmRoles() []string { return []string{"researcher", "developer", "reviewer", "architect"} }

func (swarmScenarios) BranchName(t *testing.T, f *fixture) {
	for session, role := range map[string]string{"1703849234567": "researcher", "test-session-123": "reviewer"} {
		if w := f.create(swarm(role, session)); w.Branch != "swarm/"+role+"-"+session || w.Session != session || w.Role != role {
			t.Errorf("branch %s of role %s, session %s", w.Branch, w.Role, w.Session)
		}
	}
}

func (swarmScenarios) BranchNameIsUnique(t *testing.T, f *fixture) {
	seen := map[string]bool{}
	for _, session := range []string{"1", "2", "3"} {
		w := f.create(swarm("researcher", session))
		if seen[w.Branch] {
			t.Errorf("branch %s twice", w.Branch)
		}
		seen[w.Branch] = true
		f.removed("researcher")
	}
}

func (swarmScenarios) WorktreePath(t *testing.T, f *fixture) {
	for _, role := range swarmRoles() {
		w := f.create(swarm(role, "1"))
		if w.Path != filepath.Join(f.Dir, ".worktrees", role) || !filepath.IsAbs(w.Path) {
			t.Errorf("path %s", w.Path)
		}
	}
}

func (swarmScenarios) SingleLifecycle(t *testing.T, f *fixture) {
	w := f.create(swarm("researcher", "abc123"))
	if !f.Exists(w.Path) {
		t.Fatal("no directory")
	}
	f.WantFile(filepath.Join(w.Path, "CLAUDE.md"), "You are the researcher.\n")
	if has, err := f.Branch(t.Context(), croft.BranchRequest{Branch: "swarm/researcher-abc123"}); err != nil || !has.Exists {
		t.Errorf("BranchExists = %v, %v", has.Exists, err)
	}
	if got := f.removed("researcher"); got.Branch != w.Branch {
		t.Errorf("deleted branch %q, want %q", got.Branch, w.Branch)
	}
	if f.Exists(w.Path) {
		t.Error("the directory is still there")
	}
	if has, err := f.Branch(t.Context(), croft.BranchRequest{Branch: w.Branch}); err != nil || has.Exists {
		t.Errorf("BranchExists after removal = %v, %v", has.Exists, err)
	}
}

// MultiAtomicity: the last of four creations fails, because its path is taken.
func (swarmScenarios) MultiAtomicity(t *testing.T, f *fixture) {
	reqs := []croft.CreateRequest{}
	for _, role := range swarmRoles() {
		reqs = append(reqs, swarm(role, "1"))
	}
	all := f.createAll(reqs...)
	paths := map[string]string{}
	for _, w := range all {
		paths[w.Role] = w.Path
	}
	if len(paths) != 4 {
		t.Errorf("workspaces %v", paths)
	}
	f.remove(croft.RemoveRequest{All: croft.ScopeAll})
	f.WriteFile(filepath.Join(f.Dir, ".worktrees", "architect", "mine"), "x")
	before := f.Trace()
	wantCode(t, errOf(f.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: reqs})), croft.WorktreeExists)
	f.unchanged(before)
	if got := f.Git("branch", "--list", "swarm/*"); got != "" {
		t.Errorf("branches were left: %s", got)
	}
}

func (swarmScenarios) SessionRequired(t *testing.T, f *fixture) {
	before := f.Trace()
	if e := wantCode(t, errOf(f.Create(t.Context(), swarm("researcher", ""))), croft.SessionRequired); e.Message != "sessionId is required" {
		t.Errorf("message %q", e.Message)
	}
	_, err := f.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: []croft.CreateRequest{swarm("researcher", "1"), swarm("developer", "")}})
	wantCode(t, err, croft.SessionRequired)
	f.unchanged(before)
}

func (swarmScenarios) RoleHasWorktree(t *testing.T, f *fixture) {
	f.create(swarm("researcher", "1"))
	_, err := f.Create(t.Context(), swarm("researcher", "2"))
	if e := wantCode(t, err, croft.WorktreeExists); !strings.Contains(e.Details, filepath.Join(".worktrees", "researcher")) {
		t.Errorf("details %q do not name the path", e.Details)
	}
	// The path decides, not the name of the workspace.
	req := swarm("researcher", "2")
	req.Name = "another"
	if e := wantCode(t, errOf(f.Create(t.Context(), req)), croft.WorktreeExists); !strings.Contains(e.Details, filepath.Join(".worktrees", "researcher")) {
		t.Errorf("details %q do not name the path", e.Details)
	}
	if got := f.Git("branch", "--list", "swarm/*-2"); got != "" {
		t.Errorf("branches were left: %s", got)
	}
}

func (swarmScenarios) RoleConfigMissing(t *testing.T, f *fixture) {
	before := f.Trace()
	if e := wantCode(t, errOf(f.Create(t.Context(), swarm("nobody", "1"))), croft.RoleNotFound); !strings.Contains(e.Hint, "roles") {
		t.Errorf("hint %q does not say which file to write", e.Hint)
	}
	f.unchanged(before)
}

func (swarmScenarios) InvalidRole(t *testing.T, f *fixture) {
	before := f.Trace()
	for _, role := range []string{"../researcher", "a/b", "-x", ".git"} {
		if e := wantCode(t, errOf(f.Create(t.Context(), swarm(role, "1"))), croft.RoleNotFound); e.Details == "" {
			t.Errorf("%+v does not say why", e)
		}
	}
	f.unchanged(before)
}

func (swarmScenarios) Prefix(t *testing.T, f *fixture) {
	f.commitIn(f.Dir, "croft.toml", "prefix = \"team\"\n")
	if w := f.create(swarm("researcher", "1")); w.Branch != "team/researcher-1" {
		t.Errorf("branch %s", w.Branch)
	}
}

func (swarmScenarios) WithoutRoleConfig(t *testing.T, f *fixture) {
	req := swarm("nobody", "1")
	req.RoleFiles = croft.RoleFilesSkip
	w := f.create(req)
	if w.Role != "nobody" || f.Exists(filepath.Join(w.Path, "CLAUDE.md")) {
		t.Errorf("workspace %+v", w)
	}
}

// BranchOfPreviousSession deviates from the specification: the error for a taken branch has a code of its
// own.
func (swarmScenarios) BranchOfPreviousSession(t *testing.T, f *fixture) {
	f.Git("branch", "swarm/researcher-1")
	before := f.Trace()
	_, err := f.Create(t.Context(), swarm("researcher", "1"))
	wantCode(t, err, croft.BranchExists)
	if errors.Is(err, croft.GitFailed) {
		t.Error("a taken branch is GIT_FAILED")
	}
	f.unchanged(before)
}

func (swarmScenarios) UncommittedChangesInMain(t *testing.T, f *fixture) {
	f.Write("README.md", "changed\n")
	w := f.create(swarm("researcher", "1"))
	if f.ReadFile(filepath.Join(w.Path, "README.md")) != "# app\n" || f.Git("status", "--porcelain") != " M README.md" {
		t.Errorf("main's changes did not stay in main: %s", f.Git("status", "--porcelain"))
	}
}

func (swarmScenarios) DetachedHead(t *testing.T, f *fixture) {
	head := f.Git("rev-parse", "HEAD")
	f.Git("checkout", "--quiet", "--detach")
	if w := f.create(swarm("researcher", "1")); w.Base != head || w.BaseRef != "HEAD" {
		t.Errorf("base %s (%s), want HEAD", w.Base, w.BaseRef)
	}
}

func (swarmScenarios) BaseBranch(t *testing.T, f *fixture) {
	f.Git("checkout", "--quiet", "-b", "topic")
	tip := f.commitIn(f.Dir, "topic.txt", "x\n")
	if w := f.create(swarm("researcher", "1")); w.Base != tip || w.Target != "topic" {
		t.Errorf("base %s, target %s: want the current branch", w.Base, w.Target)
	}
	req := swarm("developer", "1")
	req.Base = "main"
	if w := f.create(req); w.Base != f.Git("rev-parse", "main") {
		t.Errorf("base %s, want main", w.Base)
	}
}

func (swarmScenarios) RemoveAll(t *testing.T, f *fixture) {
	f.createAll(swarm("researcher", "1"), swarm("developer", "1"), swarm("reviewer", "1"))
	f.WriteFile(filepath.Join(f.Dir, ".worktrees", "developer", "wip"), "x")
	res := f.remove(croft.RemoveRequest{All: croft.ScopeAll})
	if len(res.Removed) != 2 || len(res.Kept) != 1 || !errors.Is(res.Kept[0].Reason, croft.WorkspaceDirty) {
		t.Errorf("RemoveAll = %v", describe(res))
	}
	res = f.remove(croft.RemoveRequest{All: croft.ScopeAll, Mode: croft.RemoveForce})
	if len(res.Removed) != 1 || len(f.names()) != 0 {
		t.Errorf("RemoveAll by force = %v, left %v", describe(res), f.names())
	}
}

// CleanBranches: recorded branches without a worktree are deleted; those of existing
// worktrees stay, finished or not.
func (swarmScenarios) CleanBranches(t *testing.T, f *fixture) {
	list := f.createAll(swarm("researcher", "1"), swarm("developer", "1"), swarm("reviewer", "1"))
	f.writeIn(list[2], "review.txt", "done\n")
	f.mustMerge(croft.MergeRequest{Workspace: "reviewer", After: croft.AfterKeep})
	tip := f.commitIn(list[0].Path, "work.txt", "work\n")
	f.remove(croft.RemoveRequest{Workspaces: []string{"researcher"}, Branch: croft.BranchKeep})
	f.Git("branch", "swarm/mine-1")
	for _, dry := range []croft.DryRun{croft.DryRunOn, croft.DryRunOff} {
		res, err := f.Clean(t.Context(), croft.CleanRequest{Branches: croft.ScopeAll, DryRun: dry})
		if err != nil || len(res.Removed) != 0 || !slices.Equal(res.Branches, []string{"swarm/researcher-1"}) {
			t.Fatalf("%+v, %v", res, err)
		}
	}
	if got := f.Git("branch", "--list", "--format=%(refname:short)", "swarm/*"); got != "swarm/developer-1\nswarm/mine-1\nswarm/reviewer-1" {
		t.Errorf("branches %q", got)
	}
	if got := f.names(); len(got) != 2 {
		t.Errorf("workspaces %v", got)
	}
	f.Git("gc", "--quiet", "--prune=now")
	f.WantCommit(tip)
}

func (swarmScenarios) FullCleanup(t *testing.T, f *fixture) {
	f.createAll(swarm("researcher", "1"), swarm("developer", "1"), swarm("reviewer", "1"))
	f.WriteFile(filepath.Join(f.Dir, ".worktrees", "developer", "wip"), "x")
	f.remove(croft.RemoveRequest{Workspaces: []string{"reviewer"}, Branch: croft.BranchKeep})
	if has, _ := f.Branch(t.Context(), croft.BranchRequest{Branch: "swarm/reviewer-1"}); !has.Exists {
		t.Fatal("the branch was to be kept")
	}
	res, err := f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})
	must(t, err)
	if len(res.Removed) != 2 || !slices.Equal(res.Branches, []string{"swarm/reviewer-1"}) {
		t.Errorf("Clean = %+v", res)
	}
	if got := f.Git("branch", "--list", "swarm/*"); got != "" {
		t.Errorf("branches were left: %s", got)
	}
	if f.Exists(filepath.Join(f.Dir, ".worktrees")) {
		t.Error("the emptied base directory is still there")
	}
	if got := strings.Count(f.Git("worktree", "list", "--porcelain"), "worktree "); got != 1 {
		t.Errorf("%d worktrees are registered, want main alone", got)
	}
}

// UserBranchesUnderThePrefixStay deviates from the specification: only recorded branches are deleted, not
// all branches under the prefix.
func (swarmScenarios) UserBranchesUnderThePrefixStay(t *testing.T, f *fixture) {
	f.Git("branch", "swarm/mine-1")
	f.create(swarm("researcher", "1"))
	f.remove(croft.RemoveRequest{Workspaces: []string{"researcher"}, Branch: croft.BranchKeep})
	res, err := f.Clean(t.Context(), croft.CleanRequest{All: croft.ScopeAll})
	if err != nil || !slices.Equal(res.Branches, []string{"swarm/researcher-1"}) {
		t.Errorf("Clean = %+v, %v", res, err)
	}
	if has, _ := f.Branch(t.Context(), croft.BranchRequest{Branch: "swarm/mine-1"}); !has.Exists {
		t.Error("the user's branch was deleted for its prefix")
	}
}

func (swarmScenarios) GoesByTheRole(t *testing.T, f *fixture) {
	f.createAll(swarm("researcher", "1"), swarm("developer", "1"))
	list, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Role: "developer", Session: "1"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "developer" {
		t.Errorf("Workspaces of a role = %+v, %v", list, err)
	}
	if w := f.show("researcher"); w.Role != "researcher" || len(w.Head) != 40 {
		t.Errorf("Workspace = %+v", w)
	}
	wantCode(t, errOf(f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "architect"})), croft.WorktreeNotFound)
}

func (swarmScenarios) ErrorStructure(t *testing.T, f *fixture) {
	f.create(swarm("researcher", "1"))
	_, err := f.Create(t.Context(), swarm("researcher", "1"))
	e := wantCode(t, err, croft.WorktreeExists)
	if e.Code != "WORKTREE_EXISTS" || e.Message == "" || e.Op != "create" || e.Workspace != "researcher" {
		t.Errorf("error %+v", e)
	}
	// git's own message is in the details of the error.
	f.Git("checkout", "--quiet", "-b", "damaged")
	f.commitIn(f.Dir, "lost.txt", "lost\n")
	blob := f.Git("rev-parse", "HEAD:lost.txt")
	f.Delete(filepath.Join(f.Dir, ".git", "objects", blob[:2], blob[2:]))
	if e := wantCode(t, errOf(f.Create(t.Context(), swarm("developer", "1"))), croft.GitFailed); !strings.Contains(e.Details, blob) {
		t.Errorf("details %q lack git's own words", e.Details)
	}
}
