//go:build linux

package sandboxtest

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// states returns what the agents of the project have said, in order: "waiting permission: Bash: ls".
func (h host) states(t *testing.T, workspace string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), h.croft, "events", "--json")
	cmd.Dir, cmd.Env = h.repo.Dir, h.repo.Env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("croft events: %v\n%s", err, stderrOf(err))
	}
	var list []string
	for line := range bytes.Lines(out) {
		var answer struct {
			Event croft.Event `json:"event"`
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			t.Fatal(err)
		}
		if ev := answer.Event; ev.Kind == croft.EventWorkspaceReported && ev.After.Workspace.Name == workspace {
			a := ev.After.Workspace.Activity
			text := strings.TrimSpace(string(a.State) + " " + string(a.WaitingFor))
			if a.Note != "" {
				text += ": " + a.Note
			}
			list = append(list, text)
		}
	}
	return list
}

// TestClaudeHooks runs Claude Code itself with the hooks that croft init --claude writes: its worktree is a
// workspace, and the states of its session are told in order, with the permission that it asks for. Then the
// settings are as they were.
func TestClaudeHooks(t *testing.T) {
	h := newRealHost(t)
	h.outside(t, "init", "--claude")
	h.repo.Git("add", ".claude")
	h.repo.Git("commit", "--quiet", "-m", "hooks")
	m := newModel(
		t,
		step{"Bash", `{"command":"echo made > made","description":"work"}`},
		step{"Bash", `{"command":"touch ../outside","description":"ask"}`},
	)
	path := filepath.Dir(h.croft)
	for _, entry := range h.repo.Env {
		if dirs, ok := strings.CutPrefix(entry, "PATH="); ok {
			path += string(filepath.ListSeparator) + dirs
		}
	}
	env := []string{
		"PATH=" + path, "HOME=" + agentHome(t), "ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=scripted", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
	main := filepath.Join("..", filepath.Base(h.repo.Dir))
	out := h.runAgent(t, main, env, "claude", "-p", "go", "--worktree", "feat", "--allowedTools", "Bash(echo:*)", "--output-format", "json")
	states := h.states(t, "feat")
	got := strings.Join(states, ", ")
	for _, want := range []string{"idle, working, ", "waiting permission: Bash: touch ../outside", "idle, ended"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: without %q\n%s", got, want, out)
		}
	}
	if len(states) > 0 && states[0] != "idle" || !strings.HasSuffix(got, "ended") {
		t.Errorf("the states: %s", got)
	}
	h.outside(t, "show", "feat")
	h.outside(t, "init", "--claude", "--undo")
	if status := h.repo.Git("status", "--porcelain"); !strings.Contains(status, "D .claude/settings.json") {
		t.Errorf("after the undo:\n%s", status)
	}
}
