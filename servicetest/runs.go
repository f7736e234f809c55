package servicetest

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

type runScenarios struct{}

// Recorded: a run is begun, is running once its process is known, which holds a lease, and ends
// with its status. Events tell of it, and it is no new revision.
func (runScenarios) Recorded(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	begun, err := f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{"/bin/agent", "do it"}})
	must(t, err)
	if begun.State != croft.RunStarting || begun.Workspace != w.ID || begun.StartedAt.IsZero() || begun.Supervisor.PID == 0 {
		t.Errorf("begun: %+v", begun)
	}
	owner := begun.Supervisor // a process that lives and that the Service can see
	running, err := f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID, Process: owner})
	must(t, err)
	if running.State != croft.RunRunning || running.Process != owner || running.Lease == "" {
		t.Errorf("running: %+v", running)
	}
	got := f.show("a")
	if got.Lease == nil || got.Lease.ID != running.Lease || got.Run == nil || got.Run.ID != begun.ID {
		t.Errorf("shown: %+v, %+v", got.Lease, got.Run)
	}
	if a := got.Activity; a == nil || a.State != croft.AgentStarting || a.Source != "process" {
		t.Errorf("the activity: %+v", a)
	}
	wantCode(t, errOf(f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{"other"}})), croft.WorkspaceBusy)
	again, err := f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID})
	if err != nil || again.State != croft.RunRunning {
		t.Errorf("going on: %+v, %v", again, err)
	}
	ended, err := f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID, End: croft.RunFailed, Status: 3})
	if err != nil || ended.State != croft.RunEnded || ended.How != croft.RunFailed || ended.Status != 3 || ended.EndedAt.IsZero() {
		t.Errorf("ended: %+v, %v", ended, err)
	}
	later, err := f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID, End: croft.RunDone})
	if err != nil || later.How != croft.RunFailed || !later.EndedAt.Equal(ended.EndedAt) {
		t.Errorf("ended again: %+v, %v", later, err)
	}
	got = f.show("a")
	if got.Lease != nil || got.Activity == nil || got.Activity.State != croft.AgentEnded || got.Revision != w.Revision {
		t.Errorf("after the end: %+v, %+v, revision %d after %d", got.Lease, got.Activity, got.Revision, w.Revision)
	}
	var told []string
	for ev, err := range f.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventRunStarted, croft.EventRunEnded}}) {
		must(t, err)
		told = append(told, ev.Kind+" "+ev.WorkspaceName+" "+string(ev.After.Workspace.Run.How))
	}
	if got, want := strings.Join(told, ", "), "run.started a , run.ended a failed"; got != want {
		t.Errorf("told: %s", got)
	}
}

// Starting: a workspace in which an agent is being started is not removed, whatever the mode.
func (runScenarios) Starting(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	begun, err := f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{"agent"}})
	must(t, err)
	for _, mode := range []croft.RemoveMode{croft.RemoveSafe, croft.RemoveForce} {
		res, err := f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{"a"}, Mode: mode})
		if err == nil && len(res.Removed) > 0 {
			t.Fatalf("%q: %+v", mode, res)
		}
	}
	must(t, errOf(f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID, End: croft.RunDone})))
	must(t, errOf(f.Remove(t.Context(), croft.RemoveRequest{Workspaces: []croft.Ref{"a"}})))
}

// Kept: another act that writes the record does not take a run back.
func (runScenarios) Kept(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	begun, err := f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{"agent"}, Finish: croft.FinishNever})
	must(t, err)
	must(t, errOf(f.UpdateWorkspace(t.Context(), croft.UpdateRequest{Workspace: "a", Meta: map[string]string{"k": "v"}})))
	must(t, errOf(f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID, End: croft.RunDone})))
	must(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a"})))
	if r := f.show("a").Run; r == nil || r.ID != begun.ID || r.How != croft.RunDone || r.Finish != croft.FinishNever {
		t.Errorf("the run: %+v", r)
	}
	next, err := f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{"agent"}})
	if err != nil || next.ID == begun.ID {
		t.Errorf("the next run: %+v, %v", next, err)
	}
	wantCode(t, errOf(f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID, End: croft.RunDone})), croft.RunNotFound)
}

