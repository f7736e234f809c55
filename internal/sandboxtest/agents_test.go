//go:build linux

package sandboxtest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// agentTime is how long one run of an agent may take.
const agentTime = 3 * time.Minute

// agentHome makes a home directory with an identity for commits: agents pass few variables on to their servers.
func agentHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	writeFile(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = Agent\n\temail = agent@example.com\n")
	return home
}

// failed is how an error of a tool looks in an answer that is a string in JSON.
const failed = `{\"error\":`

// runAgent runs an agent's own program in a workspace, with a home of its own, and returns what it printed.
func (h host) runAgent(t *testing.T, workspace string, env []string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), agentTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(h.programs, "node_modules", ".bin", program), args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.path(workspace), slices.Concat(h.repo.Env, []string{"TMPDIR=" + h.temp}, env), 5*time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s in %s: %v\n%s", program, workspace, err, out)
	}
	return string(out)
}

// gitOf runs git in a workspace, outside of the agent.
func (h host) gitOf(t *testing.T, workspace string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = h.path(workspace), h.repo.Env
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("git %v in %s: %v: %s", args, workspace, err, stderrOf(err))
	}
	return strings.TrimSpace(string(out))
}

// TestCodexSaves runs Codex itself ten times, with a model that follows a script: it edits, adds, deletes and renames in
// its sandbox, where it cannot commit, and saves and submits by the tools of croft mcp. Nothing is lost, and git is clean.
func TestCodexSaves(t *testing.T) {
	h := newRealHost(t)
	for i := range 10 {
		name := fmt.Sprintf("codex-%d", i)
		h.outside(t, "new", name)
		shell := func(line string) step {
			return step{"exec_command", fmt.Sprintf(`{"cmd":%q}`, line)}
		}
		m := newModel(t,
			shell("git commit -q --allow-empty -m no && echo COMMITTED"),
			shell(fmt.Sprintf("echo %d >> README.md && mkdir -p deep && echo n > deep/new && echo t > third", i)),
			step{"save", `{"message":"first part","key":"k"}`},
			shell("rm README.md && mv src/main.txt moved && mv third fourth && echo e >> deep/new && echo l > last"),
			step{"submit", `{"outcome":"done","summary":"all of it"}`},
			shell("git status --porcelain && echo CLEAN"),
		)
		settings := codexSettings(m) + fmt.Sprintf(`[mcp_servers.croft]
command = %q
args = ["mcp"]
default_tools_approval_mode = "approve"
cwd = %q
env = { CROFT_STATE_DIR = %q }
`, h.croft, h.path(name), h.stateDir())
		out := h.runAgent(t, name, codexEnv(t, settings), "codex", "exec", "--skip-git-repo-check", "go")
		answers := strings.Join(m.answers(t), "\n")
		if strings.Contains(answers, "COMMITTED") || !strings.Contains(answers, "CLEAN") || strings.Contains(answers, failed) {
			t.Errorf("%s: the tools answered\n%s\n%s", name, answers, out)
		}
		if status := h.gitOf(t, name, "status", "--porcelain"); status != "" {
			t.Errorf("%s is not clean:\n%s", name, status)
		}
		if got := h.gitOf(t, name, "ls-tree", "-r", "--name-only", "HEAD"); got != "deep/new\nfourth\nlast\nmoved" {
			t.Errorf("%s has\n%s", name, got)
		}
		if got := h.gitOf(t, name, "show", "HEAD:deep/new") + h.gitOf(t, name, "rev-list", "--count", "main..HEAD"); got != "n\ne2" {
			t.Errorf("%s has %q", name, got)
		}
		if t.Failed() {
			t.Logf("the tools answered\n%s\n%s", answers, out)
			break
		}
	}
}

// TestClaudeCallsEveryTool runs Claude Code itself once, with a model that calls every tool of croft mcp that an agent has.
func TestClaudeCallsEveryTool(t *testing.T) {
	h := newRealHost(t)
	script := []step{
		{"Bash", `{"command":"echo more >> README.md && echo a > added","description":"work"}`},
		{"status", `{}`},
		{"diff", `{}`},
		{"conflicts", `{}`},
		{"report", `{"state":"working","message":"half of it"}`},
		{"save", `{"message":"half of it"}`},
		{"provision", `{}`},
		{"submit", `{"outcome":"done","summary":"all of it"}`},
	}
	m := newModel(t, script...)
	config := filepath.Join(t.TempDir(), "mcp.json")
	writeFile(t, config, fmt.Sprintf(`{"mcpServers":{"croft":{"command":%q,"args":["mcp","--workspace","w"],"env":{"CROFT_STATE_DIR":%q}}}}`, h.croft, h.stateDir()))
	env := []string{
		"HOME=" + agentHome(t), "ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=scripted", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ENABLE_TOOL_SEARCH=false",
	}
	out := h.runAgent(t, "w", env, "claude", "-p", "go", "--mcp-config", config, "--strict-mcp-config", "--allowedTools", "Bash,mcp__croft", "--output-format", "json")
	answers := m.answers(t)
	if len(answers) != len(script) || strings.Contains(strings.Join(answers, ""), failed) {
		t.Errorf("%d of %d tools answered:\n%s\n%s", len(answers), len(script), strings.Join(answers, "\n"), out)
	}
	for _, tool := range m.offered {
		name, ok := strings.CutPrefix(tool, "mcp__croft__")
		if ok && !slices.ContainsFunc(script, func(s step) bool { return s.tool == name }) {
			t.Errorf("the script does not call %s", tool)
		}
	}
	if status := h.gitOf(t, "w", "status", "--porcelain"); status != "" {
		t.Errorf("not clean:\n%s", status)
	}
	if got := h.gitOf(t, "w", "ls-tree", "-r", "--name-only", "HEAD"); !strings.Contains(got, "added") || !strings.Contains(got, "new.txt") {
		t.Errorf("it has\n%s", got)
	}
}
