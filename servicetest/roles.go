package servicetest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type roleScenarios struct{}

// staffed is a repository whose role "worker" has a CLAUDE.md.
func staffed(f *fixture) croft.CreateRequest {
	f.Roles("worker")
	f.Commit("roles")
	return croft.CreateRequest{Name: "a", Role: "worker"}
}

// wantClean fails unless git and the Service see no change in a workspace.
func wantClean(t *testing.T, f *fixture, w croft.Workspace) {
	t.Helper()
	f.WantClean(w.Path)
	if st := f.status(w.ID); st.Dirty() {
		t.Errorf("the role file counts as work: %+v", st)
	}
}

func (roleScenarios) Find(t *testing.T, f *fixture) {
	f.Roles("worker")
	r, err := f.Role(t.Context(), croft.RoleRequest{Role: "worker"})
	must(t, err)
	if r.Name != "worker" || r.Dir != filepath.Join(f.Dir, "roles", "worker") || !slices.Equal(r.Files, []string{"CLAUDE.md"}) {
		t.Errorf("Role = %+v", r)
	}
}

func (roleScenarios) NotFound(t *testing.T, f *fixture) {
	f.WriteFile(filepath.Join(f.Dir, "roles", "empty", "README.md"), "nothing")
	for _, name := range []string{"nobody", "empty"} {
		if e := wantCode(t, errOf(f.Role(t.Context(), croft.RoleRequest{Role: name})), croft.RoleNotFound); e.Hint == "" {
			t.Error("no hint")
		}
	}
	wantCode(t, errOf(f.Role(t.Context(), croft.RoleRequest{Role: "../.."})), croft.InvalidName)
	w := f.create(croft.CreateRequest{Name: "a"})
	wantCode(t, errOf(f.CopyRole(t.Context(), croft.RoleRequest{Role: "nobody", Workspace: "a"})), croft.RoleNotFound)
	wantCode(t, errOf(f.CopyRole(t.Context(), croft.RoleRequest{Role: "nobody", Workspace: "gone"})), croft.WorktreeNotFound)
	wantClean(t, f, w)
}

func (roleScenarios) OverTrackedFile(t *testing.T, f *fixture) {
	f.Write("CLAUDE.md", "the project's own\n")
	req := staffed(f)
	w := f.create(req)
	f.WantFile(filepath.Join(w.Path, "CLAUDE.md"), "You are the worker.\n")
	wantClean(t, f, w)
	f.WantFile(filepath.Join(f.Dir, "CLAUDE.md"), "the project's own\n")
	if other := f.create(croft.CreateRequest{Name: "b"}); f.ReadFile(filepath.Join(other.Path, "CLAUDE.md")) != "the project's own\n" {
		t.Error("a workspace without a role has a role's file")
	}
	f.removed("a")
}

func (roleScenarios) OverTrackedLink(t *testing.T, f *fixture) {
	f.Write("AGENTS.md", "for all agents\n")
	f.Link(f.Dir, "CLAUDE.md", "AGENTS.md")
	w := f.create(staffed(f))
	f.WantFile(filepath.Join(w.Path, "CLAUDE.md"), "You are the worker.\n")
	if mode, err := f.Host.Stat(filepath.Join(w.Path, "CLAUDE.md")); err != nil || !mode.IsRegular() {
		t.Errorf("CLAUDE.md is %v, %v, want a file in the link's place", mode, err)
	}
	f.WantFile(filepath.Join(w.Path, "AGENTS.md"), "for all agents\n")
	wantClean(t, f, w)
}

func (roleScenarios) Untracked(t *testing.T, f *fixture) {
	w := f.create(staffed(f))
	f.WantFile(filepath.Join(w.Path, "CLAUDE.md"), "You are the worker.\n")
	wantClean(t, f, w)
	f.removed("a") // and the name can be used again
}

// UsersOwnFileInMainShows is why the shared exclude file is the wrong place.
func (roleScenarios) UsersOwnFileInMainShows(t *testing.T, f *fixture) {
	f.create(staffed(f))
	f.Write("CLAUDE.md", "mine, not committed yet\n")
	f.WantStatus(f.Dir, "?? CLAUDE.md")
	own := filepath.Join(filepath.Dir(f.Dir), "own")
	f.Git("worktree", "add", "--quiet", own)
	f.WriteFile(filepath.Join(own, "CLAUDE.md"), "mine too\n")
	f.WantStatus(own, "?? CLAUDE.md")
	if got := f.ReadFile(filepath.Join(f.Dir, ".git", "info", "exclude")); strings.Contains(got, "CLAUDE") {
		t.Errorf("the shared exclude file: %q", got)
	}
}

func (roleScenarios) UsersIgnoreFileStays(t *testing.T, f *fixture) {
	f.WriteFile(filepath.Join(f.Home, ".config", "git", "ignore"), "*.swp\n")
	w := f.create(staffed(f))
	f.writeIn(w, "x.swp", "editor")
	wantClean(t, f, w)
}

func (roleScenarios) AgentsFile(t *testing.T, f *fixture) {
	f.Write("roles/worker/AGENTS.md", "agents\n")
	w := f.create(staffed(f))
	if f.ReadFile(filepath.Join(w.Path, "AGENTS.md")) != "agents\n" || f.ReadFile(filepath.Join(w.Path, "CLAUDE.md")) != "You are the worker.\n" {
		t.Error("both files of the role were to be copied")
	}
	wantClean(t, f, w)
	f.Write("roles/codex/AGENTS.md", "codex\n")
	r, err := f.Role(t.Context(), croft.RoleRequest{Role: "codex"})
	if err != nil || !slices.Equal(r.Files, []string{"AGENTS.md"}) {
		t.Errorf("Role = %+v, %v", r, err)
	}
}

