package servicetest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// allOrNoneScenarios make the last of several creations fail in every way that a caller can
// cause: nothing may remain of the others.
func allOrNoneScenarios() []scenario {
	return []scenario{
		{name: "PathTaken", run: func(t *testing.T, f *fixture) {
			f.WriteFile(filepath.Join(filepath.Dir(f.Dir), "app.croft", "c", "mine"), "precious")
			noneOf(t, f, croft.WorktreeExists, croft.CreateRequest{Name: "c"})
		}},
		{name: "BranchTaken", run: func(t *testing.T, f *fixture) {
			f.Git("branch", "croft/c")
			noneOf(t, f, croft.BranchExists, croft.CreateRequest{Name: "c"})
		}},
		{name: "BranchBlocked", run: func(t *testing.T, f *fixture) {
			f.Git("branch", "topic")
			noneOf(t, f, croft.BranchBlocked, croft.CreateRequest{Name: "c", Branch: "topic/c"})
		}},
		{name: "BranchInUse", run: func(t *testing.T, f *fixture) {
			noneOf(t, f, croft.BranchInUse, croft.CreateRequest{Name: "c", Branch: "main"})
		}},
		{name: "RoleMissing", run: func(t *testing.T, f *fixture) {
			noneOf(t, f, croft.RoleNotFound, croft.CreateRequest{Name: "c", Role: "nobody"})
		}},
		{name: "RoleFileFails", run: func(t *testing.T, f *fixture) {
			// The role exists, so the creation gets far before the copy fails.
			f.Write("roles/huge/CLAUDE.md", strings.Repeat("x", 5<<20))
			f.Commit("a role that is too large")
			noneOf(t, f, croft.InvalidRequest, croft.CreateRequest{Name: "c", Role: "huge"})
		}},
		{name: "BaseMissing", run: func(t *testing.T, f *fixture) {
			noneOf(t, f, croft.BaseNotFound, croft.CreateRequest{Name: "c", Base: "nowhere"})
		}},
		{name: "SessionMissing", run: func(t *testing.T, f *fixture) {
			f.Roles("c")
			f.Commit("roles")
			noneOf(t, f, croft.SessionRequired, croft.CreateRequest{Name: "c", Layout: "swarm"})
		}},
		{name: "InvalidName", run: func(t *testing.T, f *fixture) {
			noneOf(t, f, croft.InvalidName, croft.CreateRequest{Name: "../c"})
		}},
		{name: "SameNameTwice", run: func(t *testing.T, f *fixture) {
			noneOf(t, f, croft.WorktreeExists, croft.CreateRequest{Name: "a"})
		}},
		{name: "SameBranchTwice", run: func(t *testing.T, f *fixture) {
			noneOf(t, f, croft.BranchExists, croft.CreateRequest{Name: "c", Branch: "croft/a"})
		}},
		{name: "LimitReached", run: func(t *testing.T, f *fixture) {
			f.Service = f.with("limits.max_workers", "2")
			noneOf(t, f, croft.LimitReached, croft.CreateRequest{Name: "c"})
		}},
		{name: "BrokenObject", run: func(t *testing.T, f *fixture) {
			// The commit exists and its files do not: git fails late.
			f.Git("checkout", "--quiet", "-b", "damaged")
			f.commitIn(f.Dir, "lost.txt", "lost\n")
			blob := f.Git("rev-parse", "HEAD:lost.txt")
			f.Git("checkout", "--quiet", "main")
			f.Delete(filepath.Join(f.Dir, ".git", "objects", blob[:2], blob[2:]))
			noneOf(t, f, croft.GitFailed, croft.CreateRequest{Name: "c", Base: "damaged"})
		}},
		{name: "All", run: func(t *testing.T, f *fixture) {
			f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"}, croft.CreateRequest{Name: "c"})
			if n, err := f.CountActive(t.Context(), croft.CountRequest{}); err != nil || n.Active != 3 {
				t.Errorf("CountActive = %d, %v, want 3", n.Active, err)
			}
		}},
	}
}

// noneOf asks for two valid workspaces and an invalid one.
func noneOf(t *testing.T, f *fixture, want croft.Code, bad croft.CreateRequest) {
	t.Helper()
	before := f.Trace()
	list, err := f.CreateAll(t.Context(), croft.CreateAllRequest{Workspaces: []croft.CreateRequest{{Name: "a"}, {Name: "b"}, bad}})
	wantCode(t, err, want)
	if list != nil {
		t.Errorf("a failed CreateAll returned %v", list)
	}
	f.unchanged(before)
	// The rolled back workspaces do not prevent another creation.
	if want != croft.LimitReached {
		f.createAll(croft.CreateRequest{Name: "a"}, croft.CreateRequest{Name: "b"})
	}
}
