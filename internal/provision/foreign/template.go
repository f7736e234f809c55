package foreign

import (
	"encoding/json"
	"slices"
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

// Uses reports whether a variable is in the template.
func (t Template) Uses(variable string) bool { return slices.Contains(t.parts, part{variable, true}) }

// String returns the template with each variable in braces, for people.
func (t Template) String() string {
	return t.Fill(func(name string) string { return "{" + name + "}" })
}

// Exact returns the template with each variable as {{ name }}. Two templates that differ have different ones: text that was
// read from a file with variables never holds two braces.
func (t Template) Exact() string {
	return t.Fill(func(name string) string { return "{{ " + name + " }}" })
}

// Shell returns the template as a command for a shell, with each variable as one of the shell's that variable names, and the names
// of the variables. The values are not in the text: the name of a branch may hold anything that a shell runs. Variables
// are quoted as the text around them needs it.
func (t Template) Shell(variable func(name string) string) string {
	var b strings.Builder
	quote := rune(0)
	for _, p := range t.parts {
		if p.isVar {
			use := "${" + variable(p.text) + "}"
			switch quote {
			case 0:
				use = `"` + use + `"`
			case '\'':
				use = `'"` + use + `"'`
			}
			b.WriteString(use)
			continue
		}
		b.WriteString(p.text)
		quote = quoteAfter(quote, p.text)
	}
	return b.String()
}

// quoteAfter returns the quote that a text of a shell leaves open: ', " or none. A wrong guess, such as in a comment, makes
// a word of several or a text of a variable, and runs nothing.
func quoteAfter(quote rune, text string) rune {
	isEscaped := false
	for _, c := range text {
		switch {
		case isEscaped:
			isEscaped = false
		case c == '\\' && quote != '\'':
			isEscaped = true
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote
}

// MarshalJSON writes String.
func (t Template) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// Fill returns the text with the variables replaced. It is not for commands: see Shell.
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
