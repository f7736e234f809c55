package engine_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// provisionAgain sets a workspace up again.
func provisionAgain(t *testing.T, e croft.Service, req croft.ProvisionRequest) *croft.Provision {
	t.Helper()
	got, err := e.Provision(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestProvisionTwice: a workspace that has all keeps its ports and variables, also if the settings are others by now, and its record is
// not written again.
func TestProvisionTwice(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	r.Write("croft.toml", "[ports]\ncount = 2\n[env]\nWHERE = \"{port}\"\n")
	r.Commit("settings")
	e := engineIn(t, r, 0)
	approveSetup(t, e)
	create(t, e, croft.CreateRequest{Name: "a"})
	was := show(t, e, "a")
	r.Write("croft.toml", "[ports]\ncount = 3\n[env]\nWHERE = \"elsewhere\"\n")
	r.Commit("other settings")
	e = engineIn(t, r, 0)
	for range 2 {
		if got := provisionAgain(t, e, croft.ProvisionRequest{Workspace: "a"}); got.Brought != 0 || got.Ran != 0 {
			t.Errorf("%+v", got)
		}
	}
	now := show(t, e, "a")
	if !slices.Equal(now.Ports, was.Ports) || !maps.Equal(now.Env, was.Env) {
		t.Errorf("it has %v, %v; it had %v, %v", now.Ports, now.Env, was.Ports, was.Env)
	}
	provisionAgain(t, e, croft.ProvisionRequest{Workspace: "a"})
	if later := show(t, e, "a"); later.Revision != now.Revision {
		t.Errorf("its record was written: %d, %d", now.Revision, later.Revision)
	}
}

// TestRefresh: copies are renewed only if that is asked for, only those that the project has changed alone, and only those that
// it still names.
func TestRefresh(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	in := func(name string) string { return filepath.Join(w.Path, name) }
	for _, name := range []string{".env", "conf/a/one", "conf/two"} {
		r.Write(name, "newer\n")
	}
	gittest.WriteFile(t, in("conf/a/one"), "mine\n")
	provisionAgain(t, e, croft.ProvisionRequest{Workspace: "a"})
	if read(t, in(".env")) != "KEY=1\n" {
		t.Error("renewed without being asked for")
	}
	r.Write(".worktreeinclude", "conf/\n")
	provisionAgain(t, e, croft.ProvisionRequest{Workspace: "a", Mode: croft.ProvisionRefresh})
	for name, want := range map[string]string{".env": "KEY=1\n", "conf/a/one": "mine\n", "conf/two": "newer\n"} {
		if got := read(t, in(name)); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
}

// TestAdoptedIsSetUp: git ignores in an adopted worktree what Croft brings in, a link that is gone is told and made again, and what the
// commit asks for at a removal runs.
func TestAdoptedIsSetUp(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	r.Write(".gitignore", ".env\nconf/\n/modules/\ndown\n")
	r.Write("croft.toml", "[env]\nMODE = \"test\"\n[[provision.path]]\npath = \"modules\"\nhow = \"link\"\n[teardown]\nrun = [\"touch down\"]\n")
	r.Commit("settings")
	r.Write("modules/a", "a\n")
	at := r.Beside("theirs")
	r.Git("worktree", "add", "--quiet", "-b", "theirs", at)
	e := engineIn(t, r, 0)
	if got, err := e.Adopt(t.Context(), croft.AdoptRequest{Paths: []string{at}}); err != nil || len(got.Workspaces) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{Target: "main", Of: croft.OfSetup})
	if err == nil {
		_, err = e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: plan.Hash})
	}
	if err != nil {
		t.Fatal(err)
	}
	provisionAgain(t, e, croft.ProvisionRequest{Workspace: "theirs"})
	if got := r.GitIn(at, "status", "--porcelain"); got != "" {
		t.Errorf("git status: %s", got)
	}
	link := filepath.Join(at, "modules")
	if target, err := os.Readlink(link); err != nil || !exists(filepath.Join(at, ".croft.env")) {
		t.Errorf("%s, %v", target, err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	explained, err := e.PlanProvision(t.Context(), croft.PlanProvisionRequest{Workspace: "theirs"})
	if err != nil || !slices.Contains(explained.Provision.Drift, croft.Drift{Path: "modules", State: croft.DriftMissing}) {
		t.Errorf("%+v, %v", explained, err)
	}
	provisionAgain(t, e, croft.ProvisionRequest{Workspace: "theirs"})
	if !exists(filepath.Join(link, "a")) {
		t.Error("the link was not made again")
	}
	res, err := e.Remove(t.Context(), croft.RemoveRequest{Workspaces: []string{"theirs"}})
	if err != nil || len(res.Removed) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := e.Restore(t.Context(), croft.RestoreRequest{Ref: "theirs"}); err != nil || !exists(filepath.Join(at, "down")) {
		t.Errorf("its teardown did not run: %v, %s", err, strings.Join(res.Removed[0].Notes, "; "))
	}
}
