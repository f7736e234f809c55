package agents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/engine"
	"github.com/croft-sh/croft/internal/caller"
	"github.com/croft-sh/croft/internal/daemon/agents"
	"github.com/croft-sh/croft/internal/daemon/rest"
	"github.com/croft-sh/croft/internal/daemon/stream"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// app is the web application's view of a project.
type app struct {
	t    *testing.T
	url  string
	repo *gittest.Repo
	svc  croft.Service
}

func newApp(t *testing.T) *app {
	t.Helper()
	repo := gittest.New(t)
	e, err := engine.Open(t.Context(), "/", &engine.Options{Environ: repo.Env})
	if err != nil {
		t.Fatal(err)
	}
	hub := stream.NewHub(e)
	all := func(caller.Caller) (croft.Service, error) { return hub, nil }
	mux := http.NewServeMux()
	mux.Handle("/api/", agents.New(agents.Options{ServiceFor: all, ActorFor: rest.ActorFor}))
	mux.Handle("GET /api/events", stream.Options{ServiceFor: all, Now: hub.Now}.WebSocket(agents.Messages))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(caller.With(r.Context(), caller.Caller{Access: croft.AccessAll, Name: "ada"})))
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &app{t, server.URL, repo, hub}
}

// call makes a request and decodes the answer.
func (a *app) call(method, path string, body, answer any) int {
	a.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, bytes.NewReader(data))
	if err != nil {
		a.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		a.t.Fatalf("%s %s: %s: %v", method, path, response.Status, err)
	}
	return response.StatusCode
}

// spawn gives an agent a worktree in which it has written a file.
func (a *app) spawn(id, file, content string) agents.Agent {
	a.t.Helper()
	var agent agents.Agent
	if status := a.call("POST", "/api/agents", map[string]string{"id": id, "name": id, "projectPath": a.repo.Dir}, &agent); status != http.StatusCreated {
		a.t.Fatalf("%d %+v", status, agent)
	}
	if err := os.WriteFile(filepath.Join(*agent.WorktreePath, file), []byte(content), 0o600); err != nil {
		a.t.Fatal(err)
	}
	return agent
}

func (a *app) act(id, verb string) (int, agents.Result) {
	a.t.Helper()
	var out agents.Result
	status := a.call("POST", "/api/agents/"+id+"/"+verb, map[string]string{}, &out)
	return status, out
}

