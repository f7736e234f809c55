package foreign

import (
	"encoding/json"
	"strings"
)

// Template is a text with variables of a workspace in it: name, slug, id, path, repo, branch,
// target, base and port. What a file has in its own words is text, also if it looks like a
// variable.
type Template struct{ parts []part }

type part struct {
	text  string
	isVar bool
}

// Text returns a template without variables.
func Text(text string) Template { return Template{[]part{{text, false}}} }

// Var returns a template that is one variable.
func Var(name string) Template { return Template{[]part{{name, true}}} }

// IsZero reports whether the template is empty.
func (t Template) IsZero() bool { return len(t.parts) == 0 }

// String returns the template with each variable in braces, for people.
func (t Template) String() string {
	return t.Fill(func(name string) string { return "{" + name + "}" })
}

// MarshalJSON writes String.
func (t Template) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// Fill returns the text with the variables replaced. In a command for a shell the value of each
// has to be quoted: the name of a branch may hold anything that a shell runs.
func (t Template) Fill(value func(name string) string) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.isVar {
			b.WriteString(value(p.text))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String()
}
