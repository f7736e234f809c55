package mcp

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/google/go-cmp/cmp"
)

// described is a tool as testdata/tools.json has it.
type described struct {
	Scope        string `json:"scope"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	InputSchema  object `json:"inputSchema"`
	OutputSchema object `json:"outputSchema"`
	Annotations  object `json:"annotations"`
}

// TestGolden: the tools, their words and their schemas are those of the specification.
func TestGolden(t *testing.T) {
	b, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []described
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	var got []described
	for _, tool := range tools() {
		b, err := json.Marshal(tool.describe())
		if err != nil {
			t.Fatal(err)
		}
		d := described{Scope: map[audience]string{forAgents: "agent", forOrchestrators: "orchestrator"}[tool.audience]}
		if err := json.Unmarshal(b, &d); err != nil {
			t.Fatal(err)
		}
		if tool.effect == reads {
			delete(d.Annotations, "idempotentHint") // the SDK writes it always
		}
		got = append(got, d)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-testdata/tools.json +tools):\n%s", diff)
	}
}

// TestBudget: what a model reads of the tools is short. A token is taken as four bytes.
func TestBudget(t *testing.T) {
	for kind, most := range map[Kind]int{KindAgent: 800, KindSession: 900, KindOrchestrator: 1400, KindReadOnly: 800} {
		size := 0
		for _, tool := range toolsOf(kind) {
			b, err := json.Marshal(object{"name": tool.name, "description": tool.description, "inputSchema": tool.in})
			if err != nil {
				t.Fatal(err)
			}
			size += len(b)
		}
		t.Logf("%s: %d bytes, %d tokens", kind, size, size/4)
		if size/4 > most {
			t.Errorf("%s: %d tokens, at most %d", kind, size/4, most)
		}
	}
	if len(instructions) > 400 {
		t.Errorf("the instructions have %d bytes", len(instructions))
	}
}

// TestAgentTools: each tool of an agent, through the SDK's client and the real engine.
func TestAgentTools(t *testing.T) {
	f := newFixture(t)
	c := f.connect(f.scopeOf(KindAgent))
	listed, err := c.ListTools(t.Context(), nil)
	if err != nil || len(listed.Tools) != 7 {
		t.Fatalf("%+v, %v", listed, err)
	}
	f.write(f.a, "new.txt", "one\n")
	f.write(f.a, ".env", "SECRET=1\n")
	f.write(f.b, "new.txt", "another\n")
	s := c.call("status", object{})
	if s["id"] != string(f.a.ID) || s["branch"] != f.a.Branch || len(s["dirty"].([]any)) != 2 || s["overlaps"] != 1.0 {
		t.Errorf("status %v", s)
	}
	if s := c.call("status", object{"workspace": "a"}); s["name"] != "a" {
		t.Errorf("status %v", s)
	}
	if d := c.call("diff", object{}); len(d["files"].([]any)) != 1 {
		t.Errorf("diff %v", d)
	}
	if d := c.call("diff", object{"path": "new.txt"}); !strings.Contains(d["patch"].(string), "+one") {
		t.Errorf("patch %v", d)
	}
	pairs, _ := c.call("conflicts", object{})["pairs"].([]any)
	if len(pairs) != 1 || pairs[0].(object)["with"] != "b" {
		t.Errorf("conflicts %v", pairs)
	}
	if again := c.call("conflicts", object{"paths": []string{"elsewhere"}}); again["pairs"] != nil {
		t.Errorf("conflicts %v", again)
	}
	saved := c.call("save", object{"message": "half", "key": "k"})
	if saved["files"] != 1.0 || !slices.Equal(saved["heldBack"].([]any), []any{".env"}) || f.repo.GitIn(f.a.Path, "rev-parse", "HEAD") != saved["commit"] {
		t.Errorf("save %v", saved)
	}
	if again := c.call("save", object{"message": "half", "key": "k"}); again["commit"] != saved["commit"] {
		t.Errorf("again %v, first %v", again, saved)
	}
	if none := c.call("save", object{"message": "none"}); none["commit"] != nil {
		t.Errorf("nothing to save: %v", none)
	}
	if told := c.call("report", object{"state": "waiting", "waitingFor": "answer", "note": "which?"}); told["state"] != "waiting" {
		t.Errorf("report %v", told)
	}
	if ws, err := f.svc.Workspace(t.Context(), croft.WorkspaceRequest{Ref: "a"}); err != nil || ws.Activity == nil || ws.Activity.Note != "which?" {
		t.Errorf("%+v, %v", ws, err)
	}
	f.write(f.a, "last.txt", "last\n")
	done := c.call("submit", object{"outcome": "done", "summary": "all of it"})
	if done["merge"].(object)["status"] != "pending" || f.repo.GitIn(f.a.Path, "status", "--porcelain") != "?? .env" {
		t.Errorf("submit %v", done)
	}
}

// TestPorts: ports without names do not hide each other.
func TestPorts(t *testing.T) {
	got := portsOf([]croft.Port{{Port: 20}, {Name: "web", Port: 21}, {Port: 22}})
	if diff := cmp.Diff(map[string]int{"0": 20, "web": 21, "2": 22}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSubmitMerges: with a layout that merges at the end, the server itself drives the lane.
func TestSubmitMerges(t *testing.T) {
	f := newFixture(t)
	ws, err := f.svc.Create(t.Context(), croft.CreateRequest{Name: "m", Layout: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	f.write(*ws, "m.txt", "m\n")
	c := f.connect(Scope{Kind: KindAgent, Workspace: ws.ID})
	merge := c.call("submit", object{"outcome": "done", "key": "end"})["merge"].(object)
	for deadline := time.Now().Add(30 * time.Second); ; {
		m, err := f.svc.Merge(t.Context(), croft.GetRequest{Ref: croft.ByID(croft.ID(merge["id"].(string)))})
		if err == nil && m.Status == croft.MergeMerged {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	if again := c.call("submit", object{"outcome": "done", "key": "end"}); again["merge"].(object)["id"] != merge["id"] {
		t.Errorf("again: %v", again)
	}
}

// TestOrchestratorTools: each tool of an orchestrator.
func TestOrchestratorTools(t *testing.T) {
	f := newFixture(t)
	c := f.connect(f.scopeOf(KindOrchestrator))
	before := c.call("wait", object{})
	made := c.call("create", object{"names": []string{"c", "d"}, "key": "make"})
	if again := c.call("create", object{"names": []string{"c", "d"}, "key": "make"}); !cmp.Equal(made["workspaces"].([]any)[0].(object)["id"], again["workspaces"].([]any)[0].(object)["id"]) {
		t.Errorf("made %v, again %v", made, again)
	}
	first := c.call("list", object{"limit": 3})
	rest := c.call("list", object{"limit": 3, "after": first["next"]})
	if len(first["workspaces"].([]any)) != 3 || len(rest["workspaces"].([]any)) != 1 {
		t.Errorf("list %v and %v", first, rest)
	}
	if _, err := f.svc.ReportAgent(t.Context(), croft.ReportRequest{Workspace: "b", State: croft.AgentWaiting, WaitingFor: croft.NeedAnswer, Note: "which?"}); err != nil {
		t.Fatal(err)
	}
	if asking := c.call("list", object{"asks": "person"})["workspaces"].([]any); len(asking) != 1 || asking[0].(object)["name"] != "b" {
		t.Errorf("those that ask: %v", asking)
	}
	news := c.call("wait", object{"cursor": before["cursor"], "kinds": []string{"workspace.created"}, "seconds": 5})
	if len(news["events"].([]any)) != 2 {
		t.Errorf("news %v", news)
	}
	f.write(f.a, "a.txt", "a\n")
	f.write(f.b, "b.txt", "b\n")
	f.repo.GitIn(f.b.Path, "add", "b.txt")
	f.repo.GitIn(f.b.Path, "commit", "--quiet", "-m", "b")
	if _, failed := c.try("merge", object{"workspace": "a", "head": f.a.Base}); failed == nil || failed.Code != croft.WorkChanged {
		t.Errorf("merge of other work: %+v", failed)
	}
	merged := c.call("merge", object{"workspace": "a", "wait": 60, "key": "m"})
	if merged["status"] != "merged" || f.repo.Git("rev-parse", "main") != merged["commit"] {
		t.Errorf("merge %v", merged)
	}
	closed := c.call("close", object{"workspaces": []string{"b", "c", "nobody", string(f.other.ID)}, "outcome": "finished", "key": "x"})
	if !slices.Equal(closed["removed"].([]any), []any{"c"}) || len(closed["kept"].([]any)) != 3 {
		t.Errorf("close %v", closed)
	}
	if gone := c.call("close", object{"workspaces": []string{"b"}, "outcome": "discard"}); !slices.Equal(gone["removed"].([]any), []any{"b"}) {
		t.Errorf("discard %v", gone)
	}
	if s := c.call("status", object{"workspace": "d"}); s["name"] != "d" {
		t.Errorf("status %v", s)
	}
	if _, failed := c.try("status", object{"workspace": "nobody"}); failed == nil || failed.Next == nil || failed.Next.Tool != "list" {
		t.Errorf("%+v", failed)
	}
}

// TestArguments: what the schemas do not allow is an error of the protocol.
func TestArguments(t *testing.T) {
	f := newFixture(t)
	c := f.connect(f.scopeOf(KindOrchestrator))
	for _, bad := range []struct {
		tool      string
		arguments any
	}{
		{"status", object{"workspace": "a", "more": 1}},
		{"status", object{"workspace": 1}},
		{"status", object{"workspace": nil}},
		{"status", []string{"a"}},
		{"report", object{"workspace": "a", "state": "asleep"}},
		{"save", object{"workspace": "a"}},
		{"save", object{"workspace": "a", "message": ""}},
		{"save", object{"workspace": "a", "message": strings.Repeat("x", 4001)}},
		{"save", object{"workspace": "a", "message": "m", "paths": "a"}},
		{"diff", object{"workspace": "a", "limit": 0}},
		{"diff", object{"workspace": "a", "limit": 1.5}},
		{"create", object{"names": []string{}}},
		{"create", object{"names": []string{"../up"}}},
		{"create", object{"names": []string{"ok"}, "mode": "legacy"}},
		{"close", object{"workspaces": []string{"a"}, "outcome": "gone"}},
		{"merge", object{"workspace": "a", "wait": 601}},
		{"undo", object{}},
	} {
		c.refused(bad.tool, bad.arguments)
	}
}
