//go:build linux

package sandboxtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/proc"
)

// The sandboxes of the agents themselves. .ci/agents installs their programs.
const (
	// RealCodex is "codex sandbox" with writing in the workspace allowed.
	RealCodex Kind = "codex's own"
	// RealClaude is "srt", the sandbox that Claude Code runs shell commands in.
	RealClaude Kind = "claude's own"
)

// RealKinds are the sandboxes of the agents themselves.
func RealKinds() []Kind { return []Kind{RealCodex, RealClaude} }

// Programs returns the directory that .ci/agents has installed the agents in, if long tests are asked for: without
// CROFT_LONG it skips the test, and with it a directory that is missing is a failure.
func Programs(t *testing.T) string {
	t.Helper()
	if variable("CROFT_LONG") == "" {
		t.Skip("the agents' own programs are run with CROFT_LONG=1")
	}
	dir := variable("CROFT_AGENTS")
	if dir == "" {
		t.Fatal("CROFT_AGENTS does not name the directory that .ci/agents has installed the agents in")
	}
	for _, name := range []string{"codex", "srt", "claude"} {
		if _, err := exec.LookPath(filepath.Join(dir, "node_modules", ".bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bwrap", "rg", "socat"} { // srt needs them
		if _, err := exec.LookPath(name); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func variable(name string) string {
	for _, kv := range slices.Backward(proc.Environ()) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// realCommand returns a command that an agent's own sandbox runs.
func (s Sandbox) realCommand(ctx context.Context, t *testing.T, args []string) *exec.Cmd {
	t.Helper()
	program := func(name string) string { return filepath.Join(s.Programs, "node_modules", ".bin", name) }
	var cmd *exec.Cmd
	switch s.Kind {
	case RealCodex:
		home := t.TempDir()
		flags := []string{"sandbox", "-c", `sandbox_mode="workspace-write"`, "-c", "sandbox_workspace_write.exclude_slash_tmp=true"}
		if len(s.Hidden) > 0 {
			flags = []string{"sandbox", "-P", "hides"}
			writeFile(t, filepath.Join(home, "config.toml"), s.codexProfile())
		}
		cmd = exec.CommandContext(ctx, program("codex"), slices.Concat(flags, []string{"--"}, args)...)
		cmd.Env = append(slices.Clone(s.Env), "CODEX_HOME="+home, "TMPDIR="+s.Temp)
	case RealClaude:
		settings := filepath.Join(t.TempDir(), "settings.json")
		writeFile(t, settings, s.srtSettings(t))
		words := make([]string, len(args))
		for i, arg := range args {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		cmd = exec.CommandContext(ctx, program("srt"), "-s", settings, "-c", strings.Join(words, " "))
		// srt has its sockets in the first, whose names must be short, and gives the second to the command.
		cmd.Env = append(slices.Clone(s.Env), "TMPDIR=/var/tmp", "CLAUDE_CODE_TMPDIR="+s.Temp)
	default:
		t.Fatalf("there is no sandbox %q", s.Kind)
	}
	cmd.Dir = s.Dir
	return cmd
}

// codexProfile is a profile of permissions that hides directories.
func (s Sandbox) codexProfile() string {
	var text strings.Builder
	text.WriteString("default_permissions = \"hides\"\n[permissions.hides.filesystem]\n\":root\" = \"read\"\n")
	for _, dir := range []string{s.Dir, s.Temp} {
		fmt.Fprintf(&text, "%q = \"write\"\n", dir)
	}
	for _, dir := range s.Hidden {
		fmt.Fprintf(&text, "%q = \"none\"\n", dir)
	}
	return text.String()
}

// srtSettings allows what Claude Code allows: the workspace, and its repository but for hooks and configuration.
func (s Sandbox) srtSettings(t *testing.T) string {
	t.Helper()
	_, common := gitDirs(s.Dir)
	type list = []string
	text, err := json.Marshal(map[string]any{
		"network": map[string]list{"allowedDomains": {}, "deniedDomains": {}},
		"filesystem": map[string]list{
			"denyRead": append(list{}, s.Hidden...), "allowWrite": {s.Dir, s.Temp, common},
			"denyWrite": {filepath.Join(common, "hooks"), filepath.Join(common, "config")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
