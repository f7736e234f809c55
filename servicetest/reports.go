package servicetest

import (
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

type reportScenarios struct{}

// Told: what an agent says of itself is shown, and told of once; it is no new revision and no
// act of the history.
func (reportScenarios) Told(t *testing.T, f *fixture) {
	w := f.create(croft.CreateRequest{Name: "a"})
	acts, err := f.History(t.Context(), croft.HistoryRequest{})
	must(t, err)
	for _, req := range []croft.ReportRequest{
		{State: croft.AgentWorking},
		{State: croft.AgentWorking},
		{State: croft.AgentWaiting, WaitingFor: croft.NeedPermission, Note: "npm\x1b[31m install"},
		{State: croft.AgentWaiting, Note: "which database?", Source: "claude"},
	} {
		req.Workspace = "a"
		got, err := f.ReportAgent(t.Context(), req)
		if err != nil || got.State != req.State || got.Since.IsZero() || got.At.IsZero() {
			t.Errorf("%+v: %+v, %v", req, got, err)
		}
	}
	got := f.show("a")
	if a := got.Activity; a == nil || a.State != croft.AgentWaiting || a.WaitingFor != croft.NeedAnswer || a.Note != "which database?" || a.Source != "claude" {
		t.Errorf("shown: %+v", a)
	}
	if got.Question == nil || got.Question.Text != "which database?" {
		t.Errorf("the question: %+v", got.Question)
	}
	f.wantCondition(got, croft.ConditionWaiting, croft.ActionAnswer)
	if got.Revision != w.Revision {
		t.Errorf("revision %d after %d", got.Revision, w.Revision)
	}
	var told []string
	for ev, err := range f.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventWorkspaceReported}}) {
		must(t, err)
		a := ev.After.Workspace.Activity
		told = append(told, string(a.State)+" "+string(a.WaitingFor))
	}
	if got, want := strings.Join(told, ", "), "working , waiting permission, waiting answer"; got != want {
		t.Errorf("told: %s", got)
	}
	if now, err := f.History(t.Context(), croft.HistoryRequest{}); err != nil || len(now.Items) != len(acts.Items) {
		t.Errorf("%d acts after %d, %v", len(now.Items), len(acts.Items), err)
	}
	f.create(croft.CreateRequest{Name: "silent"})
	asking, err := f.Workspaces(t.Context(), croft.WorkspacesRequest{Asks: croft.AsksPerson})
	if must(t, err); len(asking.Items) != 1 || asking.Items[0].ID != got.ID || len(asking.Unseen) > 1 {
		t.Errorf("those that ask a person: %+v", asking)
	}
}

// Stays: another act that writes the record does not take back what the agent said meanwhile,
// and the end of the agent ends it.
func (reportScenarios) Stays(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	must(t, errOf(f.ReportAgent(t.Context(), croft.ReportRequest{Workspace: "a", State: croft.AgentWorking, Note: "tests"})))
	must(t, errOf(f.UpdateWorkspace(t.Context(), croft.UpdateRequest{Workspace: "a", Meta: map[string]string{"x": "1"}})))
	must(t, errOf(f.Lock(t.Context(), croft.LockRequest{Workspace: "a"})))
	must(t, errOf(f.Unlock(t.Context(), croft.LockRequest{Workspace: "a"})))
	got := f.show("a")
	if got.Activity == nil || got.Activity.Note != "tests" {
		t.Errorf("after other acts: %+v", got.Activity)
	}
	f.wantCondition(got, croft.ConditionWorking, "")
	must(t, errOf(f.Finish(t.Context(), croft.FinishRequest{Workspace: "a", Policy: croft.MergeNever})))
	if got := f.show("a"); got.Activity == nil || got.Activity.State != croft.AgentEnded {
		t.Errorf("after its end: %+v", got.Activity)
	}
	f.removed("a")
	if got, err := f.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a", Scope: croft.ScopeAll}); err != nil || got.Activity != nil {
		t.Errorf("removed: %+v, %v", got, err)
	}
}

