//go:build linux

package sandboxtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// turn is what a scripted model asks for at once.
type turn []step

// talks is a model for Claude Code that has several conversations: one for each text that the first message of a
// conversation may have in it, so that subagents have scripts of their own.
type talks struct {
	*httptest.Server
	scripts map[string][]turn

	mu      sync.Mutex
	results map[string][]string // what the tools of each conversation have answered
}

func newTalks(t *testing.T, scripts map[string][]turn) *talks {
	t.Helper()
	m := &talks{scripts: scripts, results: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.message)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"input_tokens":10}`) })
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

// answers returns what the tools of a conversation have answered.
func (m *talks) answers(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.results[key], "\n")
}

// env is the environment of Claude Code with this model.
func (m *talks) env(home string) []string {
	return []string{
		"HOME=" + home, "ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=scripted", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ENABLE_TOOL_SEARCH=false",
	}
}

// message answers a request.
func (m *talks) message(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := readJSON(r, &req); err != nil || len(req.Messages) == 0 {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	first, turns := string(req.Messages[0].Content), 0
	var results []string
	for _, message := range req.Messages {
		if message.Role == "assistant" {
			turns++
		}
		var parts []struct {
			Type    string
			Content json.RawMessage
		}
		_ = json.Unmarshal(message.Content, &parts) // a text is no list
		for _, p := range parts {
			if p.Type == "tool_result" {
				results = append(results, string(p.Content))
			}
		}
	}
	var steps turn
	for key, script := range m.scripts {
		if !strings.Contains(first, key) || len(req.Tools) == 0 { // others ask for a title and the like
			continue
		}
		m.mu.Lock()
		m.results[key] = results
		m.mu.Unlock()
		if turns < len(script) {
			steps = script[turns]
		}
	}
	m.send(w, req.Model, fmt.Sprint(len(results)), req.Stream, steps)
}

func (*talks) send(w http.ResponseWriter, model, id string, isStream bool, steps turn) {
	begin := object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": model, "content": []object{}, "usage": object{"input_tokens": 1, "output_tokens": 1}}
	if !isStream {
		w.Header().Set("Content-Type", "application/json")
		// A session in the background asks what it has come to, by its last words.
		begin["content"], begin["stop_reason"] = []object{{"type": "text", "text": `{"state":"done","detail":"all of it","tempo":"idle","output":{"result":"all of it"}}`}}, "end_turn"
		_ = json.NewEncoder(w).Encode(begin)
		return
	}
	events, stop := []object{{"type": "message_start", "message": begin}}, "end_turn"
	add := func(i int, block, delta object) {
		events = append(events, object{"type": "content_block_start", "index": i, "content_block": block},
			object{"type": "content_block_delta", "index": i, "delta": delta}, object{"type": "content_block_stop", "index": i})
	}
	for i, s := range steps {
		stop = "tool_use"
		add(i, object{"type": "tool_use", "id": fmt.Sprintf("toolu_%s_%d", id, i), "name": s.tool, "input": object{}}, object{"type": "input_json_delta", "partial_json": s.input})
	}
	if len(steps) == 0 {
		add(0, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": "done"})
	}
	send(w, append(events, object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 1}}, object{"type": "message_stop"})...)
}
