//go:build linux

package sandboxtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// appServer is Codex itself as its own terminal view and editors talk to it: JSON, a value a line.
type appServer struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Scanner
	asks func(method string) any // answers what the server asks its user
	id   int
}

// startAppServer starts Codex in a directory. It ends with the test.
func (h host) startAppServer(t *testing.T, env []string, asks func(string) any) *appServer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), agentTime)
	cmd := exec.CommandContext(ctx, filepath.Join(h.programs, "node_modules", ".bin", "codex"), "app-server")
	cmd.Dir, cmd.Env, cmd.WaitDelay = h.repo.Dir, slices.Concat(h.repo.Env, []string{"TMPDIR=" + h.temp}, env), 5*time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // it ends by that, with its sessions
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		cancel()
	})
	s := &appServer{t: t, in: in, out: bufio.NewScanner(out), asks: asks}
	s.out.Buffer(nil, 16<<20)
	s.call("initialize", object{"clientInfo": object{"name": "croft-test", "version": "1"}})
	s.send(object{"method": "initialized"})
	return s
}

func (s *appServer) send(value object) {
	s.t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		_, err = fmt.Fprintf(s.in, "%s\n", text)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// message is what Codex says: an answer, a question or a notification.
type message struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// until reads what Codex says until a message is the one, and answers its questions meanwhile.
func (s *appServer) until(isIt func(message) bool) message {
	s.t.Helper()
	for s.out.Scan() {
		var m message
		if err := json.Unmarshal(s.out.Bytes(), &m); err != nil {
			s.t.Fatalf("%v: %s", err, s.out.Text())
		}
		if m.ID != nil && m.Method != "" {
			s.send(object{"id": m.ID, "result": s.asks(m.Method)})
		}
		if isIt(m) {
			return m
		}
	}
	s.t.Fatalf("Codex has ended: %v", s.out.Err())
	return message{}
}

func (s *appServer) call(method string, params any) json.RawMessage {
	s.t.Helper()
	s.id++
	id := s.id
	s.send(object{"id": id, "method": method, "params": params})
	m := s.until(func(m message) bool { return m.Method == "" && m.ID == float64(id) })
	if m.Error != nil {
		s.t.Fatalf("%s: %s", method, m.Error)
	}
	return m.Result
}

// codexHook is a hook as Codex knows it.
type codexHook struct {
	Key, CurrentHash, TrustStatus, SourcePath string
}

// hooks returns the hooks that Codex has for a directory.
func (s *appServer) hooks(dir string) (list []codexHook) {
	s.t.Helper()
	var answer struct {
		Data []struct {
			Hooks    []codexHook
			Warnings []string
			Errors   []json.RawMessage
		}
	}
	if err := json.Unmarshal(s.call("hooks/list", object{"cwds": []string{dir}}), &answer); err != nil {
		s.t.Fatal(err)
	}
	for _, entry := range answer.Data {
		if len(entry.Warnings)+len(entry.Errors) > 0 {
			s.t.Errorf("Codex says of the hooks: %s %s", entry.Warnings, entry.Errors)
		}
		list = append(list, entry.Hooks...)
	}
	return list
}

// trustHooks has Codex trust the hooks of the project, as its user does by /hooks: by the hash of each, in the settings.
func (h host) trustHooks(t *testing.T, env []string, workspace string) {
	t.Helper()
	s := h.startAppServer(t, env, nil)
	var edits []object
	for _, hook := range s.hooks(h.path(workspace)) {
		if hook.TrustStatus != "untrusted" || hook.SourcePath != filepath.Join(h.repo.Dir, ".codex", "hooks.json") {
			t.Errorf("before: %+v", hook)
		}
		edits = append(edits, object{"keyPath": "hooks.state", "value": object{hook.Key: object{"trusted_hash": hook.CurrentHash}}, "mergeStrategy": "upsert"})
	}
	if len(edits) != 8 {
		t.Fatalf("Codex found %d hooks", len(edits))
	}
	s.call("config/batchWrite", object{"edits": edits})
	for _, hook := range s.hooks(h.path(workspace)) {
		if hook.TrustStatus != "trusted" {
			t.Errorf("afterwards: %+v", hook)
		}
	}
}

// newCodexHooksHost has a project with the hooks of croft init --codex, which Codex trusts, and a workspace x. The hooks are not trusted yet.
func newCodexHooksHost(t *testing.T, m *model) (h host, env []string) {
	t.Helper()
	h = newRealHost(t)
	h.outside(t, "init", "--codex")
	h.repo.Git("add", ".codex")
	h.repo.Git("commit", "--quiet", "-m", "hooks")
	h.outside(t, "new", "x")
	env = codexEnv(t, codexSettings(m)+fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"\n", h.repo.Dir))
	path := filepath.Dir(h.croft)
	for _, entry := range h.repo.Env {
		if dirs, ok := strings.CutPrefix(entry, "PATH="); ok {
			path += string(filepath.ListSeparator) + dirs
		}
	}
	return h, append(env, "PATH="+path)
}

