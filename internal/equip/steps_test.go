package equip

import (
	"testing"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/config"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/journal"
)

// TestWhyDue: a step runs if it was asked for, has not run to its end, or its inputs or outputs are others; and never if only
// others were asked for.
func TestWhyDue(t *testing.T) {
	dir := t.TempDir()
	gittest.WriteFile(t, dir+"/lock", "1")
	s := &setup{rec: journal.Record{Workspace: croft.Workspace{Path: dir}}}
	keyed := config.ProvisionStep{Name: "a", When: config.WhenKeyChanged, Key: []string{"lock"}}
	key := s.keyOf(keyed)
	for name, test := range map[string]struct {
		req   croft.ProvisionRequest
		step  config.ProvisionStep
		was   croft.ProvisionedStep
		isDue bool
	}{
		"never run":         {was: croft.ProvisionedStep{State: croft.StepPending}, isDue: true},
		"unapproved so far": {was: croft.ProvisionedStep{State: croft.StepUnapproved}, isDue: true},
		"failed":            {was: croft.ProvisionedStep{State: croft.StepFailed}, isDue: true},
		"interrupted":       {was: croft.ProvisionedStep{State: croft.StepRunning}, isDue: true},
		"done":              {was: croft.ProvisionedStep{State: croft.StepDone}},
		"again":             {req: croft.ProvisionRequest{Mode: croft.ProvisionAgain}, was: croft.ProvisionedStep{State: croft.StepDone}, isDue: true},
		"named":             {req: croft.ProvisionRequest{Steps: []string{"a"}}, was: croft.ProvisionedStep{State: croft.StepDone}, isDue: true},
		"another named":     {req: croft.ProvisionRequest{Steps: []string{"b"}}, was: croft.ProvisionedStep{State: croft.StepFailed}},
		"another, again":    {req: croft.ProvisionRequest{Steps: []string{"b"}, Mode: croft.ProvisionAgain}, was: croft.ProvisionedStep{State: croft.StepPending}},
		"the same key":      {step: keyed, was: croft.ProvisionedStep{State: croft.StepDone, Key: key}},
		"another key":       {step: keyed, was: croft.ProvisionedStep{State: croft.StepDone, Key: "other"}, isDue: true},
		"nothing missing":   {step: config.ProvisionStep{When: config.WhenMissing, Makes: []string{"lock"}}, was: croft.ProvisionedStep{State: croft.StepDone}},
		"one missing":       {step: config.ProvisionStep{When: config.WhenMissing, Makes: []string{"lock", "made"}}, was: croft.ProvisionedStep{State: croft.StepDone}, isDue: true},
	} {
		if s.req, test.step.Name = test.req, "a"; (s.whyDue(test.step, test.was) != "") != test.isDue {
			t.Errorf("%s: %q", name, s.whyDue(test.step, test.was))
		}
	}
	gittest.WriteFile(t, dir+"/lock", "2")
	if s.keyOf(keyed) == key {
		t.Error("another content has the same key")
	}
}

// TestJudge: one failure decides, also behind a step that has not run; all must be done for ready.
func TestJudge(t *testing.T) {
	step := func(name string, state croft.StepState) croft.ProvisionedStep {
		return croft.ProvisionedStep{Name: name, State: state, Why: "why"}
	}
	for _, test := range []struct {
		steps []croft.ProvisionedStep
		want  croft.ProvisionState
		why   string
	}{
		{nil, croft.ProvisionReady, ""},
		{[]croft.ProvisionedStep{step("a", croft.StepDone)}, croft.ProvisionReady, ""},
		{[]croft.ProvisionedStep{step("a", croft.StepDone), step("b", croft.StepPending), step("c", croft.StepPending)}, croft.ProvisionPending, "b has not run"},
		{[]croft.ProvisionedStep{step("a", croft.StepPending), step("b", croft.StepFailed)}, croft.ProvisionFailed, "b: why"},
		{[]croft.ProvisionedStep{{Name: "a", State: croft.StepPending, Why: wasInterrupted}}, croft.ProvisionPending, "a was interrupted"},
	} {
		p := &croft.Provision{State: croft.ProvisionFailed, Why: "before", Steps: test.steps}
		if judge(p); p.State != test.want || p.Why != test.why {
			t.Errorf("%+v: %s, %q", test.steps, p.State, p.Why)
		}
	}
}

// TestPlanKeepsWhatRan: what is recorded of a step counts only for the same command.
func TestPlanKeepsWhatRan(t *testing.T) {
	recorded := []croft.ProvisionedStep{{Name: "a", Run: "make", State: croft.StepDone}, {Name: "b", Run: "old", State: croft.StepDone}}
	got := plan(recorded, []config.ProvisionStep{{Name: "a", Run: "make"}, {Name: "b", Run: "new"}}, []config.ProvisionProbe{{Inside: "pwd"}})
	if len(got) != 3 || got[0].State != croft.StepDone || got[1].State != croft.StepPending || got[2].Name != "probe-1" || got[2].State != croft.StepPending {
		t.Errorf("%+v", got)
	}
}

// TestIsBelow: a path with a pattern has its files in directories of any depth, and no others.
func TestIsBelow(t *testing.T) {
	for name, want := range map[string]bool{"a/b": true, "a/b/c/d": true, "a/bc": true, "a": false, "x/b": false, "a/x": false} {
		if isBelow("a/b*", name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
}
