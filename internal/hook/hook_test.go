package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/croft-sh/croft"
)

// wanted is what each recorded input means. States are followed by what is waited for or how it
// ended, then by the note.
var wanted = map[string]string{
	"claude-create":                     "create feature-auth",
	"claude-create-agent":               "create agent-a1b2c3d4 for a subagent",
	"claude-create-alias-worktree_name": "create feature-auth, 1 remark",
	"claude-create-alias-branch_name":   "create f, 1 remark",
	"claude-create-both":                "create right",
	"claude-create-no-name":             "refused: the hook was given no name",
	"claude-create-null-name":           "refused: the hook was given no name",
	"claude-create-undefined":           "refused: the hook was given no name",
	"claude-create-traversal":           "create ../../etc", // the Service refuses it
	"claude-create-dash":                "create -rf",       // likewise
	"claude-create-extra":               "create x",
	"claude-create-trailing":            "create x",
	"claude-create-crlf":                "create x",
	"claude-create-bom":                 "create x",
	"claude-create-empty":               "refused: the hook was given no input",
	"claude-create-truncated":           "refused: the hook was given no JSON",

	"claude-remove":         "remove /ws",
	"claude-remove-foreign": "remove /home/user", // nothing of Croft's is there
	"claude-remove-inside":  "remove /ws/src",    // likewise

	"claude-state-start":             "idle, begins",
	"claude-state-prompt":            "working",
	"claude-state-tool":              "working",
	"claude-state-big":               "working",
	"claude-state-elsewhere":         "idle in /",
	"claude-state-permission":        `waiting permission "Bash: rm -rf node_modules"`,
	"claude-state-permission-secret": `waiting permission "Bash: curl -H 'Authorization: ***'"`,

	"claude-state-notify-permission_prompt":      "waiting permission",
	"claude-state-notify-idle_prompt":            "idle",
	"claude-state-notify-elicitation_dialog":     `waiting answer "m"`,
	"claude-state-notify-elicitation_url_dialog": `waiting answer "m"`,
	"claude-state-notify-agent_needs_input":      `waiting answer "m"`,
	"claude-state-notify-elicitation_complete":   "working",
	"claude-state-notify-auth_success":           "unchanged",
	"claude-state-notify-agent_completed":        "unchanged",
	"claude-state-notify-some_future_type":       "unchanged",

	"claude-state-stop":                              "idle",
	"claude-state-stop-background":                   `working "1 in background"`,
	"claude-state-stop-old":                          "idle",
	"claude-state-stopfailure-rate_limit":            `waiting limit "rate limit"`,
	"claude-state-stopfailure-overloaded":            `waiting limit "overloaded"`,
	"claude-state-stopfailure-billing_error":         `waiting limit "billing error"`,
	"claude-state-stopfailure-authentication_failed": `waiting credentials "authentication failed"`,
	"claude-state-stopfailure-invalid_request":       `idle "invalid request"`,
	"claude-state-stopfailure-unknown":               `idle "unknown"`,
	"claude-state-subagent-start":                    "unchanged, subagents +1",
	"claude-state-subagent-stop":                     "unchanged, subagents -1",
	"claude-state-end-prompt_input_exit":             "ended succeeded",
	"claude-state-end-other":                         "ended succeeded",
	"claude-state-end-logout":                        "ended succeeded",
	"claude-state-end-clear":                         "unchanged",
	"claude-state-end-resume":                        "unchanged",

	"codex-state-start":                                        "idle, begins",
	"codex-state-permission":                                   `waiting permission "Bash: git push"`,
	"codex-state-stop":                                         "idle",
	"codex-thread-active":                                      "working in ",
	"codex-thread-active-waitingOnApproval":                    "waiting permission in ",
	"codex-thread-active-waitingOnUserInput":                   "waiting answer in ",
	"codex-thread-active-waitingOnApproval-waitingOnUserInput": "waiting permission in ",
	"codex-thread-idle":                                        "idle in ",
	"codex-thread-notLoaded":                                   "unknown in ",
	"codex-thread-systemError":                                 "waiting resource in ",
	"claude-agents-permission-prompt":                          "waiting permission",
	"claude-agents-input-needed":                               "waiting answer",
	"claude-agents-sandbox-request":                            "waiting permission",
	"claude-agents-worker-request":                             "waiting resource",
	"claude-agents-dialog-open":                                "waiting answer",
	"claude-agents-state-working":                              "working",
	"claude-agents-state-blocked":                              "waiting answer",
	"claude-agents-state-done":                                 "ended succeeded",
	"claude-agents-state-failed":                               "ended failed",
	"claude-agents-state-stopped":                              "ended killed",
}

// recorded returns the recorded input of a name. The one with a megabyte is made here.
func recorded(t *testing.T, name string) string {
	t.Helper()
	if name == "claude-state-big" {
		return `{"session_id": "abc123", "cwd": "/ws", "hook_event_name": "PostToolUse", "tool_name": "Write", "tool_input": {"content": "` +
			strings.Repeat("x", 1<<20) + `"}}`
	}
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "{ws}", "/ws")
}

