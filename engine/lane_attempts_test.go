package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// checked is a repository whose check prints a line and fails if there is a file bad.
func checked(t *testing.T) (*gittest.Repo, *engine.Engine) {
	t.Helper()
	r := gittest.New(t)
	r.Write("croft.toml", "[merge]\nchecks = ['echo looked at; ls | grep ^file; ! ls | grep -q ^bad']\n")
	r.Commit("checks")
	e := engineIn(t, r, 0)
	approveChecks(t, e)
	return r, e
}

// eventsOf returns the events of some kinds.
func eventsOf(t *testing.T, e *engine.Engine, kinds ...string) []croft.Event {
	t.Helper()
	var all []croft.Event
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{Kinds: kinds}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

// TestAttempts: of a batch of four the third breaks the check. Each merge has a record of the
// trees that it was tried in, and the events tell of every check, with its output.
func TestAttempts(t *testing.T) {
	t.Parallel()
	r, e := checked(t)
	var ids []croft.ID
	for i, name := range []string{"a", "b", "c", "d"} {
		file := "file-" + name
		if i == 2 {
			file = "bad"
		}
		ids = append(ids, submitFile(t, e, name, "", file, "x"))
	}
	if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
		t.Fatal(err)
	}
	// The batch of four fails, two pass, three fail, and fail again; then the fourth is a batch of
	// its own.
	for i, want := range []string{
		"4.1 of step 0 with 4 failed, 4.1 of step 1 with 2 passed, 4.1 of step 2 with 3 failed, 4.1 of step 3 with 3 failed",
		"4.2 of step 0 with 4 failed, 4.2 of step 1 with 2 passed, 4.2 of step 2 with 3 failed, 4.2 of step 3 with 3 failed",
		"4.3 of step 0 with 4 failed, 4.3 of step 2 with 3 failed, 4.3 of step 3 with 3 failed",
		"4.4 of step 0 with 4 failed, 1.1 of step 0 with 1 passed",
	} {
		m, err := e.Merge(t.Context(), croft.GetRequest{Ref: croft.Ref(ids[i])})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range m.Attempts {
			got = append(got, fmt.Sprintf("%d.%d of step %d with %d %s", a.Size, a.Position, a.Step, a.Merges, a.State))
			runs := 1
			if a.State == croft.TryFailed && a.Step == 0 { // it is run again at once, and both are kept; a later step is a run of its own
				runs = 2
			}
			if len(a.Checks) != runs || len(a.Commands) != 1 || a.Commands[0] != a.Checks[0].Command || a.Checks[0].Tree != a.Tree || a.Checks[0].State != a.State || a.Checks[0].Tail != "" || a.EndedAt.Before(a.StartedAt) {
				t.Errorf("%s: the attempt %+v", m.WorkspaceName, a)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s was tried as\n%s, want\n%s", m.WorkspaceName, strings.Join(got, ", "), want)
		}
		// What landed is what passed: the commit of that attempt is on the target.
		passed := slices.DeleteFunc(slices.Clone(m.Attempts), func(a croft.Attempt) bool { return a.State != croft.TryPassed })
		if landed := m.Status == croft.MergeMerged; landed != (len(passed) == 1) || landed == (i == 2) {
			t.Errorf("%s is %s, and %d of its attempts passed", m.WorkspaceName, m.Status, len(passed))
		} else if landed && r.Git("rev-parse", passed[0].Commit+"^{tree}") != passed[0].Tree {
			t.Errorf("%s landed as %+v", m.WorkspaceName, passed[0])
		}
	}
	wantCheckEvents(t, e, 6) // a tree that fails is checked twice: 2 + 1 + 2 + 1
	third, err := e.Merge(t.Context(), croft.GetRequest{Ref: croft.Ref(ids[3])})
	if err != nil || third.Checks[0].Usual <= 0 || third.Checks[0].Last != "file-d" {
		t.Errorf("the usual time of the check is not known: %+v, %v", third.Checks, err)
	}
}

// wantCheckEvents wants that so many checks began, printed and ended, in this order.
func wantCheckEvents(t *testing.T, e *engine.Engine, want int) {
	t.Helper()
	all := eventsOf(t, e, croft.EventCheckStarted, croft.EventCheckOutput, croft.EventCheckEnded)
	stories, printed := map[croft.ID]string{}, map[croft.ID]string{}
	var order []croft.ID
	for _, ev := range all {
		noun := strings.TrimPrefix(ev.Kind, "check.")
		if noun == "output" {
			printed[ev.Check] += ev.After.Output.Text
			if strings.HasSuffix(stories[ev.Check], "output ") {
				noun = "" // the output of a slow check comes in several parts
			}
		}
		if ev.Check != ev.After.Check.ID || ev.Batch == "" || ev.Repo == "" || ev.Target != "main" || ev.Merge == "" || ev.WorkspaceName == "" || ev.After.Merge != nil {
			t.Errorf("the event %+v", ev)
		}
		if noun != "" {
			stories[ev.Check] += noun + " "
		}
		if !slices.Contains(order, ev.Check) {
			order = append(order, ev.Check)
		}
		if ended := ev.After.Check.State != croft.TryRunning; ended != (ev.Kind == croft.EventCheckEnded) && ev.Kind != croft.EventCheckOutput {
			t.Errorf("%s has the state %s", ev.Kind, ev.After.Check.State)
		}
	}
	if len(order) != want {
		t.Errorf("%d checks, want %d", len(order), want)
	}
	for id, story := range stories {
		if story != "started output ended " || !strings.HasPrefix(printed[id], "looked at\n") {
			t.Errorf("a check was told as %s, and printed %q", story, printed[id])
		}
	}
}

// TestUncheckedAttempts: what lands without checks has a record of its batch, too.
func TestUncheckedAttempts(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	e := engineIn(t, r, 0)
	ids := []croft.ID{submitFile(t, e, "a", "", "a", "x"), submitFile(t, e, "b", "", "b", "x")}
	if _, err := e.DriveLanes(t.Context(), croft.DriveRequest{}); err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		m, err := e.Merge(t.Context(), croft.GetRequest{Ref: croft.Ref(id)})
		if err != nil || len(m.Attempts) != 1 {
			t.Fatalf("%+v, %v", m, err)
		}
		if a := m.Attempts[0]; a.Size != 2 || a.Position != i+1 || a.Merges != 2 || a.State != croft.TryPassed || a.Tree != r.Git("rev-parse", "main^{tree}") {
			t.Errorf("%+v", a)
		}
	}
	if events := eventsOf(t, e, croft.EventCheckStarted); len(events) > 0 {
		t.Errorf("%+v", events)
	}
}