func value(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// TestSpawn: an agent has a worktree in .worktrees and a branch, and no merge yet; in JSON
// that is null.
func TestSpawn(t *testing.T) {
	a := newApp(t)
	agent := a.spawn("abc123", "a.txt", "a\n")
	if value(agent.WorktreePath) != filepath.Join(a.repo.Dir, ".worktrees", "abc123") || value(agent.BranchName) != "agent/abc123" || agent.ID != "abc123" {
		t.Errorf("%+v", agent)
	}
	var raw map[string]any
	a.call("GET", "/api/agents/abc123", nil, &raw)
	for _, key := range []string{"mergeStatus", "mergeCommitSha"} {
		if v, ok := raw[key]; !ok || v != nil {
			t.Errorf("%s is %v, there: %v", key, v, ok)
		}
	}
	var list []agents.Agent
	if a.call("GET", "/api/agents", nil, &list); len(list) != 1 || list[0].ID != "abc123" {
		t.Errorf("%+v", list)
	}
	if a.call("GET", "/api/agents?projectPath=/elsewhere", nil, &list); len(list) != 0 {
		t.Errorf("elsewhere: %+v", list)
	}
	if status := a.call("GET", "/api/agents/none", nil, &raw); status != http.StatusNotFound || raw["code"] != "WORKTREE_NOT_FOUND" {
		t.Errorf("%d %v", status, raw)
	}
}

// TestPlainDirectory: a project that is no git repository has agents without a worktree.
func TestPlainDirectory(t *testing.T) {
	a := newApp(t)
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.Mkdir(plain, 0o700); err != nil {
		t.Fatal(err)
	}
	var agent agents.Agent
	status := a.call("POST", "/api/agents", map[string]string{"id": "x", "projectPath": plain}, &agent)
	if status != http.StatusCreated || agent.WorktreePath != nil || agent.BranchName != nil || agent.MergeStatus != nil || agent.MergeCommitSha != nil || agent.ProjectPath != plain {
		t.Errorf("%d %+v", status, agent)
	}
}

// TestMergeAndRevert: merge and revert change the status, and a revert says how many were
// merged after.
func TestMergeAndRevert(t *testing.T) {
	a := newApp(t)
	for _, id := range []string{"a", "b", "c"} {
		a.spawn(id, id+".txt", id+"\n")
		if status, out := a.act(id, "merge"); status != http.StatusOK || !out.Success || value(out.Agent.MergeStatus) != "merged" || value(out.MergeCommitSha) != a.repo.Git("rev-parse", "main") {
			t.Fatalf("%d %+v %+v", status, out, out.Agent)
		}
	}
	var first agents.Agent
	if a.call("GET", "/api/agents/a", nil, &first); first.MergedAfter != 2 || first.WorktreePath == nil {
		t.Errorf("%+v", first)
	}
	status, out := a.act("a", "revert")
	if status != http.StatusOK || !out.Success || value(out.Agent.MergeStatus) != "reverted" || out.MergedAfter != 2 {
		t.Fatalf("%d %+v %+v", status, out, out.Agent)
	}
	if files := a.repo.Git("ls-tree", "--name-only", "main"); strings.Contains(files, "a.txt") || !strings.Contains(files, "b.txt") {
		t.Errorf("main has %q", files)
	}
	if status, out := a.act("a", "revert"); status == http.StatusOK || out.Success || out.Error == "" {
		t.Errorf("twice: %d %+v", status, out)
	}
}

// TestConflictAndDiscard: a conflict leaves the work pending with a reason, and it can be
// discarded; so can all pending work of a project.
func TestConflictAndDiscard(t *testing.T) {
	a := newApp(t)
	for _, id := range []string{"a", "b", "c"} {
		a.spawn(id, "same.txt", id+"\n")
	}
	a.act("a", "merge")
	status, out := a.act("b", "merge")
	if status != http.StatusConflict || out.Success || out.Code != "CONFLICT" || value(out.Agent.MergeStatus) != "pending" || out.Agent.Error == "" {
		t.Fatalf("%d %+v %+v", status, out, out.Agent)
	}
	if status, out := a.act("b", "discard"); status != http.StatusOK || !out.Success || value(out.Agent.MergeStatus) != "discarded" {
		t.Errorf("%d %+v %+v", status, out, out.Agent)
	}
	a.act("c", "merge")
	var projects []agents.Project
	if a.call("GET", "/api/projects", nil, &projects); len(projects) != 1 || projects[0].ProjectPath != a.repo.Dir {
		t.Fatalf("%+v", projects)
	}
	var results []agents.Result
	if status := a.call("POST", "/api/projects/"+projects[0].ID+"/trash", nil, &results); status != http.StatusOK || len(results) != 1 || !results[0].Success || value(results[0].Agent.MergeStatus) != "discarded" {
		t.Errorf("%d %+v", status, results)
	}
	if left := a.repo.Git("branch", "--list", "agent/*"); left != "" {
		t.Errorf("branches %q", left)
	}
}

// TestWebSocket: the application hears of merges, failures, discards and reverts, and of
// Croft's own events; after a pause it goes on from its cursor.
func TestWebSocket(t *testing.T) {
	a := newApp(t)
	for _, id := range []string{"a", "b"} {
		a.spawn(id, "same.txt", id+"\n")
	}
	conn := a.dial("/api/events")
	a.act("a", "merge")
	got := a.until(conn, agents.TypeMerged)
	if got.AgentID != "a" || value(got.Agent.MergeStatus) != "merged" || value(got.Agent.MergeCommitSha) == "null" {
		t.Errorf("%+v %+v", got, got.Agent)
	}
	cursor := a.until(conn, croft.EventMergeMerged).Cursor
	_ = conn.CloseNow()
	a.act("b", "merge")
	a.act("b", "discard")
	a.act("a", "revert")
	conn = a.dial("/api/events?after=" + string(cursor))
	defer func() { _ = conn.CloseNow() }()
	if got := a.until(conn, agents.TypeMergeFailed); got.AgentID != "b" || got.Code != "CONFLICT" || got.Error == "" {
		t.Errorf("%+v", got)
	}
	if got := a.until(conn, agents.TypeDiscarded); got.AgentID != "b" {
		t.Errorf("%+v", got)
	}
	if got := a.until(conn, agents.TypeReverted); got.AgentID != "a" || value(got.Agent.MergeStatus) != "reverted" {
		t.Errorf("%+v", got)
	}
	if r, err := http.Get(a.url + "/api/events?after=none"); err != nil || r.StatusCode != http.StatusGone && r.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown cursor: %v, %v", r.Status, err)
	} else {
		_ = r.Body.Close()
	}
}

