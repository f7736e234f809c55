//go:build linux

package sandboxtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// codexSettings are settings of Codex for a scripted model, with its real sandbox: the workspace can be written, git and
// the directories for temporary files cannot.
func codexSettings(m *model) string {
	return fmt.Sprintf(`model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "workspace-write"
[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
[model_providers.scripted]
name = "scripted"
base_url = %q
wire_api = "responses"
env_key = "SCRIPTED_KEY"
request_max_retries = 0
stream_max_retries = 0
`, m.URL+"/v1")
}

// codexEnv is the environment of Codex, with a home of its own that has these settings.
func codexEnv(t *testing.T, settings string) []string {
	t.Helper()
	home := t.TempDir()
	writeFile(t, filepath.Join(home, "config.toml"), settings)
	return []string{"HOME=" + agentHome(t), "CODEX_HOME=" + home, "SCRIPTED_KEY=x"}
}

// shell is a command that a model has Codex run in its sandbox.
func shell(line string) step { return step{"exec_command", fmt.Sprintf(`{"cmd":%q}`, line)} }

// runUnderCroft runs an agent's own program by croft run in the project, with no terminal.
func (h host) runUnderCroft(t *testing.T, env, flags []string, program string, args ...string) result {
	t.Helper()
	return h.runByCroft(t, env, flags, filepath.Join(h.programs, "node_modules", ".bin", program), args...)
}