// TestKilledCheck: the process that runs the check of a batch is killed. The next one records
// that the check was stopped, and tells so once.
func TestKilledCheck(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	g.Write("croft.toml", strings.Replace(read(t, g.Dir+"/croft.toml"), "batch = 1", "batch = 2", 1))
	g.Commit("batches")
	e := engineIn(t, g.Repo, 0)
	g.submit(t, e, "b")
	id := g.submit(t, e, "a")
	req, err := json.Marshal(croft.WaitRequest{Merge: id})
	if err != nil {
		t.Fatal(err)
	}
	cmd := helper(t, g.Repo, task{Call: "WaitMerge", Request: req})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.begun(t, 1)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	g.releaseCheck(t)
	m, err := e.WaitMerge(t.Context(), croft.WaitRequest{Merge: id})
	if err != nil || len(m.Attempts) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	first := m.Attempts[0]
	if first.State != croft.TryStopped || len(first.Checks) != 1 || first.Checks[0].State != croft.TryStopped || m.Attempts[1].State != croft.TryPassed {
		t.Errorf("%+v", m.Attempts)
	}
	var got []string
	for _, ev := range eventsOf(t, e, croft.EventCheckStarted, croft.EventCheckEnded) {
		got = append(got, ev.Kind+" "+string(ev.After.Check.State))
	}
	if want := "check.started running, check.ended stopped, check.started running, check.ended passed"; strings.Join(got, ", ") != want {
		t.Errorf("told: %s", strings.Join(got, ", "))
	}
}

// TestOutputWhileRunning: output is told while the check runs, and so is the time that it
// usually takes.
func TestOutputWhileRunning(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	g.Write("croft.toml", strings.Replace(read(t, g.Dir+"/croft.toml"), "echo x", "echo begun; echo x", 1))
	g.Commit("print")
	e := engineIn(t, g.Repo, 0)
	id := g.submit(t, e, "a")
	stop, ended := startDriver(t, e)
	defer stop()
	begun := time.Now()
	for ev, err := range e.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventCheckOutput}, Follow: croft.FollowNew}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.After.Output.Text != "begun\n" || ev.After.Check.State != croft.TryRunning || ev.After.Check.Last != "begun" || ev.Merge != id {
			t.Errorf("%+v, %+v", ev.After.Output, ev.After.Check)
		}
		break
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("the output was told after %v", took)
	}
	g.releaseCheck(t)
	wantMerged(t, e, id)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