// meaning says what an input means, in the words of wanted.
func meaning(ctx context.Context, name string, in io.Reader) string {
	value, err := Read(ctx, in)
	if err != nil {
		return refusal(err)
	}
	agent := Agent(name[:strings.Index(name, "-")])
	switch {
	case strings.HasPrefix(name, "claude-create"):
		c, err := DecodeCreation(value)
		if err != nil {
			return refusal(err)
		}
		text := "create " + c.Name
		if c.IsSubagent {
			text += " for a subagent"
		}
		if len(c.Remarks) > 0 {
			text += fmt.Sprintf(", %d remark", len(c.Remarks))
		}
		return text
	case strings.HasPrefix(name, "claude-remove"):
		r, err := DecodeRemoval(value)
		if err != nil {
			return refusal(err)
		}
		return "remove " + r.Path
	}
	all := Decode(agent, value)
	if len(all) != 1 {
		return fmt.Sprintf("%d news", len(all))
	}
	return newsText(all[0])
}

func newsText(n News) string {
	text := string(n.State)
	if text == "" {
		text = "unchanged"
	}
	for _, word := range []string{string(n.Need), string(n.Outcome)} {
		if word != "" {
			text += " " + word
		}
	}
	if n.Note != "" {
		text += fmt.Sprintf(" %q", n.Note)
	}
	if n.Dir != "/ws" {
		text += " in " + n.Dir
	}
	if n.Begins {
		text += ", begins"
	}
	if n.Subagents != 0 {
		text += fmt.Sprintf(", subagents %+d", n.Subagents)
	}
	return text
}

func refusal(err error) string {
	if e, ok := errors.AsType[*croft.Error](err); ok && e.Code == croft.InvalidRequest {
		return "refused: " + e.Message
	}
	return "failed: " + err.Error()
}

// open is an input that is not closed, as that of a hook may be.
type open struct {
	io.Reader
	rest chan struct{}
}

func (o open) Read(p []byte) (int, error) {
	n, err := o.Reader.Read(p)
	if err == io.EOF {
		<-o.rest
	}
	return n, err
}

// TestRecorded: every recorded input means what it should: given whole, byte by byte, and on a
// standard input that stays open.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files)+1 != len(wanted) || len(wanted) != 71 {
		t.Errorf("%d files and one more, %d meanings, want 71", len(files), len(wanted))
	}
	for name, want := range wanted {
		t.Run(name, func(t *testing.T) {
			text := recorded(t, name)
			if got := meaning(t.Context(), name, strings.NewReader(text)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if len(text) < 1<<16 {
				if got := meaning(t.Context(), name, iotest.OneByteReader(strings.NewReader(text))); got != want {
					t.Errorf("byte by byte: %s, want %s", got, want)
				}
			}
			if strings.Contains(want, "no input") || strings.Contains(want, "no JSON") {
				return // these end with the input
			}
			rest := make(chan struct{})
			defer close(rest)
			if got := meaning(t.Context(), name, open{strings.NewReader(text), rest}); got != want {
				t.Errorf("with the input left open: %s, want %s", got, want)
			}
		})
	}
}

