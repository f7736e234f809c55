//go:build linux

package sandboxtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/proc"
)

// newBackgroundHost is a project whose Claude Code runs sessions in the background, by a supervisor that ends with the test.
func newBackgroundHost(t *testing.T, m *talks, more ...string) host {
	t.Helper()
	h := newClaudeHost(t)
	home := agentHome(t)
	config, err := json.Marshal(object{
		"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": object{"approved": []string{"scripted"}},
		"projects": object{h.repo.Dir: object{"hasTrustDialogAccepted": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(home, ".claude.json"), string(config))
	h.repo.Env = slices.Concat(h.repo.Env, m.env(home), []string{"TMPDIR=" + h.temp}, more)
	t.Cleanup(func() { h.claude(t, "daemon", "stop", "--any") })
	return h
}

// claude runs Claude Code in the project, and returns what it printed.
func (h host) claude(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(h.programs, "node_modules", ".bin", "claude"), args...) //nolint:noctx // also when the test is over
	cmd.Dir, cmd.Env = h.repo.Dir, h.repo.Env
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("claude %v: %v\n%s%s", args, err, out, stderrOf(err))
	}
	return string(out)
}

// sessions returns the states of all sessions in the background, by where they work.
func (h host) sessions(t *testing.T) map[string]struct {
	ID, State string
	PID       int
} {
	t.Helper()
	var list []struct {
		ID, State, CWD string
		PID            int
	}
	if err := json.Unmarshal([]byte(h.claude(t, "agents", "--json", "--all")), &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]struct {
		ID, State string
		PID       int
	}{}
	for _, s := range list {
		all[filepath.Base(s.CWD)] = struct {
			ID, State string
			PID       int
		}{s.ID, s.State, s.PID}
	}
	return all
}

// await waits until the workspace is as a test wants it.
func (h host) await(t *testing.T, name string, isSo func(ws croft.Workspace) bool) croft.Workspace {
	t.Helper()
	var ws croft.Workspace
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if ws = h.workspaces(t)[name]; isSo(ws) {
			return ws
		}
	}
	t.Fatalf("%s: run %+v, activity %+v\n%s", name, ws.Run, ws.Activity, h.beside(t, "logs", "--agent", name).stdout)
	return ws
}

// backgroundRun has Claude Code's own supervisor run a task, by croft run.
func (h host) backgroundRun(t *testing.T, name, task string) result {
	t.Helper()
	program := filepath.Join(h.programs, "node_modules", ".bin", "claude")
	return h.beside(t, "run", name, "--", program, "--bg", "--permission-mode", "default", "--allowedTools", "Bash", "--", task)
}

// TestClaudeBackground: croft run has Claude Code's own supervisor run sessions, each in its workspace with its variables, and follows
// them. What is done is finished and its process stopped, croft stop ends one by Claude Code, and neither the supervisor
// nor the other sessions end with it.
func TestClaudeBackground(t *testing.T) {
	m := newTalks(t, map[string][]turn{
		"fix it":  {{bash("echo $CROFT_WORKSPACE $VALUE > fixed; git add -A; git commit -qm fixed")}, {bash("echo more >> fixed")}},
		"go on":   {{bash("setsid -f tail -f /dev/null > /dev/null 2>&1; echo begun > begun; while test ! -e end; do timeout 1 tail -f /dev/null; done")}},
		"another": {{bash("echo begun > begun; while test ! -e end; do timeout 1 tail -f /dev/null; done; echo made > made")}},
	})
	h := newBackgroundHost(t, m, "VALUE=of-the-user")
	if r := h.backgroundRun(t, "long", "go on"); r.exit != 0 {
		t.Fatalf("%+v", r)
	}
	long := h.await(t, "long", func(ws croft.Workspace) bool { return exists(filepath.Join(ws.Path, "begun")) })
	if long.Run.State != croft.RunRunning || long.Lease == nil {
		t.Errorf("run %+v, lease %+v", long.Run, long.Lease)
	}
	if r := h.backgroundRun(t, "other", "another"); r.exit != 0 {
		t.Fatalf("%+v", r)
	}
	other := h.await(t, "other", func(ws croft.Workspace) bool { return exists(filepath.Join(ws.Path, "begun")) })

	if r := h.backgroundRun(t, "fix", "fix it"); r.exit != 0 || !strings.Contains(r.stderr, "in the background") {
		t.Fatalf("%+v", r)
	}
	fix := h.await(t, "fix", func(ws croft.Workspace) bool { return ws.Run != nil && !ws.Run.FinishedAt.IsZero() })
	if fix.Run.How != croft.RunDone || fix.MergeStatus != croft.MergePending || fix.Lease != nil || fix.Activity == nil || fix.Activity.State != croft.AgentEnded {
		t.Errorf("%+v, run %+v, activity %+v", fix, fix.Run, fix.Activity)
	}
	if got := h.gitOf(t, "fix", "show", "HEAD:fixed") + h.gitOf(t, "fix", "status", "--porcelain"); got != string(fix.ID)+" of-the-user\nmore" {
		t.Errorf("%q", got)
	}
	all := h.sessions(t)
	if s := all["fix"]; s.State != "done" || s.PID != 0 {
		t.Errorf("the session that is done: %+v", s)
	}
	if all["long"].PID == 0 || all["other"].PID == 0 {
		t.Errorf("the other sessions: %+v", all)
	}

	if r := h.beside(t, "stop", "long"); r.exit != 0 {
		t.Errorf("%+v", r)
	}
	long = h.await(t, "long", func(ws croft.Workspace) bool { return ws.Run.State == croft.RunEnded })
	all = h.sessions(t)
	if s := all["long"]; long.Run.How != croft.RunKilled || s.State != "stopped" || s.PID != 0 || all["other"].PID == 0 {
		t.Errorf("after the stop: run %+v, sessions %+v", long.Run, all)
	}
	writeFile(t, filepath.Join(other.Path, "end"), "")
	if left, _ := proc.Occupants(long.Path); len(left) > 0 {
		t.Errorf("what it ran goes on: %+v", left)
	}
	other = h.await(t, "other", func(ws croft.Workspace) bool { return ws.Run != nil && !ws.Run.FinishedAt.IsZero() })
	if other.Run.How != croft.RunDone || h.gitOf(t, "other", "show", "HEAD:made") != "made" {
		t.Errorf("%+v", other.Run)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestClaudeBackgroundNotStarted: what Claude Code refuses is said, and no run is left; what Croft cannot do is refused before anything is made.
func TestClaudeBackgroundNotStarted(t *testing.T) {
	h := newBackgroundHost(t, newTalks(t, nil))
	if err := os.Remove(filepath.Join(lookUp(h.repo.Env, "HOME"), ".claude.json")); err != nil {
		t.Fatal(err)
	}
	r := h.backgroundRun(t, "fix", "fix it")
	if r.exit == 0 || !strings.Contains(r.stderr, "Workspace not trusted") {
		t.Errorf("%+v", r)
	}
	if ws := h.workspaces(t)["fix"]; ws.Run == nil || ws.Run.State != croft.RunEnded || ws.Run.How != croft.RunFailed {
		t.Errorf("%+v", ws.Run)
	}
}
