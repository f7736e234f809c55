package hook

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/croft-sh/croft"
)

// noteOf returns the note of a request for a permission.
func noteOf(t *testing.T, tool string, input any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"hook_event_name": "PermissionRequest", "cwd": "/ws", "tool_name": tool, "tool_input": input})
	if err != nil {
		t.Fatal(err)
	}
	news := Decode(Claude, text)
	if len(news) != 1 {
		t.Fatalf("%+v", news)
	}
	return news[0].Note
}

// TestNotesHaveNoPartOfASecret: what people read has no secret of a tool's arguments or of a question, also none whose rest is behind the
// end of the note.
func TestNotesHaveNoPartOfASecret(t *testing.T) {
	const secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	for name, got := range map[string]string{
		"a command":        noteOf(t, "Bash", map[string]string{"command": "push with " + secret}),
		"words":            noteOf(t, "shell", map[string][]string{"command": {"push", secret}}),
		"a question":       noteOf(t, "AskUserQuestion", map[string]any{"questions": []any{map[string]string{"question": "is " + secret + " right?"}}}),
		"behind the end":   note(strings.Repeat("x", croft.MaxNote-10) + " " + secret),
		"of a bearer":      note("sends Bearer " + strings.TrimPrefix(secret, "ghp_")),
		"of a bearer, too": note("sends basic " + strings.TrimPrefix(secret, "ghp_")),
	} {
		if strings.Contains(got, "ghp_") || strings.Contains(got, "abcdef") || !strings.Contains(got, "*") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestNotesAreText: a name of a tool has no escapes, and no note ends within a character.
func TestNotesAreText(t *testing.T) {
	if got := noteOf(t, "Ba\x1b[31msh\n", map[string]string{"command": "ls"}); got != "Ba\ufffd[31msh: ls" {
		t.Errorf("%q", got)
	}
	for n := range 4 {
		if got := note(strings.Repeat("x", n) + strings.Repeat("語", croft.MaxNote)); !utf8.ValidString(got) || len(got) > croft.MaxNote {
			t.Errorf("%d bytes, it ends with %q", len(got), got[len(got)-4:])
		}
	}
}
