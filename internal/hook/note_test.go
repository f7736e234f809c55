package hook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// TestNotesAreBounded: what is asked in long words of any script fits into a report.
func TestNotesAreBounded(t *testing.T) {
	for n := 100; n < 200; n++ {
		question := map[string]string{"question": strings.Repeat("語", n)}
		input := map[string]any{
			"hook_event_name": "PermissionRequest", "cwd": "/ws", "tool_name": "AskUserQuestion",
			"tool_input": map[string]any{"questions": []any{question, question}},
		}
		text, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		for _, news := range Decode(Claude, text) {
			if len(news.Note) > croft.MaxNote || !strings.HasSuffix(news.Note, "(and 1 more)") {
				t.Fatalf("%d bytes: %q", len(news.Note), news.Note)
			}
		}
		input["tool_name"], input["tool_input"] = strings.Repeat("T", 80), map[string]string{"command": strings.Repeat("𝔸", n)}
		if text, err = json.Marshal(input); err != nil {
			t.Fatal(err)
		}
		for _, news := range Decode(Claude, text) {
			if len(news.Note) > croft.MaxNote {
				t.Fatalf("%d bytes: %q", len(news.Note), news.Note)
			}
		}
	}
}