func (a *app) dial(path string) *websocket.Conn {
	a.t.Helper()
	conn, response, err := websocket.Dial(a.t.Context(), "ws"+strings.TrimPrefix(a.url, "http")+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	_ = response.Body
	conn.SetReadLimit(1 << 20)
	return conn
}

// until reads messages until one of a type.
func (a *app) until(conn *websocket.Conn, kind string) agents.Message {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 30*time.Second)
	defer cancel()
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			a.t.Fatalf("no %s: %v", kind, err)
		}
		var m agents.Message
		if err := json.Unmarshal(data, &m); err != nil {
			a.t.Fatal(err)
		}
		if m.Type == kind {
			return m
		}
	}
}

// TestNames: the names of agents are for people. What a workspace cannot be called stays the
// name of the agent.
func TestNames(t *testing.T) {
	a := newApp(t)
	for id, row := range map[string]struct{ given, agent, workspace string }{
		"a1": {"fix-login", "fix-login", "fix-login"},
		"a2": {"Fix the login!", "Fix the login!", "Fix-the-login"},
		"a3": {"<b>Zoë</b>: a/b", "<b>Zoë</b>: a/b", "b-Zoë-b-a-b"},
		"a4": {"../../x y", "../../x y", "x-y"},
	} {
		var agent agents.Agent
		status := a.call("POST", "/api/agents", map[string]string{"id": id, "name": row.given, "projectPath": a.repo.Dir}, &agent)
		if status != http.StatusCreated || agent.Name != row.agent || value(agent.BranchName) != "agent/"+id {
			t.Errorf("%q: %d %+v", row.given, status, agent)
			continue
		}
		ws, err := a.svc.Workspace(t.Context(), croft.WorkspaceRequest{Repo: croft.ByPath(a.repo.Dir), Ref: croft.ByName(row.workspace)})
		if err != nil || ws.Agent != id {
			t.Errorf("%q: %+v, %v", row.workspace, ws, err)
		}
	}
	var again agents.Agent
	if a.call("GET", "/api/agents/a2", nil, &again); again.Name != "Fix the login!" {
		t.Errorf("%+v", again)
	}
	var p croft.Error
	if status := a.call("POST", "/api/agents", map[string]string{"id": "a b", "name": "x", "projectPath": a.repo.Dir}, &p); status != http.StatusBadRequest || p.Code != croft.InvalidName {
		t.Errorf("%d %+v", status, p)
	}
}

// TestMethods: a path that is there says which methods it takes.
func TestMethods(t *testing.T) {
	a := newApp(t)
	for path, want := range map[string]int{"/api/agents": http.StatusMethodNotAllowed, "/api/events": http.StatusMethodNotAllowed, "/api/none": http.StatusNotFound} {
		var p croft.Error
		if status := a.call("PUT", path, map[string]string{}, &p); status != want || p.Code != croft.InvalidRequest {
			t.Errorf("%s: %d %+v", path, status, p)
		}
	}
}
