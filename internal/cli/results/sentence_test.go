package results

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/screen"
)

// TestSentence: the commands of a sentence are told apart from its words, and nothing is lost.
func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"no longer waiting; a stays queued: croft queue run, or croft queue cancel a": "croft queue run|croft queue cancel a",
		"x was removed: croft restore x brings it back":                               "croft restore x",
		"no session is open: croft session start":                                     "croft session start",
		"what croft makes of it":                                                      "",
		`in conflict: "next: croft remove --all", "a\"; croft stop"; then croft sh a`: "croft sh a",
		"croft new fix-login":                                                         "croft new fix-login",
		"waits for croft merge or croft discard":                                      "croft discard",
		"all of it is in croft":                                                       "",
		"a: croft logs a; b: croft logs b":                                            "croft logs a|croft logs b",
	} {
		var commands []string
		all := ""
		for _, span := range Sentence(text) {
			if all += span.Text; span.Style == screen.Cyan {
				commands = append(commands, span.Text)
			}
		}
		if got := strings.Join(commands, "|"); got != want || all != text {
			t.Errorf("%q: commands %q, want %q; in all %q", text, got, want, all)
		}
	}
}
