package hook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestStates: what hooks mean that are not among the recorded ones.
func TestStates(t *testing.T) {
	const head = `{"session_id": "s", "cwd": "/ws", "hook_event_name": `
	for input, want := range map[string]croft.AgentState{
		head + `"SessionStart", "source": "resume"}`:                  croft.AgentIdle,
		head + `"SessionStart", "source": "compact"}`:                 "", // in the midst of a turn
		head + `"PostToolUseFailure", "tool_name": "Bash"}`:           croft.AgentWorking,
		head + `"Stop", "session_crons": [{"id": "c"}]}`:              croft.AgentWorking,
		head + `"Stop", "background_tasks": [], "session_crons": []}`: croft.AgentIdle,
	} {
		list := Decode(Claude, json.RawMessage(input))
		if len(list) != 1 || list[0].State != want || list[0].Session != "s" {
			t.Errorf("%s: %+v", input, list)
		}
	}
	list := Decode(Claude, json.RawMessage(`[{"id": "short", "cwd": "/ws", "state": "working"}, {"id": "x", "sessionId": "s", "cwd": "/ws", "state": "working"}]`))
	if len(list) != 2 || list[0].Session != "short" || list[1].Session != "s" {
		t.Errorf("a list: %+v", list)
	}
}

// TestNoNoteHasASecret: whichever words of whichever agent become a note, secrets in them do not, and neither do escapes.
func TestNoNoteHasASecret(t *testing.T) {
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for _, c := range []struct {
		agent Agent
		input string
	}{
		{Claude, `{"cwd":"/ws","hook_event_name":"Notification","notification_type":"agent_needs_input","message":"WORDS"}`},
		{Claude, `{"cwd":"/ws","hook_event_name":"StopFailure","error":"WORDS"}`},
		{Gemini, `{"cwd":"/ws","hook_event_name":"Notification","notification_type":"ToolPermission","message":"WORDS"}`},
		{Gemini, `{"cwd":"/ws","hook_event_name":"Notification","notification_type":"ToolPermission","details":{"command":"WORDS"}}`},
		{Opencode, `{"cwd":"/ws","type":"permission.asked","properties":{"permission":"bash","patterns":["WORDS"]}}`},
		{Opencode, `{"cwd":"/ws","type":"question.asked","properties":{"questions":[{"question":"WORDS"}]}}`},
		{Opencode, `{"cwd":"/ws","type":"session.error","properties":{"error":{"name":"WORDS"}}}`},
	} {
		list := Decode(c.agent, json.RawMessage(strings.Replace(c.input, "WORDS", `is Bearer-`+secret+`\u001b[2J right?`, 1)))
		if len(list) != 1 || list[0].Note == "" || strings.Contains(list[0].Note, "abcdef") || strings.ContainsRune(list[0].Note, '\x1b') {
			t.Errorf("%s: %+v", c.input, list)
		}
	}
}
