//go:build linux

package sandboxtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// step is a tool that a scripted model asks its agent to call.
type step struct {
	tool  string // how its name ends
	input string // JSON
}

// model is a server in the place of a model: it follows a script, then says that it is done. It speaks what Codex
// expects of OpenAI's Responses API, and what Claude Code expects of Anthropic's Messages API.
type model struct {
	*httptest.Server
	script   []step
	breaksAt int // it answers with an error after so many tools; 0: never

	prints string // is in the answer of every step that did what it should; empty: any answer will do

	mu      sync.Mutex
	offered []string // the tools that the agent has, by the last request
	missing []string // tools of the script that the agent does not have
	results []string // what the tools answered, as the last request has it
}

func newModel(t *testing.T, script ...step) *model {
	t.Helper()
	m := &model{script: script}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", m.respond)
	mux.HandleFunc("POST /v1/messages", m.message)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"input_tokens":10}`) })
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}

// answers returns what the tools have answered.
func (m *model) answers(t *testing.T) []string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.missing) > 0 {
		t.Errorf("the agent has no tool %v", m.missing)
	}
	return m.results
}

// next returns the name of the tool that is called after those that have answered, and its input; "" is the end.
func (m *model) next(tools, results []string) (name, input string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(results) >= len(m.results) {
		m.offered, m.results = tools, results
	}
	done := m.done(results)
	if done >= len(m.script) {
		return "", ""
	}
	s := m.script[done]
	at := slices.IndexFunc(tools, func(tool string) bool { return tool == s.tool || strings.HasSuffix(tool, "__"+s.tool) })
	if at < 0 {
		m.missing = append(m.missing, fmt.Sprintf("%s of %v", s.tool, tools))
		return "", ""
	}
	return tools[at], s.input
}

// done returns how many steps are done after some results. One that did not print what it should is repeated a few times: a sandbox may fail to start on a busy machine, and a real model would try again, too.
func (m *model) done(results []string) int {
	const most = 3
	at, tries := 0, 0
	for _, result := range results {
		if at < len(m.script) && !strings.Contains(result, m.prints) && tries < most {
			tries++
			continue
		}
		at, tries = at+1, 0
	}
	return at
}

// send writes events as a stream.
func send(w http.ResponseWriter, events ...map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		text, _ := json.Marshal(e) // it has nothing but strings and numbers
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], text)
	}
}

type object = map[string]any

// respond answers a request of Codex.
func (m *model) respond(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Tools []struct {
			Name  string
			Tools []struct{ Name string } // of a namespace
		}
		Input []struct {
			Type   string
			Output json.RawMessage
		}
	}
	if err := readJSON(r, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var tools, results []string
	spaces := map[string]string{}
	for _, t := range req.Tools {
		tools = append(tools, t.Name)
		for _, in := range t.Tools {
			tools = append(tools, in.Name)
			spaces[in.Name] = t.Name
		}
	}
	for _, in := range req.Input {
		if strings.HasSuffix(in.Type, "_call_output") {
			results = append(results, string(in.Output))
		}
	}
	if m.breaksAt > 0 && len(results) >= m.breaksAt {
		http.Error(w, `{"error":{"message":"out of order","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	id := fmt.Sprint(len(results))
	item := object{"type": "message", "id": "m" + id, "role": "assistant", "content": []object{{"type": "output_text", "text": "done"}}}
	if name, input := m.next(tools, results); name != "" {
		item = object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": name, "arguments": input}
		if space := spaces[name]; space != "" {
			item["namespace"] = space
		}
	}
	usage := object{"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
	send(w, object{"type": "response.created", "response": object{"id": "r" + id}}, object{"type": "response.output_item.done", "output_index": 0, "item": item},
		object{"type": "response.completed", "response": object{"id": "r" + id, "usage": usage}})
}

// message answers a request of Claude Code.
func (m *model) message(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Model    string
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	if err := readJSON(r, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var tools, results []string
	for _, t := range req.Tools {
		tools = append(tools, t.Name)
	}
	for _, message := range req.Messages {
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
	begin := object{"id": "msg_1", "type": "message", "role": "assistant", "model": req.Model, "content": []object{}, "usage": object{"input_tokens": 1, "output_tokens": 1}}
	block, delta, stop := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": "done"}, "end_turn"
	if len(tools) > 0 { // others ask for a title and the like
		if name, input := m.next(tools, results); name != "" {
			block = object{"type": "tool_use", "id": fmt.Sprint("toolu_", len(results)), "name": name, "input": object{}}
			delta, stop = object{"type": "input_json_delta", "partial_json": input}, "tool_use"
		}
	}
	if !req.Stream {
		begin["content"], begin["stop_reason"] = []object{{"type": "text", "text": "done"}}, "end_turn"
		_ = json.NewEncoder(w).Encode(begin)
		return
	}
	send(w, object{"type": "message_start", "message": begin}, object{"type": "content_block_start", "index": 0, "content_block": block},
		object{"type": "content_block_delta", "index": 0, "delta": delta}, object{"type": "content_block_stop", "index": 0},
		object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 1}}, object{"type": "message_stop"})
}

func readJSON(r *http.Request, v any) error {
	text, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
