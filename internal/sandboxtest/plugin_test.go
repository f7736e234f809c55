//go:build linux

package sandboxtest

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestClaudePlugin runs Claude Code itself with the plugin folder, in a project without any settings of Croft's: its worktree is a
// workspace, its states are told, and it has the tools.
func TestClaudePlugin(t *testing.T) {
	h := newRealHost(t)
	plugin, err := filepath.Abs(filepath.Join("..", "..", "plugins", "croft-claude"))
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(t, step{"Bash", `{"command":"echo made > made","description":"work"}`})
	path := filepath.Dir(h.croft)
	for _, entry := range h.repo.Env {
		if dirs, ok := strings.CutPrefix(entry, "PATH="); ok {
			path += string(filepath.ListSeparator) + dirs
		}
	}
	env := []string{
		"PATH=" + path, "HOME=" + agentHome(t), "ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=scripted", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ENABLE_TOOL_SEARCH=false",
	}
	main := filepath.Join("..", filepath.Base(h.repo.Dir))
	out := h.runAgent(t, main, env, "claude", "-p", "go", "--worktree", "feat", "--plugin-dir", plugin, "--allowedTools", "Bash", "--output-format", "json")
	if got := strings.Join(h.states(t, "feat"), ", "); got != "idle, working, idle, ended" {
		t.Errorf("the states: %s\n%s", got, out)
	}
	if status := h.gitOf(t, "feat", "status", "--porcelain"); status != "?? made" {
		t.Errorf("the workspace:\n%s", status)
	}
	if len(m.answers(t)) != 1 || !strings.Contains(strings.Join(m.offered, " "), "croft__save") {
		t.Errorf("the tools: %v", m.offered)
	}
}
