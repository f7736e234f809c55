package dashboard

import (
	"io/fs"
	"strings"
	"testing"
)

func TestJoinLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"<b>\n  <i>", "<b><i>"},
		{"{{if .A}}\n  <i>x</i>\n{{end}}\n", "{{if .A}}<i>x</i>{{end}}"},
		{"<p>one\n  two</p>", "<p>one two</p>"},
		{"<p>one\n  <b>two</b></p>", "<p>one <b>two</b></p>"},
		{"<p><b>one</b>\n\n  two</p>", "<p><b>one</b> two</p>"},
		{"{{.A}} <b>", "{{.A}} <b>"},
	} {
		if got := joinLines(c.text); got != c.want {
			t.Errorf("joinLines(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// TestTemplateLines sees to it that templates can be read.
func TestTemplateLines(t *testing.T) {
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if len(line) > 210 {
				t.Errorf("%s:%d has %d characters", name, i+1, len(line))
			}
		}
	}
}