// runByCroft runs a program by croft run.
func (h host) runByCroft(t *testing.T, env, flags []string, program string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), agentTime)
	defer cancel()
	words := slices.Concat([]string{"run"}, flags, []string{"--", program}, args)
	cmd := exec.CommandContext(ctx, h.croft, words...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = h.repo.Dir, &out, &errs
	cmd.Env, cmd.WaitDelay = slices.Concat(h.repo.Env, []string{"TMPDIR=" + h.temp}, env), 5*time.Second
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// trustChecks commits checks to the project, and approves them as a person does.
func (h host) trustChecks(t *testing.T, checks string) host {
	t.Helper()
	writeFile(t, filepath.Join(h.repo.Dir, "croft.toml"), "[merge]\nchecks = "+checks+"\n")
	h.repo.Git("add", "croft.toml")
	h.repo.Git("commit", "--quiet", "-m", "checks")
	var answer struct {
		Trust struct {
			Hash string `json:"hash"`
		} `json:"trust"`
	}
	shown := h.beside(t, "config", "trust", "-n", "--json")
	if err := json.Unmarshal([]byte(shown.stdout), &answer); err != nil || answer.Trust.Hash == "" {
		t.Fatalf("croft config trust -n: %v\n%+v", err, shown)
	}
	trusting := h
	repo := *h.repo
	repo.Env = append(slices.Clone(repo.Env), "CROFT_TRUST="+answer.Trust.Hash)
	trusting.repo = &repo
	trusting.outside(t, "config", "trust")
	return h
}

// TestCodexRuns runs Codex itself by croft run, in its own sandbox, where git cannot be written: Croft commits what it
// did, checks it and lands it. What fails its check does not land, and what Codex ends with an error is no success.
func TestCodexRuns(t *testing.T) {
	h := newRealHost(t).trustChecks(t, `["test ! -e bad"]`)
	merge := func(name string) []string { return []string{name, "--merge"} }
	run := func(t *testing.T, name string, script ...step) (result, string) {
		m := newModel(t, script...)
		r := h.runUnderCroft(t, codexEnv(t, codexSettings(m)), merge(name), "codex", "exec", "go")
		return r, strings.Join(m.answers(t), "\n")
	}
	tip := func() string { return strings.TrimSpace(h.repo.Git("rev-parse", "main")) }

	t.Run("lands", func(t *testing.T) {
		r, answers := run(t, "good",
			shell("git add -A && git commit -q --allow-empty -m no && echo COMMITTED"),
			shell("touch ../outside && echo OUTSIDE"),
			shell("echo made > made.txt && mkdir deep && echo more >> README.md && git mv src/main.txt deep/ || mv src/main.txt deep/"))
		if r.exit != 0 || strings.Contains(answers, "COMMITTED\\n") || strings.Contains(answers, "OUTSIDE\\n") {
			t.Fatalf("%+v\n%s", r, answers)
		}
		if got := h.repo.Git("show", "--format=", "--name-status", "-M", "main^2"); !strings.Contains(got, "A\tmade.txt") || !strings.Contains(got, "R100\tsrc/main.txt\tdeep/main.txt") {
			t.Errorf("what landed:\n%s", got)
		}
		if status := h.repo.Git("status", "--porcelain"); status != "" {
			t.Errorf("the project's checkout:\n%s", status)
		}
		if !strings.Contains(r.stdout, "merged") || !strings.Contains(r.stdout, "codex ended after") {
			t.Errorf("it says:\n%s%s", r.stdout, r.stderr)
		}
	})
	t.Run("fails its check", func(t *testing.T) {
		before := tip()
		r, answers := run(t, "bad", shell("echo b > bad"))
		if r.exit == 0 || tip() != before {
			t.Errorf("%+v\n%s", r, answers)
		}
		h.wantListed(t, "bad", "check failed", "test ! -e bad", "croft logs bad")
	})
	t.Run("ends with an error", func(t *testing.T) {
		before := tip()
		m := newModel(t, shell("echo half > half"))
		m.breaksAt = 1
		r := h.runUnderCroft(t, codexEnv(t, codexSettings(m)), merge("broken"), "codex", "exec", "go")
		if r.exit == 0 || tip() != before {
			t.Errorf("%+v\n%s", r, m.answers(t))
		}
		h.wantListed(t, "broken", "failed", "the agent failed", "")
		if got := h.gitOf(t, "broken", "show", "HEAD:half"); got != "half" {
			t.Errorf("its work is not kept: %q", got)
		}
	})
}

// TestClaudesSandboxRuns does the same in the sandbox of Claude Code, where git can be written: what was committed inside
// and what was not is finished, checked and landed, or not.
func TestClaudesSandboxRuns(t *testing.T) {
	h := newRealHost(t).trustChecks(t, `["test ! -e bad"]`)
	run := func(name, line string) result {
		h.outside(t, "new", name)
		settings := filepath.Join(t.TempDir(), "settings.json")
		writeFile(t, settings, h.sandbox(RealClaude, name).srtSettings(t))
		return h.runUnderCroft(t, []string{"TMPDIR=/var/tmp", "CLAUDE_CODE_TMPDIR=" + h.temp}, []string{name, "--merge"}, "srt", "-s", settings, "-c", line)
	}
	r := run("good", "echo made > made.txt && git add made.txt && git commit -q -m inside && echo more > more.txt && ! touch ../outside")
	if got := h.repo.Git("log", "--format=%s", "--name-only", "main"); r.exit != 0 || !strings.Contains(got, "inside\n\nmade.txt") || !strings.Contains(got, "more.txt") {
		t.Errorf("%+v\n%s", r, got)
	}
	before := h.repo.Git("rev-parse", "main")
	if r := run("bad", "echo b > bad && git add bad && git commit -q -m bad"); r.exit == 0 {
		t.Errorf("what fails its check: %+v", r)
	}
	h.wantListed(t, "bad", "check failed", "test ! -e bad", "croft logs bad")
	if r := run("broken", "echo half > half && exit 3"); r.exit != 3 {
		t.Errorf("what failed: %+v", r)
	}
	h.wantListed(t, "broken", "failed", "the agent failed")
	if h.repo.Git("rev-parse", "main") != before {
		t.Error("main was moved")
	}
}

// wantListed fails unless croft list has a workspace with this state, and with these words of why and of what comes next.
func (h host) wantListed(t *testing.T, name string, words ...string) {
	t.Helper()
	list := h.beside(t, "list", "--all")
	for line := range strings.Lines(list.stdout) {
		rest, ok := strings.CutPrefix(line, name+" ")
		if !ok {
			continue
		}
		for _, word := range words {
			if !strings.Contains(rest, word) {
				t.Errorf("%q is not in %s", word, line)
			}
		}
		return
	}
	t.Errorf("there is no %s:\n%s%s", name, list.stdout, list.stderr)
}
