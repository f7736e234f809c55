package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// approveSetup approves what sets workspaces of main up.
func approveSetup(t *testing.T, e croft.Service) *croft.CheckPlan {
	t.Helper()
	plan, err := e.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: setupOf(t, e).Hash})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestVariablesWait: the variables of a repository are set once a person has approved them, also in workspaces that are there
// already; until then a workspace without other set-up can be worked in.
func TestVariablesWait(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	r.Write("croft.toml", "[ports]\ncount = 2\n[env]\nMODE = \"test\"\nWHERE = \"{port}\"\nBAD = \"{nothing}\"\n")
	r.Commit("settings")
	e := engineIn(t, r, 0)
	a := create(t, e, croft.CreateRequest{Name: "a"})
	port := fmt.Sprint(a.Ports[0].Port)
	if a.Env["MODE"] != "" || a.Env["WHERE"] != "" || a.Env["PORT"] != port || strings.Contains(read(t, filepath.Join(a.Path, ".croft.env")), "MODE") {
		t.Errorf("set without an approval: %v", a.Env)
	}
	if notes := strings.Join(a.Notes, "\n"); !strings.Contains(notes, "BAD in [env] is ignored") {
		t.Errorf("notes: %s", notes)
	}
	if p := a.Provision; p == nil || p.State != croft.ProvisionUnapproved || p.Why != "3 variables of croft.toml wait for your approval" || p.Hash == "" {
		t.Errorf("said: %+v", p)
	}
	if now := show(t, e, "a"); now.Status == croft.ConditionUnready {
		t.Errorf("called %s: %s", now.Status, now.Why)
	}
	plan := setupOf(t, e)
	if !slices.Contains(plan.Checks, "variable MODE=test") || plan.IsApproved || plan.Hash != a.Provision.Hash {
		t.Errorf("shown: %+v", plan)
	}
	if got := provisionAgain(t, e, croft.ProvisionRequest{Workspace: "a"}); got.State != croft.ProvisionUnapproved || show(t, e, "a").Env["MODE"] != "" {
		t.Errorf("set up: %+v", got)
	}
	approveSetup(t, e)
	now := show(t, e, "a")
	if now.Env["MODE"] != "test" || now.Env["WHERE"] != port || now.Provision.State != croft.ProvisionReady || !strings.Contains(read(t, filepath.Join(a.Path, ".croft.env")), "MODE='test'") {
		t.Errorf("approved: %v, %+v", now.Env, now.Provision)
	}
	if b := create(t, e, croft.CreateRequest{Name: "b"}); b.Env["MODE"] != "test" || b.Provision != nil && b.Provision.State != croft.ProvisionReady {
		t.Errorf("made after the approval: %v, %+v", b.Env, b.Provision)
	}
	r.Write("croft.toml", "[ports]\ncount = 2\n[env]\nMODE = \"other\"\n")
	r.Commit("other settings")
	if c := create(t, e, croft.CreateRequest{Name: "c"}); c.Env["MODE"] != "" {
		t.Errorf("another value: %v", c.Env)
	}
}

// TestVariablesWaitWithSteps: variables wait with the commands, and are set with them.
func TestVariablesWaitWithSteps(t *testing.T) {
	t.Parallel()
	r := provisioned(t)
	r.Write("croft.toml", "[env]\nMODE = \"test\"\n[[provision.step]]\nname = \"a\"\nrun = \"echo $MODE > made\"\n")
	r.Write(".gitignore", "made\n")
	r.Commit("settings")
	e := engineIn(t, r, 0)
	w := create(t, e, croft.CreateRequest{Name: "a"})
	if w.Env["MODE"] != "" || w.Provision.State != croft.ProvisionPending || w.Provision.WaitingVariables() != 1 {
		t.Errorf("made: %v, %+v", w.Env, w.Provision)
	}
	approveSetup(t, e)
	if now := show(t, e, "a"); now.Env["MODE"] != "test" || now.Provision.State != croft.ProvisionPending || now.Provision.WaitingVariables() != 0 {
		t.Errorf("approved: %v, %+v", now.Env, now.Provision)
	}
	got := provisionAgain(t, e, croft.ProvisionRequest{Workspace: "a", Mode: croft.ProvisionSteps})
	if text := read(t, filepath.Join(w.Path, "made")); got.State != croft.ProvisionReady || text != "test\n" {
		t.Errorf("%+v: %q", got, text)
	}
}

// TestVariablesOfABareRepository: in a repository without a checkout the tip of the target says which variables count, not the
// commit that a workspace begins with.
func TestVariablesOfABareRepository(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write("croft.toml", "[env]\nMODE = \"test\"\n")
	r.Commit("settings")
	r.Git("checkout", "--quiet", "-b", "agent")
	r.Write("croft.toml", "[env]\nMODE = \"test\"\nEXTRA = \"evil\"\n")
	r.Commit("an agent's")
	r.Git("checkout", "--quiet", "main")
	bare := *r
	bare.Dir = filepath.Join(t.TempDir(), "bare.git")
	r.Git("clone", "--quiet", "--bare", r.Dir, bare.Dir)
	e := engineIn(t, &bare, 0)
	w := create(t, e, croft.CreateRequest{Name: "a", Base: "agent", Target: "main"})
	if len(w.Env["MODE"]+w.Env["EXTRA"]) > 0 || w.Provision == nil || !strings.HasPrefix(w.Provision.Why, "2 variables ") {
		t.Errorf("made: %v, %+v", w.Env, w.Provision)
	}
	plan, err := e.Checks(t.Context(), croft.ChecksRequest{Workspace: "a", Of: croft.OfSetup})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Approve(t.Context(), croft.ApproveRequest{Workspace: "a", Of: croft.OfSetup, Hash: plan.Hash}); err != nil {
		t.Fatal(err)
	}
	if now := show(t, e, "a"); now.Env["MODE"] != "test" || now.Env["EXTRA"] != "" {
		t.Errorf("approved: %v", now.Env)
	}
	if _, err := os.Stat(filepath.Join(w.Path, ".croft.env")); err != nil {
		t.Error(err)
	}
	if s := bare.GitIn(w.Path, "status", "--porcelain"); s != "" {
		t.Errorf("shown as work: %s", s)
	}
}
