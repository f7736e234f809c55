package servicetest

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type setupScenarios struct{}

// settingUp commits a croft.toml with steps.
func settingUp(f *fixture, tables string) {
	f.Write("croft.toml", tables)
	f.Write(".gitignore", "made*\n")
	f.Git("add", ".")
	f.Git("commit", "-q", "-m", "settings")
}

// approveSetup approves the commands that set workspaces up.
func approveSetup(t *testing.T, f *fixture) *croft.CheckPlan {
	t.Helper()
	plan, err := f.Checks(t.Context(), croft.ChecksRequest{Target: "main", Of: croft.OfSetup})
	must(t, err)
	plan, err = f.Approve(t.Context(), croft.ApproveRequest{Target: "main", Of: croft.OfSetup, Hash: plan.Hash})
	must(t, err)
	return plan
}

const twoSteps = `
[[provision.step]]
name = "first"
run = "echo x >>made-first"
key = ["README.md"]

[[provision.step]]
name = "second"
run = "cat made-first >made-second"
makes = ["made-second"]
`

// Approved: commands run only once a person has approved them, in their order, once.
func (setupScenarios) Approved(t *testing.T, f *fixture) {
	settingUp(f, twoSteps)
	w := f.create(croft.CreateRequest{Name: "a"})
	if p := w.Provision; p == nil || p.State != croft.ProvisionPending || len(p.Steps) != 2 {
		t.Fatalf("made: %+v", p)
	}
	got, err := f.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"})
	if err != nil || got.State != croft.ProvisionUnapproved || len(got.Unapproved) != 2 || got.Hash == "" {
		t.Errorf("not approved: %+v, %v", got, err)
	}
	f.wantCondition(f.show("a"), croft.ConditionUnready, croft.ActionApprove)
	if plan := approveSetup(t, f); plan.Hash != got.Hash || !slices.Equal(plan.Checks, got.Unapproved) {
		t.Errorf("approved: %+v", plan)
	}
	for range 2 {
		got, err = f.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"})
		if err != nil || got.State != croft.ProvisionReady || len(got.Unapproved) > 0 {
			t.Errorf("approved: %+v, %v", got, err)
		}
	}
	if text := f.ReadFile(path.Join(w.Path, "made-second")); text != "x\n" {
		t.Errorf("made %q", text)
	}
	if p := f.show("a").Provision; p == nil || p.State != croft.ProvisionReady || p.Steps[0].State != croft.StepDone {
		t.Errorf("recorded: %+v", p)
	}
}