// TestSubagents: news of a subagent with a worktree of its own, as Claude Code 2.1.325 sends them, are about that worktree and
// that subagent; those of another one leave the state of the session as it is. A worktree that a session leaves has news, too.
func TestSubagents(t *testing.T) {
	for text, want := range map[string]string{
		`{"session_id": "s", "cwd": "/app.croft/agent-a1", "agent_id": "a1", "hook_event_name": "SubagentStart"}`:                                    "s/a1 working in /app.croft/agent-a1, subagents +1",
		`{"session_id": "s", "cwd": "/app.croft/agent-a1-2/sub", "agent_id": "a1", "hook_event_name": "PostToolUse"}`:                                "s/a1 working in /app.croft/agent-a1-2/sub",
		`{"session_id": "s", "cwd": "/app.croft/agent-a1", "agent_id": "a1", "hook_event_name": "SubagentStop"}`:                                     "s/a1 ended succeeded in /app.croft/agent-a1, subagents -1",
		`{"session_id": "s", "cwd": "/app.croft/agent-a1", "agent_id": "a12", "hook_event_name": "SubagentStop"}`:                                    "s unchanged in /app.croft/agent-a1, subagents -1",
		`{"session_id": "s", "cwd": "/app.croft/fix", "agent_id": "a1", "hook_event_name": "SubagentStop"}`:                                          "s unchanged in /app.croft/fix, subagents -1",
		`{"session_id": "s", "cwd": "/app.croft/fix", "agent_id": "a1", "hook_event_name": "PostToolUse"}`:                                           "s working in /app.croft/fix",
		`{"session_id": "s", "cwd": "/app", "hook_event_name": "PostToolUse", "tool_name": "ExitWorktree", "tool_response": {"worktreePath": "/w"}}`: "s working in /app; s idle in /w",
	} {
		var got []string
		for _, n := range Decode(Claude, json.RawMessage(text)) {
			got = append(got, n.Session+" "+newsText(n))
		}
		if text := strings.Join(got, "; "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

// TestReadEnds: an input without a whole value is given up in time, and one without an end is
// not read to its end.
func TestReadEnds(t *testing.T) {
	for _, text := range []string{"", `{"cwd": "`} {
		rest := make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := Read(ctx, open{strings.NewReader(text), rest})
		cancel()
		close(rest)
		if refusal(err) != "refused: the hook was given no whole JSON value in time" {
			t.Errorf("%q: %v", text, err)
		}
	}
	endless := io.MultiReader(strings.NewReader(`{"a": "`), zeros{})
	if _, err := Read(t.Context(), endless); refusal(err) != "refused: the hook was given no JSON" {
		t.Errorf("without an end: %v", err)
	}
}

// zeros is text without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// TestHostileInput: values of other kinds than expected mean nothing, and nothing panics.
func TestHostileInput(t *testing.T) {
	for _, text := range []string{
		`null`, `1`, `"x"`, `[]`, `{}`, `{"hook_event_name": 7}`, `{"hook_event_name": ["Stop"]}`, `{"HOOK_EVENT_NAME": "Stop"}`,
		`{"method": "thread/status/changed"}`, `{"method": "thread/status/changed", "params": {"status": {"type": "active", "activeFlags": 3}}}`,
	} {
		for _, agent := range []Agent{Claude, Codex} {
			for _, n := range Decode(agent, json.RawMessage(text)) {
				if n.State != "" && n.State != croft.AgentWorking {
					t.Errorf("%s of %s: %s", text, agent, n.State)
				}
			}
		}
		if _, err := DecodeCreation(json.RawMessage(text)); err == nil {
			t.Errorf("%s makes a workspace", text)
		}
		if _, err := DecodeRemoval(json.RawMessage(text)); err == nil {
			t.Errorf("%s removes a workspace", text)
		}
	}
}

// TestNotes: a note has one line, no control characters, no secrets, and an end.
func TestNotes(t *testing.T) {
	permission := func(tool string, input any) string {
		raw, err := json.Marshal(map[string]any{"hook_event_name": "PermissionRequest", "tool_name": tool, "tool_input": input})
		if err != nil {
			t.Fatal(err)
		}
		n := Decode(Claude, raw)[0]
		return string(n.Need) + " " + n.Note
	}
	command := func(text string) string { return permission("Bash", map[string]any{"command": text}) }
	for _, c := range [][2]string{
		{command("a\x1b[31m\n\tb\u202ec"), "permission Bash: a\ufffd[31m b\ufffdc"},
		{command("git log"), "permission Bash: git log"},
		{command("git show 0123456789abcdef0123456789abcdef01234567"), "permission Bash: git show 0123456789abcdef0123456789abcdef01234567"},
		{command("export API_TOKEN=abc npm i"), "permission Bash: export API_TOKEN=*** npm i"},
		{command(`mysql --password "a b" db`), "permission Bash: mysql --password *** db"},
		{command("git clone https://ada:hunter2@example.org/x"), "permission Bash: git clone https://***@example.org/x"},
		{command("curl -u ada:hunter2 x"), "permission Bash: curl -u ada:*** x"},
		{command("echo ghp_0123456789abcdefABCD sk-ant-api03-abcdefghijkl AKIAIOSFODNN7EXAMPLE"), "permission Bash: echo *** *** ***"},
		{command("x eyJhbGciOiJI.eyJzdWIiOiIx.c2ln"), "permission Bash: x ***"},
		{command("echo '-----BEGIN RSA PRIVATE KEY-----\nabc'"), "permission Bash: echo '***"},
		{command(strings.Repeat("x", 500)), "permission Bash: " + strings.Repeat("x", 119) + "…"},
		{permission("Write", map[string]any{"content": "c", "file_path": "/a/b.go"}), "permission Write: /a/b.go"},
		{permission("shell", map[string]any{"command": []string{"git", "push"}}), "permission shell: git push"},
		{permission("mcp__x__y", map[string]any{"z": 1}), "permission mcp__x__y"},
		{permission("AskUserQuestion", map[string]any{"questions": []any{map[string]any{"question": "Postgres or SQLite?"}}}), "answer Postgres or SQLite?"},
		{permission("AskUserQuestion", map[string]any{"questions": []any{map[string]any{"question": "a?"}, 1}}), "answer a? (and 1 more)"},
		{permission("AskUserQuestion", nil), "answer a question"},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
	for _, text := range []string{strings.Repeat("é", 5000), strings.Repeat("\xff", 5000), strings.Repeat("a ", 5000)} {
		if n := note(text); len(n) > croft.MaxNote || n == "" {
			t.Errorf("a note of %d bytes", len(n))
		}
	}
}