func (roleScenarios) NeverCommitted(t *testing.T, f *fixture) {
	f.Write("CLAUDE.md", "the project's own\n")
	f.Write("roles/worker/AGENTS.md", "agents\n")
	w := f.create(staffed(f))
	f.commitIn(w.Path, "work.txt", "work\n") // adds everything
	f.writeIn(w, "work.txt", "more\n")
	f.GitIn(w.Path, "commit", "--quiet", "--all", "--message", "more")
	if got := f.GitIn(w.Path, "diff", "--name-only", "main", "HEAD"); got != "work.txt" {
		t.Errorf("the agent's commits hold %q, want work.txt alone", got)
	}
}

func (roleScenarios) CopyAgain(t *testing.T, f *fixture) {
	f.Write("CLAUDE.md", "the project's own\n")
	w := f.create(staffed(f))
	f.Write("roles/worker/CLAUDE.md", "second edition\n")
	for range 2 {
		r, err := f.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a"})
		if err != nil || r.Name != "worker" {
			t.Fatalf("CopyRole = %+v, %v", r, err)
		}
		f.WantFile(filepath.Join(w.Path, "CLAUDE.md"), "second edition\n")
		wantClean(t, f, w)
	}
}

// CopyReplacesEdits: an agent's edits of a role's file are replaced if the request says so,
// whether the file is tracked or ignored, and can be restored.
func (roleScenarios) CopyReplacesEdits(t *testing.T, f *fixture) {
	f.Write("CLAUDE.md", "the project's\n")
	f.Write("roles/worker/AGENTS.md", "first edition\n")
	w := f.create(staffed(f))
	names := []string{"CLAUDE.md", "AGENTS.md"}
	for _, name := range names {
		f.WriteFile(filepath.Join(w.Path, name), "what I learned\n")
		f.Write("roles/worker/"+name, "second edition\n")
	}
	wantCode(t, errOf(f.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a"})), croft.WorkspaceDirty)
	role, err := f.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a", Mode: croft.RoleReplace})
	if err != nil || role.Snapshot == "" {
		t.Fatalf("CopyRole = %+v, %v", role, err)
	}
	for _, name := range names {
		if got := f.ReadFile(filepath.Join(w.Path, name)); got != "second edition\n" {
			t.Errorf("%s = %q", name, got)
		}
	}
	wantClean(t, f, w)
	must(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: string(role.Snapshot)})))
	for _, name := range names {
		if got := f.ReadFile(filepath.Join(w.Path, name)); got != "what I learned\n" {
			t.Errorf("restored %s = %q", name, got)
		}
	}
}

// CopyKeepsEdits: without that, an agent's edits of a role's file stay.
func (roleScenarios) CopyKeepsEdits(t *testing.T, f *fixture) {
	w := f.create(staffed(f))
	file := filepath.Join(w.Path, "CLAUDE.md")
	f.WriteFile(file, "what I learned\n")
	f.Write("roles/worker/CLAUDE.md", "second edition\n")
	if e := wantCode(t, errOf(f.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a"})), croft.WorkspaceDirty); e.Hint == "" || e.Workspace != "a" {
		t.Errorf("error %+v", e)
	}
	f.WantFile(file, "what I learned\n")
	f.Delete(file)
	if _, err := f.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a"}); err != nil || f.ReadFile(file) != "second edition\n" {
		t.Errorf("once it was moved away: %v", err)
	}
}

func (roleScenarios) CopyAnother(t *testing.T, f *fixture) {
	f.Roles("worker", "critic")
	f.Commit("roles")
	w := f.create(croft.CreateRequest{Name: "a"})
	_, err := f.CopyRole(t.Context(), croft.RoleRequest{Workspace: "a"})
	if err == nil {
		t.Error("a workspace without a role got one without a name")
	}
	for _, role := range []string{"worker", "critic"} {
		must(t, errOf(f.CopyRole(t.Context(), croft.RoleRequest{Workspace: string(w.ID), Role: role})))
		if got := f.show("a"); got.Role != role || f.ReadFile(filepath.Join(w.Path, "CLAUDE.md")) != "You are the "+role+".\n" {
			t.Errorf("role %s: %+v", role, got)
		}
		wantClean(t, f, w)
	}
}

func (roleScenarios) LinkOutIsNotFollowed(t *testing.T, f *fixture) {
	secret := filepath.Join(f.Home, "secret")
	f.WriteFile(secret, "secret")
	f.Link(f.Dir, "roles/spy/CLAUDE.md", secret)
	wantCode(t, errOf(f.Create(t.Context(), croft.CreateRequest{Name: "a", Role: "spy"})), croft.RoleNotFound)
}

func (roleScenarios) DirectoryByConfiguration(t *testing.T, f *fixture) {
	f.Write("croft.toml", "[roles]\ndir = \"docs/personas\"\n")
	f.Write("docs/personas/worker/CLAUDE.md", "persona\n")
	f.Commit("configuration")
	f.Service = f.at(f.Dir)
	if w := f.create(croft.CreateRequest{Name: "a", Role: "worker"}); f.ReadFile(filepath.Join(w.Path, "CLAUDE.md")) != "persona\n" {
		t.Error("the role was not taken from the configured directory")
	}
}