// TestCodexHooks runs Codex itself with the hooks that croft init --codex writes. They do not run before a person has trusted
// them; then the states of a session are told in order.
func TestCodexHooks(t *testing.T) {
	m := newModel(t, shell("echo made > made"), shell("echo more >> made"))
	h, env := newCodexHooksHost(t, m)
	run := func() string {
		r := h.runUnderCroft(t, env, []string{"x", "--no-finish"}, "codex", "exec", "go")
		if r.exit != 0 {
			t.Errorf("%+v", r)
		}
		return strings.Join(h.states(t, "x"), ", ")
	}
	if got := run(); strings.Contains(got, "idle") {
		t.Errorf("untrusted hooks have run: %s", got)
	}
	h.trustHooks(t, env, "x")
	before := len(h.states(t, "x"))
	run()
	if got := strings.Join(h.states(t, "x")[before:], ", "); got != "idle, working, idle, ended" {
		t.Errorf("the states: %s", got)
	}
	if got := h.gitOf(t, "x", "status", "--porcelain"); got != "?? made" {
		t.Errorf("the workspace:\n%s", got)
	}
	h.outside(t, "init", "--codex", "--undo")
	if got := h.repo.Git("status", "--porcelain"); got != " D .codex/config.toml\n D .codex/hooks.json" {
		t.Errorf("after the undo: %q", got)
	}
}

// TestCodexAsks has Codex ask for a permission, as it does in its terminal view and in editors: the list says so, until
// the answer.
func TestCodexAsks(t *testing.T) {
	m := newModel(t, step{"exec_command", `{"cmd":"touch ../outside","sandbox_permissions":"require_escalated","justification":"beyond the workspace"}`}, shell("echo made > made"))
	h, env := newCodexHooksHost(t, m)
	h.trustHooks(t, env, "x")
	asked := ""
	s := h.startAppServer(t, env, func(method string) any {
		asked = method
		h.wantListed(t, "x", "waiting", "it asks for permission", "touch ../outside")
		if list := h.beside(t, "list", "--needs-me"); !strings.Contains(list.stdout, "\nx ") {
			t.Errorf("who needs a person:\n%s", list.stdout)
		}
		return object{"decision": "accept"}
	})
	var begun struct{ Thread struct{ ID string } }
	if err := json.Unmarshal(s.call("thread/start", object{"cwd": h.path("x"), "approvalPolicy": "on-request", "sandbox": "workspace-write"}), &begun); err != nil {
		t.Fatal(err)
	}
	s.call("turn/start", object{"threadId": begun.Thread.ID, "input": []object{{"type": "text", "text": "go"}}})
	s.until(func(m message) bool { return m.Method == "turn/completed" })
	got := strings.Join(h.states(t, "x"), ", ")
	if asked != "item/commandExecution/requestApproval" || !strings.HasPrefix(got, "idle, working, waiting permission: ") || !strings.HasSuffix(got, ", working, idle") {
		t.Errorf("asked %q; the states: %s\n%s", asked, got, m.answers(t))
	}
}