// Intruded: what changes outside of the workspace is told while the run goes on, once each; what
// other agents and Croft itself do is not.
func (runScenarios) Intruded(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	begun, err := f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{"agent"}})
	must(t, err)
	goOn := func() *croft.Run {
		run, err := f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID})
		must(t, err)
		return run
	}
	f.create(croft.CreateRequest{Name: "c"})
	f.createWith("b", "b.txt", "of b")
	f.mustMerge(croft.MergeRequest{Workspace: "b"})
	if run := goOn(); len(run.Intrusions) > 0 {
		t.Errorf("what Croft did: %+v", run.Intrusions)
	}
	f.Git("branch", "evil")
	run := goOn()
	if len(run.Intrusions) != 1 || run.Intrusions[0].What != croft.IntrusionBranch || run.Intrusions[0].Name != "refs/heads/evil" {
		t.Errorf("a branch: %+v", run.Intrusions)
	}
	if run = goOn(); len(run.Intrusions) != 1 {
		t.Errorf("told again: %+v", run.Intrusions)
	}
	f.WriteFile(path.Join(f.Dir, "stray.txt"), "stray")
	f.Git("checkout", "--quiet", "evil")
	run, err = f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID, End: croft.RunDone})
	must(t, err)
	has := func(what croft.IntrusionKind, name string) bool {
		return slices.ContainsFunc(run.Intrusions, func(i croft.Intrusion) bool {
			return i.What == what && i.Name == name && i.Message != "" && !i.At.IsZero()
		})
	}
	if !has(croft.IntrusionHead, "HEAD") {
		t.Errorf("at the end: %+v", run.Intrusions)
	}
	told := 0
	for ev, err := range f.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventRunIntruded}}) {
		must(t, err)
		if told++; ev.WorkspaceName != "a" || len(ev.After.Workspace.Run.Intrusions) == 0 {
			t.Errorf("told: %+v", ev)
		}
	}
	if told != 2 {
		t.Errorf("told of %d times", told)
	}
}

// Refused: what cannot be is refused.
func (runScenarios) Refused(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	wantCode(t, errOf(f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a"})), croft.InvalidRequest)
	wantCode(t, errOf(f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "gone", Command: []string{"agent"}})), croft.WorktreeNotFound)
	wantCode(t, errOf(f.StopRun(t.Context(), croft.StopRunRequest{Workspace: "a"})), croft.RunNotFound)
	wantCode(t, errOf(f.RunLog(t.Context(), croft.RunLogRequest{Workspace: "a"})), croft.RunNotFound)
	wantCode(t, errOf(f.RunLog(t.Context(), croft.RunLogRequest{Workspace: "gone"})), croft.WorktreeNotFound)
	wantCode(t, errOf(f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: "aaaaaaaaaaaaaaaa"})), croft.RunNotFound)
	begun, err := f.BeginRun(t.Context(), croft.BeginRunRequest{Workspace: "a", Command: []string{strings.Repeat("long", 4000)}})
	must(t, err)
	if n := len(strings.Join(begun.Command, "")); n > 5000 {
		t.Errorf("%d bytes of a command are recorded", n)
	}
	wantCode(t, errOf(f.RunLog(t.Context(), croft.RunLogRequest{Workspace: "a"})), croft.RunNotFound)
	wantCode(t, errOf(f.RunLog(t.Context(), croft.RunLogRequest{Workspace: "a", Limit: -1})), croft.InvalidRequest)
	must(t, errOf(f.RecordRun(t.Context(), croft.RecordRunRequest{Workspace: "a", Run: begun.ID, End: croft.RunLost})))
	if stopped, err := f.StopRun(t.Context(), croft.StopRunRequest{Workspace: "a"}); err != nil || stopped.How != croft.RunLost {
		t.Errorf("stopped: %+v, %v", stopped, err)
	}
}
