package dashboard

import (
	"strings"
	"testing"

	"github.com/croft-sh/croft"
)

// marked is a line with its changed parts in brackets.
func marked(l diffLine) string {
	if l.Parts == nil {
		return l.Text
	}
	var b strings.Builder
	for _, p := range l.Parts {
		if p.IsChanged {
			b.WriteString("[" + p.Text + "]")
		} else {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

func TestMarkWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"-\treturn a.Round(2)\n+\treturn a.Round(digits)\n", "\treturn a.Round([2])|\treturn a.Round([digits])"},
		{"-one two three\n+one three\n", "one [two ]three|one three"},
		{"-keep old words here\n+keep new things here\n", "keep [old words] here|keep [new things] here"},
		{"-alpha\n+omega\n", "alpha|omega"},                                                // nothing in common
		{"-a b c\n+a b c d\n+a\n", "a b c|a b c d|a"},                                      // not as many lines
		{"-x = 1\n-y = 1\n+x = 2\n+y = 2\n", "x = [1]|y = [1]|x = [2]|y = [2]"},            // line by line
		{"-" + strings.Repeat("w ", 100) + "a\n+" + strings.Repeat("w ", 100) + "b\n", ""}, // too long
	} {
		hunks := hunksOf([]croft.Hunk{{OldStart: 1, NewStart: 1, Text: c.text}})
		var got []string
		for _, l := range hunks[0].Lines {
			if joined := marked(l); strings.NewReplacer("[", "", "]", "").Replace(joined) != l.Text {
				t.Errorf("the parts of %q are %q", l.Text, joined)
			}
			got = append(got, marked(l))
		}
		if text := strings.Join(got, "|"); c.want != "" && text != c.want || c.want == "" && strings.Contains(text, "[") {
			t.Errorf("%q is marked as %q, want %q", c.text, text, c.want)
		}
	}
}

// TestMarkWordsOfLongFiles: a file that is wholly rewritten does not take long.
func TestMarkWordsOfLongFiles(t *testing.T) {
	line := strings.Repeat("w ", 50)
	text := strings.Repeat("-"+line+"a\n", 10_000) + strings.Repeat("+"+line+"b\n", 10_000)
	lines := hunksOf([]croft.Hunk{{OldStart: 1, NewStart: 1, Text: text}})[0].Lines
	if lines[0].Parts == nil || lines[9_999].Parts != nil {
		t.Error("the first lines are compared, and the last are too many")
	}
}