// Changed: a step runs again if its key has changed, if it is named, or if all are to run again;
// what an agent has made of croft.toml does not count.
func (setupScenarios) Changed(t *testing.T, f *fixture) {
	settingUp(f, twoSteps)
	approveSetup(t, f)
	w := f.create(croft.CreateRequest{Name: "a"})
	ran := func(req croft.ProvisionRequest, want string) {
		t.Helper()
		req.Workspace = "a"
		if got, err := f.Provision(t.Context(), req); err != nil || got.State != croft.ProvisionReady {
			t.Errorf("%+v: %+v, %v", req, got, err)
		}
		if text := f.ReadFile(path.Join(w.Path, "made-first")); text != want {
			t.Errorf("%+v: %q", req, text)
		}
	}
	ran(croft.ProvisionRequest{}, "x\n")
	f.writeIn(w, "README.md", "changed\n")
	plan, err := f.PlanProvision(t.Context(), croft.PlanProvisionRequest{Workspace: "a"})
	if err != nil || plan.Provision.State != croft.ProvisionPending || plan.Provision.Steps[0].State != croft.StepPending {
		t.Errorf("plan: %+v, %v", plan, err)
	}
	ran(croft.ProvisionRequest{}, "x\nx\n")
	f.writeIn(w, "croft.toml", "[[provision.step]]\nname = \"first\"\nrun = \"rm made-first\"\n")
	ran(croft.ProvisionRequest{Steps: []string{"first"}}, "x\nx\nx\n")
	ran(croft.ProvisionRequest{Mode: croft.ProvisionAgain}, "x\nx\nx\nx\n")
	wantCode(t, errOf(f.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a", Steps: []string{"third"}})), croft.InvalidRequest)
}

// Failing: a step that fails, that does not make what it says, or that takes too long is named,
// and the workspace stays usable; on_fail = "stop" keeps those after it from running.
func (setupScenarios) Failing(t *testing.T, f *fixture) {
	settingUp(f, `
[[provision.step]]
name = "exits"
run = "echo no; exit 7"

[[provision.step]]
name = "lacks"
run = "true"
makes = ["made-nothing"]

[[provision.step]]
name = "hangs"
run = "sleep 60"
timeout = "200ms"
on_fail = "stop"

[[provision.step]]
name = "late"
run = "touch made-late"
`)
	approveSetup(t, f)
	w := f.create(croft.CreateRequest{Name: "a"})
	got, err := f.Provision(t.Context(), croft.ProvisionRequest{Workspace: "a"})
	must(t, err)
	want := map[string]string{"exits": "exit status 7", "lacks": "it succeeded, and made-nothing is not there", "hangs": "it took longer than 200ms"}
	for _, step := range got.Steps {
		if why := want[step.Name]; why != "" && (step.State != croft.StepFailed || step.Why != why) {
			t.Errorf("%+v", step)
		}
	}
	if got.State != croft.ProvisionFailed || got.Steps[0].Tail == "" || got.Steps[3].State != croft.StepPending {
		t.Errorf("%+v", got)
	}
	f.wantCondition(f.show("a"), croft.ConditionUnready, croft.ActionSetUp)
	f.writeIn(w, "work.txt", "work\n")
	must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: "a", Policy: croft.MergeNever})))
}

// TornDown: what a commit asks for at a removal runs once a person has approved it. If a command fails, the others run, and the
// removal succeeds and says so. A workspace that comes back is not set up, and its notes are those of its last removal.
func (setupScenarios) TornDown(t *testing.T, f *fixture) {
	settingUp(f, "[teardown]\nrun = [\"exit 7\", \"touch made-down\"]\n[[provision.step]]\nname = \"first\"\nrun = \"true\"\n")
	removals := 0
	remove := func(name string) croft.Removed {
		t.Helper()
		removals++
		req := croft.RemoveRequest{Workspaces: []string{name}, Key: fmt.Sprintf("remove %s %d", name, removals)}
		got, err := f.Remove(t.Context(), req)
		must(t, err)
		if len(got.Removed) != 1 {
			t.Fatalf("%+v", got)
		}
		if again, err := f.Remove(t.Context(), req); err != nil || !reflect.DeepEqual(got.Removed, again.Removed) {
			t.Errorf("the same call again: %+v, %v; was %+v", again, err, got)
		}
		return got.Removed[0]
	}
	f.create(croft.CreateRequest{Name: "a"})
	if r := remove("a"); len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "approved") {
		t.Errorf("not approved: %+v", r)
	}
	approveSetup(t, f)
	w := f.create(croft.CreateRequest{Name: "b"})
	must(t, errOf(f.Provision(t.Context(), croft.ProvisionRequest{Workspace: "b"})))
	r := remove("b")
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "exit status 7") {
		t.Errorf("one fails: %+v", r)
	}
	must(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: croft.ByID(r.Trash)})))
	if p := f.show("b").Provision; p == nil || p.State != croft.ProvisionPending {
		t.Errorf("restored: %+v", p)
	}
	if f.ReadFile(path.Join(w.Path, "made-down")) != "" {
		t.Error("the command after the one that failed did not run")
	}
	r = remove("b")
	must(t, errOf(f.Restore(t.Context(), croft.RestoreRequest{Ref: croft.ByID(r.Trash)})))
	if notes := f.show("b").Notes; len(notes) != 1 || !strings.Contains(notes[0], "exit status 7") {
		t.Errorf("after two removals: %q", notes)
	}
}
