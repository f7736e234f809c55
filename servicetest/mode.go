package servicetest

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/servicetest/harness"
)

// The groups of scenarios that depend on the kind of checkout: modeCore are those that any
// change of a kind of checkout may break, modeAll are all of them.
var (
	modeCore = []string{"Create", "Remove", "Trash", "Snapshots", "Merges", "Commits", "Resolve", "Reviews", "Branch"}
	modeAll  = append(slices.Clone(modeCore),
		"Roles", "List", "Status", "Radar", "Doctor", "AllOrNone", "Base", "Lock", "Lease", "Reap", "Clean", "TrashUpkeep", "History", "Finish", "Save", "Revert", "Keys", "CommitList")
)

// Depth says how much of the contract is tested.
type Depth string

// The depths.
const (
	Core Depth = "core"
	All  Depth = "all"
)

// RunMode tests the part of the contract that depends on the kind of checkout, with
// workspaces of a mode wherever a scenario names none. It leaves out scenarios about git's
// own worktrees.
func RunMode(t *testing.T, mode croft.Mode, depth Depth, h Harness) {
	if mode == croft.ModeIsolated {
		if c := harness.Missing(h, []harness.Capability{harness.Isolated}); c != "" {
			t.Skipf("needs the capability %q", c)
		}
	}
	parts := modeCore
	if depth == All {
		parts = modeAll
	}
	var list []group
	for _, g := range groups() {
		if !slices.Contains(parts, g.name) {
			continue
		}
		g.scenarios = slices.DeleteFunc(g.scenarios, func(s scenario) bool { return slices.Contains(notOfWorktrees, g.name+"/"+s.name) })
		list = append(list, g)
	}
	run(t, modeHarness{h, mode}, list)
}

// notOfWorktrees are scenarios that hold for git's own worktrees only: they use `git
// worktree`, or expect that the repository has an agent's commits before Croft has pulled
// them.
var notOfWorktrees = []string{
	"Create/Default", "Lock/OwnLocksDoNotCount", "Lock/GitHonoursIt", "Lock/ByGit", "Lease/CloseReleases", "List/Worktrees", "List/FailureIsAnError",
	"Reviews/DiffKeepsNothing", "Snapshots/DisturbsNothing", "Finish/FinishPlainDirectory",
	"CommitList/HostileCommit", // such a commit is not pulled
}

// isIsolated reports whether workspaces of the scenario have git directories of
// their own.
func (f *fixture) isIsolated() bool {
	m, ok := f.Service.(inMode)
	return ok && m.mode == croft.ModeIsolated
}

// pull pulls the commits of an isolated checkout into the project.
func (f *fixture) pull(dir string) {
	f.t.Helper()
	if !f.isIsolated() || dir == f.Dir {
		return
	}
	list, err := f.Workspaces(f.t.Context(), croft.WorkspacesRequest{})
	must(f.t, err)
	for _, w := range list.Items {
		if w.Path == dir {
			f.status(w.ID)
		}
	}
}

// seeMain fetches main into a checkout that does not share the project's branches.
func (f *fixture) seeMain(dir string) {
	f.t.Helper()
	if f.isIsolated() {
		f.GitIn(dir, "fetch", "--quiet", f.Dir, "+main:main")
	}
}

// privateGit returns the git directory of an isolated checkout, "" for another.
func (f *fixture) privateGit(dir string) string {
	if f.isIsolated() {
		return filepath.Join(dir, ".git")
	}
	return ""
}

// registration returns the directory by which the project knows a workspace.
func (f *fixture) registration(w croft.Workspace) string {
	f.t.Helper()
	if f.isIsolated() {
		return filepath.Join(f.Dir, ".git", "croft", "isolated", "croft-"+string(w.ID))
	}
	return f.GitIn(w.Path, "rev-parse", "--absolute-git-dir")
}

// inMode creates workspaces in a mode unless the request names one.
type inMode struct {
	croft.Service
	mode croft.Mode
}

func (m inMode) Create(ctx context.Context, req croft.CreateRequest) (*croft.Workspace, error) {
	if req.Mode == "" {
		req.Mode = m.mode
	}
	return m.Service.Create(ctx, req)
}

func (m inMode) CreateAll(ctx context.Context, req croft.CreateAllRequest) (*croft.CreateResult, error) {
	req.Workspaces = slices.Clone(req.Workspaces)
	for i := range req.Workspaces {
		if req.Workspaces[i].Mode == "" {
			req.Workspaces[i].Mode = m.mode
		}
	}
	return m.Service.CreateAll(ctx, req)
}

// modeHarness opens Services that create workspaces in a mode.
type modeHarness struct {
	Harness
	mode croft.Mode
}

func (h modeHarness) Start(t *testing.T) harness.Host { return modeHost{h.Harness.Start(t), h.mode} }

type modeHost struct {
	harness.Host
	mode croft.Mode
}

func (h modeHost) Open(t *testing.T, dir string, env ...string) croft.Service {
	t.Helper()
	return inMode{h.Host.Open(t, dir, env...), h.mode}
}
