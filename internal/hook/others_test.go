package hook

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestOthers: what inputs mean that Gemini CLI 0.61.0 and opencode 1.18.33 gave, shortened, and those that Cursor is said to
// give.
func TestOthers(t *testing.T) {
	const gemini = `{"session_id":"9f","transcript_path":"/t","cwd":"/ws","timestamp":"2026-11-18T16:11:28.415Z","hook_event_name":`
	const opencode = `{"cwd":"/ws","id":"evt_1","type":`
	const cursor = `{"conversation_id":"c1","generation_id":"g","workspace_roots":["/ws","/other"],"hook_event_name":`
	long := strings.Repeat("x", 5000)
	for _, tt := range []struct {
		agent       Agent
		input, want string
	}{
		{Gemini, gemini + `"SessionStart","source":"startup"}`, "idle, begins, 9f"},
		{Gemini, gemini + `"BeforeAgent","prompt":"go"}`, "working, 9f"},
		{Gemini, gemini + `"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"ls"}}`, "working, 9f"},
		{Gemini, gemini + `"AfterTool","tool_name":"run_shell_command","tool_input":{"command":"ls"},"tool_response":{}}`, "working, 9f"},
		{Gemini, gemini + `"Notification","notification_type":"ToolPermission","message":"Tool Shell requires execution","details":{"type":"exec","command":"rm -rf x","rootCommand":"rm"}}`, "waiting permission, 9f: rm -rf x"},
		{Gemini, gemini + `"Notification","notification_type":"ToolPermission","message":"asks","details":7}`, "waiting permission, 9f: asks"},
		{Gemini, gemini + `"Notification","notification_type":"Another"}`, ", 9f"},
		{Gemini, gemini + `"AfterAgent","prompt":"go","prompt_response":"done","stop_hook_active":false}`, "idle, 9f"},
		{Gemini, gemini + `"SessionEnd","reason":"exit"}`, "ended succeeded, 9f"},
		{Gemini, gemini + `"SessionEnd","reason":"clear"}`, ", 9f"},
		{Gemini, gemini + `"PreCompress"}`, ", 9f"},

		{Opencode, opencode + `"session.created","properties":{"sessionID":"ses_1","info":{"id":"ses_1"}}}`, "idle, begins, ses_1"},
		{Opencode, opencode + `"session.status","properties":{"sessionID":"ses_1","status":{"type":"busy"}}}`, "working, ses_1"},
		{Opencode, opencode + `"session.status","properties":{"sessionID":"ses_1","status":{"type":"retry","attempt":1}}}`, "waiting limit, ses_1"},
		{Opencode, opencode + `"session.status","properties":{"sessionID":"ses_1","status":{"type":"idle"}}}`, "idle, ses_1"},
		{Opencode, opencode + `"permission.asked","properties":{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["echo made > made"],"metadata":{"command":"echo made > made"}}}`, "waiting permission, ses_1: bash: echo made > made"},
		{Opencode, opencode + `"permission.asked","properties":{"sessionID":"ses_1","permission":"edit","patterns":["a.go"]}}`, "waiting permission, ses_1: edit: a.go"},
		{Opencode, opencode + `"permission.asked","properties":{"sessionID":"ses_1","permission":"bash","metadata":{"command":"curl -H 'Authorization: Bearer abcdefghijklmnop'"}}}`, "waiting permission, ses_1: bash: curl -H 'Authorization: ***'"},
		{Opencode, opencode + `"permission.replied","properties":{"sessionID":"ses_1","requestID":"per_1","reply":"reject"}}`, "working, ses_1"},
		{Opencode, opencode + `"question.asked","properties":{"sessionID":"ses_1","questions":[{"question":"Postgres or SQLite?"}]}}`, "waiting answer, ses_1: Postgres or SQLite?"},
		{Opencode, opencode + `"session.error","properties":{"sessionID":"ses_1","error":{"name":"APIError"}}}`, "idle, ses_1: APIError"},
		{Opencode, opencode + `"session.deleted","properties":{"info":{"id":"ses_1"}}}`, "ended succeeded, ses_1"},
		{Opencode, opencode + `"plugin.added","properties":{"id":"x"}}`, ", "},

		{Cursor, cursor + `"sessionStart"}`, "idle, begins, c1"},
		{Cursor, cursor + `"afterShellExecution","command":"ls","cwd":"/elsewhere"}`, "working, c1"},
		{Cursor, cursor + `"afterFileEdit","file_path":"/ws/a"}`, "working, c1"},
		{Cursor, cursor + `"stop","status":"completed"}`, "idle, c1"},
		{Cursor, cursor + `"stop","status":"error"}`, "idle, c1: error"},
		{Cursor, cursor + `"sessionEnd"}`, "ended succeeded, c1"},
	} {
		list := Decode(tt.agent, json.RawMessage(tt.input))
		if len(list) != 1 {
			t.Fatalf("%s: %+v", tt.input, list)
		}
		n := list[0]
		got := strings.TrimSpace(fmt.Sprint(n.State, " ", n.Need, n.Outcome))
		if n.Begins {
			got += ", begins"
		}
		got += ", " + n.Session
		if n.Note != "" {
			got += ": " + n.Note
		}
		if got != tt.want || n.Dir != "/ws" {
			t.Errorf("%s in %s\n%s, not %s", tt.input, n.Dir, got, tt.want)
		}
	}
	for _, agent := range []Agent{Gemini, Opencode, Cursor} {
		for _, input := range []string{"null", "7", `"x"`, "[]", `{"workspace_roots":7,"properties":[],"hook_event_name":{}}`, `{"hook_event_name":"Notification","notification_type":"ToolPermission","message":"` + long + "\\u001b[2J\"}"} {
			for _, n := range Decode(agent, json.RawMessage(input)) {
				if len(n.Note) > croft.MaxNote || strings.ContainsRune(n.Note, '\x1b') {
					t.Errorf("%s: %.60s: %q", agent, input, n.Note)
				}
			}
		}
	}
}