// Sessions: news of a session that another one has followed are dropped, as are those from before
// the last ones; a session that is taken up again, or goes on beside one that has ended, is heard.
func (reportScenarios) Sessions(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	report := func(session string, turn croft.SessionTurn, state croft.AgentState, want string) {
		t.Helper()
		got, err := f.ReportAgent(t.Context(), croft.ReportRequest{Workspace: "a", State: state, AgentSession: session, Turn: turn, Source: "claude"})
		must(t, err)
		if now := string(got.State) + " " + got.AgentSession; now != want {
			t.Errorf("%s of %s: %s, want %s", state, session, now, want)
		}
		if a := f.show("a").Activity; a == nil || a.State != got.State || a.AgentSession != got.AgentSession {
			t.Errorf("%s of %s: shown %+v", state, session, a)
		}
	}
	report("one", "", croft.AgentWorking, "working one")
	report("two", croft.SessionBegins, croft.AgentIdle, "idle two")
	report("one", "", croft.AgentWorking, "idle two")
	report("two", "", croft.AgentWorking, "working two")
	report("one", croft.SessionBegins, croft.AgentIdle, "idle one")
	report("two", "", croft.AgentWorking, "idle one")
	report("one", "", croft.AgentEnded, "ended one")
	report("two", "", croft.AgentWorking, "working two")
	report("", "", croft.AgentIdle, "idle two")
	last := f.show("a").Activity
	late, err := f.ReportAgent(t.Context(), croft.ReportRequest{Workspace: "a", State: croft.AgentWaiting, AgentSession: "two", At: last.At.Add(-time.Second)})
	if err != nil || late.State != croft.AgentIdle {
		t.Errorf("from before: %+v, %v", late, err)
	}
	// A reminder without a reason keeps the reason.
	for _, note := range []string{"npm install", ""} {
		must(t, errOf(f.ReportAgent(t.Context(), croft.ReportRequest{Workspace: "a", State: croft.AgentWaiting, WaitingFor: croft.NeedPermission, Note: note, AgentSession: "two"})))
	}
	if a := f.show("a").Activity; a.Note != "npm install" {
		t.Errorf("reminded: %+v", a)
	}
	// One that another has followed leaves: that is told, and changes nothing of the other.
	past, err := f.ReportAgent(t.Context(), croft.ReportRequest{Workspace: "a", State: croft.AgentEnded, AgentSession: "one", Turn: croft.SessionLeaves})
	if err != nil || past.State != croft.AgentWaiting || past.AgentSession != "two" {
		t.Errorf("a session of the past left: %+v, %v", past, err)
	}
	must(t, errOf(f.ReportAgent(t.Context(), croft.ReportRequest{Workspace: "a", State: croft.AgentEnded, Turn: croft.SessionLeaves})))
	left := 0
	for ev, err := range f.Events(t.Context(), croft.EventsRequest{Kinds: []string{croft.EventWorkspaceLeft}}) {
		must(t, err)
		if left++; ev.After.Workspace.Name != "a" {
			t.Errorf("left: %+v", ev)
		}
	}
	if left != 2 {
		t.Errorf("told %d times that it was left", left)
	}
}

// Refused: reports that say nothing, or too much.
func (reportScenarios) Refused(t *testing.T, f *fixture) {
	f.create(croft.CreateRequest{Name: "a"})
	for name, req := range map[string]croft.ReportRequest{
		"no state":         {},
		"unknown":          {State: croft.AgentUnknown},
		"no such state":    {State: "thinking"},
		"no such need":     {State: croft.AgentWaiting, WaitingFor: "coffee"},
		"nothing to await": {State: croft.AgentWorking, WaitingFor: croft.NeedAnswer},
		"long note":        {State: croft.AgentIdle, Note: strings.Repeat("x", croft.MaxNote+1)},
		"source":           {State: croft.AgentIdle, Source: "a b"},
		"no such turn":     {State: croft.AgentIdle, AgentSession: "s", Turn: "twists"},
		"nameless":         {State: croft.AgentIdle, Turn: croft.SessionBegins},
		"long session":     {State: croft.AgentIdle, AgentSession: strings.Repeat("s", 129)},
		"hostile session":  {State: croft.AgentIdle, AgentSession: "a\x1b[2J"},
	} {
		req.Workspace = "a"
		if e := wantCode(t, errOf(f.ReportAgent(t.Context(), req)), croft.InvalidRequest); e == nil {
			t.Errorf("%s was taken", name)
		}
	}
	wantCode(t, errOf(f.ReportAgent(t.Context(), croft.ReportRequest{Workspace: "gone", State: croft.AgentIdle})), croft.WorktreeNotFound)
	if got := f.show("a"); got.Activity != nil {
		t.Errorf("recorded: %+v", got.Activity)
	}
}
