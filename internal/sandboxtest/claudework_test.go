//go:build linux

package sandboxtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
)

// newClaudeHost is a project whose sessions of Claude Code call Croft's hooks.
func newClaudeHost(t *testing.T) host {
	t.Helper()
	h := newRealHost(t)
	h.repo.Env = append(h.repo.Env, "CROFT_LEASE_TTL=1s", "PATH="+filepath.Dir(h.croft)+string(filepath.ListSeparator)+lookUp(h.repo.Env, "PATH"))
	h.outside(t, "init", "--claude")
	h.repo.Git("add", ".claude")
	h.repo.Git("commit", "--quiet", "-m", "hooks")
	return h
}

func lookUp(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// mainCheckout is how runAgent reaches the project's own checkout.
func (h host) mainCheckout() string { return filepath.Join("..", filepath.Base(h.repo.Dir)) }

// workspaces lists the workspaces, but for those that every host has.
func (h host) workspaces(t *testing.T, flags ...string) map[string]croft.Workspace {
	t.Helper()
	res := h.beside(t, append([]string{"list", "--json", "--full"}, flags...)...)
	var answer struct {
		Workspaces []croft.Workspace `json:"workspaces"`
	}
	if err := json.Unmarshal([]byte(res.stdout), &answer); err != nil {
		t.Fatalf("%v\n%s%s", err, res.stdout, res.stderr)
	}
	list := map[string]croft.Workspace{}
	for _, ws := range answer.Workspaces {
		if ws.Name != "w" && ws.Name != "iso" {
			list[ws.Name] = ws
		}
	}
	return list
}

// events returns the kinds of the events of a workspace.
func (h host) events(t *testing.T, workspace string) []string {
	t.Helper()
	var list []string
	for line := range bytes.Lines([]byte(h.beside(t, "events", "--json").stdout)) {
		var answer struct {
			Event croft.Event `json:"event"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatal(err)
		}
		if after := answer.Event.After; after != nil && after.Workspace != nil && after.Workspace.Name == workspace {
			list = append(list, answer.Event.Kind)
		}
	}
	return list
}

// bash is a step that runs a command.
func bash(command string) step {
	return step{"Bash", fmt.Sprintf(`{"command":%q,"description":"work"}`, command)}
}

// TestClaudeSubagents: Claude Code starts 8 subagents at once, each with a worktree of its own. Each has a workspace, with
// its work and nobody else's. After the session upkeep removes the workspaces that hold nothing which would be lost, and no others.
func TestClaudeSubagents(t *testing.T) {
	h := newClaudeHost(t)
	before := h.repo.Git("rev-parse", "HEAD")
	var first turn
	scripts := map[string][]turn{}
	for i := range 8 {
		task := fmt.Sprintf("task-number-%d", i)
		first = append(first, step{"Agent", fmt.Sprintf(`{"description":"part %d","prompt":%q,"subagent_type":"general-purpose","isolation":"worktree"}`, i, task)})
		work := fmt.Sprintf("pwd; echo %d > part-%d", i, i)
		switch i {
		case 6: // it commits nothing
		case 7:
			work = "pwd" // it does nothing
		default:
			work += fmt.Sprintf("; git add -A; git commit -qm part-%d", i)
		}
		scripts[task] = []turn{{bash(work)}}
	}
	scripts["do it in parts"] = []turn{first}
	m := newTalks(t, scripts)
	out := h.runAgent(t, h.mainCheckout(), m.env(agentHome(t)), "claude", "-p", "do it in parts", "--allowedTools", "Bash,Agent", "--output-format", "json")

	all := h.workspaces(t)
	if len(all) != 8 {
		t.Fatalf("%d workspaces: %v\n%s", len(all), all, out)
	}
	names := make([]string, 8)
	for i := range names {
		answer := m.answers(fmt.Sprintf("task-number-%d", i))
		for name, ws := range all {
			if strings.Contains(answer, ws.Path) {
				names[i] = name
			}
		}
		ws := all[names[i]]
		if ws.Role != croft.RoleSubagent || ws.Agent != "claude" || ws.Activity == nil || ws.Activity.State != croft.AgentEnded {
			t.Errorf("part %d: %q, role %q of %q, %+v\n%s", i, ws.Name, ws.Role, ws.Agent, ws.Activity, answer)
			continue
		}
		if states := h.states(t, names[i]); !slices.Equal(states, []string{"working", "ended"}) {
			t.Errorf("part %d: %v", i, states)
		}
		files, err := filepath.Glob(filepath.Join(ws.Path, "part-*"))
		if want := filepath.Join(ws.Path, fmt.Sprintf("part-%d", i)); err != nil || i < 7 && !slices.Equal(files, []string{want}) || i == 7 && len(files) > 0 {
			t.Errorf("part %d has %v", i, files)
		}
		if count := h.gitOf(t, names[i], "rev-list", "--count", "main..HEAD"); i < 6 && count != "1" || i >= 6 && count != "0" {
			t.Errorf("part %d has %s commits", i, count)
		}
	}
	if t.Failed() {
		t.Fatalf("%v\n%s", names, out)
	}
	if status := h.repo.Git("status", "--porcelain"); strings.TrimSpace(status) != "" || h.repo.Git("rev-parse", "HEAD") != before {
		t.Errorf("the project's own checkout: %s", status)
	}

	h.outside(t, "merge", "--keep", names[0])
	left := names[1:7]
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		h.outside(t, "reap", "--yes")
		if all = h.workspaces(t); len(all) == len(left) || time.Now().After(end) {
			break
		}
	}
	h.outside(t, "reap", "--yes")
	if all = h.workspaces(t); len(all) != len(left) {
		t.Errorf("%d workspaces are left", len(all))
	}
	for i, name := range left {
		if all[name].Path == "" || h.gitOf(t, name, "rev-parse", "HEAD") == "" {
			t.Errorf("part %d is gone", i+1)
		}
	}
}

// TestClaudeRemovesWorktrees: a session enters worktrees and leaves them. What holds nothing, and what is merged, goes to the
// trash; a worktree with work stays, also if the session would discard it.
func TestClaudeRemovesWorktrees(t *testing.T) {
	h := newClaudeHost(t)
	enter := func(name string) turn { return turn{{"EnterWorktree", fmt.Sprintf(`{"name":%q}`, name)}} }
	discard := turn{{"ExitWorktree", `{"action":"remove","discard_changes":true}`}}
	m := newTalks(t, map[string][]turn{"in and out": {
		enter("nothing"),
		{bash("pwd")},
		discard,
		enter("landed"),
		{bash("echo l > landed && git add -A && git commit -qm landed && croft merge --keep landed")},
		discard,
		enter("ahead"),
		{bash("echo a > ahead && git add -A && git commit -qm ahead")},
		discard,
		enter("dirty"),
		{bash("echo d > dirty")},
		discard,
		enter("later"),
		{bash("echo l > later")},
		{{"ExitWorktree", `{"action":"keep"}`}},
		{bash("pwd")},
	}})
	out := h.runAgent(t, h.mainCheckout(), m.env(agentHome(t)), "claude", "-p", "in and out", "--allowedTools", "Bash,EnterWorktree,ExitWorktree", "--output-format", "json")
	all := h.workspaces(t)
	for name, isLeft := range map[string]bool{"nothing": false, "landed": false, "ahead": true, "dirty": true, "later": true} {
		events := h.events(t, name)
		if _, ok := all[name]; ok != isLeft || slices.Contains(events, croft.EventWorkspaceRemoved) == isLeft {
			t.Errorf("%s: there %v, %v", name, ok, events)
		}
		if wasTold := slices.Contains(events, croft.EventWorkspaceLeft); wasTold != (isLeft && name != "later") {
			t.Errorf("%s: left %v, %v", name, wasTold, events)
		}
		if a := all[name].Activity; isLeft && (a == nil || a.State != croft.AgentEnded) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if states := h.states(t, "later"); !slices.Equal(states, []string{"working", "idle", "ended"}) {
		t.Errorf("later: %v", states)
	}
	if t.Failed() {
		t.Logf("%s\n%s", m.answers("in and out"), out)
	}
	if text, err := os.ReadFile(filepath.Join(h.path("dirty"), "dirty")); err != nil || string(text) != "d\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestClaudeUnderRun: croft run starts Claude Code, knows its states, and finishes its work.
func TestClaudeUnderRun(t *testing.T) {
	h := newClaudeHost(t)
	m := newTalks(t, map[string][]turn{"fix it": {{bash("echo fixed > fixed; git add -A; git commit -qm fixed")}, {bash("echo more >> fixed")}}})
	program := filepath.Join(h.programs, "node_modules", ".bin", "claude")
	h.repo.Env = append(h.repo.Env, m.env(agentHome(t))...)
	h.repo.Env = append(h.repo.Env, "TMPDIR="+h.temp)
	res := h.beside(t, "run", "fix", "--", program, "-p", "fix it", "--allowedTools", "Bash", "--output-format", "json")
	if res.exit != 0 || !strings.Contains(res.stdout, `"is_error":false`) {
		t.Fatalf("%+v", res)
	}
	ws := h.workspaces(t)["fix"]
	if ws.Run == nil || ws.Run.State != croft.RunEnded || ws.Run.Status != 0 || ws.MergeStatus != croft.MergePending || ws.Lease != nil {
		t.Errorf("%+v, run %+v", ws, ws.Run)
	}
	if got := h.gitOf(t, "fix", "show", "HEAD:fixed") + h.gitOf(t, "fix", "status", "--porcelain"); got != "fixed\nmore" {
		t.Errorf("%q", got)
	}
	if states := strings.Join(h.states(t, "fix"), ", "); !strings.Contains(states, "idle, working, idle, ended") {
		t.Errorf("%s", states)
	}
	h.outside(t, "merge", "fix")
	if text := h.repo.Git("show", "main:fixed"); text != "fixed\nmore" {
		t.Errorf("main has %q", text)
	}
}

// TestClaudeUndo: what init wrote is taken out again, to the byte, and a directory that it made goes.
func TestClaudeUndo(t *testing.T) {
	h := newRealHost(t)
	before := h.files(t)
	h.outside(t, "init", "--claude", "--allow-outside")
	h.outside(t, "init", "--claude", "--undo", "--allow-outside")
	if _, err := os.Lstat(filepath.Join(h.repo.Dir, ".claude")); !os.IsNotExist(err) {
		t.Errorf(".claude: %v", err)
	}
	settings := filepath.Join(h.repo.Dir, ".claude", "settings.json")
	own := "{\n\t\"hooks\": {\"Stop\": [ {\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]} ]},\n\n  \"model\" : \"x\"}"
	if err := os.Mkdir(filepath.Dir(settings), 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, settings, own)
	h.outside(t, "init", "--claude")
	m := newTalks(t, map[string][]turn{"just look": {{bash("pwd")}}})
	h.repo.Env = append(h.repo.Env, "PATH="+filepath.Dir(h.croft)+string(filepath.ListSeparator)+lookUp(h.repo.Env, "PATH"))
	h.runAgent(t, "w", m.env(agentHome(t)), "claude", "-p", "just look", "--allowedTools", "Bash", "--output-format", "json", "--settings", settings)
	if states := h.states(t, "w"); len(states) == 0 || states[len(states)-1] != "ended" {
		t.Errorf("%v", states)
	}
	h.outside(t, "init", "--claude", "--undo")
	if text, err := os.ReadFile(settings); err != nil || string(text) != own {
		t.Errorf("%q, %v", text, err)
	}
	if err := os.RemoveAll(filepath.Dir(settings)); err != nil {
		t.Fatal(err)
	}
	for path := range h.files(t) {
		if _, ok := before[path]; !ok && strings.HasPrefix(path, h.repo.Dir+string(filepath.Separator)) {
			t.Errorf("%s is left", path)
		}
	}
}
