package jsonschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
)

// Page writes schemas for people.
type Page struct {
	comments *Comments
	answers  []pageAnswer
	defs     map[string]*Schema
	words    map[string][]Word // by the names of defs
	shown    map[string]bool
}

type pageAnswer struct {
	commands []string
	forms    []pageForm
	text     string
}

type pageForm struct {
	when   string
	schema *Schema
}

// NewPage returns an empty page.
func NewPage(c *Comments) *Page {
	p := &Page{comments: c, defs: map[string]*Schema{}, words: map[string][]Word{}, shown: map[string]bool{}}
	for at, words := range c.Words {
		_, name, _ := strings.Cut(at, ".")
		p.words[name] = words
	}
	return p
}

// AddAnswer adds the answer of a command. Commands with the same answer share a section.
func (p *Page) AddAnswer(command string, whens []string, forms []*Schema, defs Properties) {
	a := pageAnswer{commands: []string{command}}
	for i, s := range forms {
		a.forms = append(a.forms, pageForm{whens[i], s})
	}
	for _, def := range defs {
		p.defs[def.Name] = def.Schema
	}
	a.text = p.formsText(a.forms)
	for i, before := range p.answers {
		if before.text == a.text {
			p.answers[i].commands = append(before.commands, a.commands...)
			return
		}
	}
	p.answers = append(p.answers, a)
}

// Hide leaves a type out of what others shows: the template describes it.
func (p *Page) Hide(name string) { p.shown[name] = true }

// formsText describes the forms of an answer, with a line for every field.
func (p *Page) formsText(forms []pageForm) string {
	var b strings.Builder
	for _, f := range forms {
		text := capital(f.schema.Description)
		if f.when != "" {
			text = "With `" + f.when + "`: " + text
		}
		b.WriteString("\n" + text + "\n\n")
		for _, property := range f.schema.Properties {
			if property.Name == "version" || property.Name == "readOnly" {
				continue // they are in every answer
			}
			fmt.Fprintf(&b, "- `%s`%s: %s", property.Name, mark(f.schema, property.Name), linked(property.Schema))
			if property.Schema.Description != "" {
				b.WriteString("; " + strings.TrimSuffix(property.Schema.Description, "."))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// mark is put behind the name of a field that is not always there.
func mark(s *Schema, name string) string {
	if slices.Contains(s.Required, name) {
		return ""
	}
	return "?"
}

// Render fills a template. Its functions are answers, object NAME, words NAME and others,
// which has every type that was not shown before it.
func (p *Page) Render(text string) (string, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"answers": p.answersText, "object": p.objectText, "words": p.wordsText, "others": p.othersText,
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, nil)
	return b.String(), err
}

func (p *Page) answersText() string {
	var b strings.Builder
	for _, a := range p.answers {
		fmt.Fprintf(&b, "### %s\n%s\n", strings.Join(a.commands, ", "), a.text)
	}
	return strings.TrimSpace(b.String())
}

func (p *Page) objectText(name string) (string, error) {
	s := p.defs[name]
	if s == nil || len(s.Properties) == 0 {
		return "", fmt.Errorf("no answer has a %s", name)
	}
	p.shown[name] = true
	var b strings.Builder
	if s.Description != "" {
		b.WriteString(s.Description + "\n\n")
	}
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for _, property := range s.Properties {
		fmt.Fprintf(&b, "| `%s`%s | %s | %s |\n", property.Name, mark(s, property.Name), linked(property.Schema), cellText(strings.TrimSuffix(property.Schema.Description, ".")))
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func (p *Page) wordsText(name string) (string, error) {
	s := p.defs[name]
	if s == nil {
		return "", fmt.Errorf("no answer has a %s", name)
	}
	p.shown[name] = true
	var b strings.Builder
	if s.Description != "" {
		b.WriteString(s.Description + "\n\n")
	}
	if len(s.Enum) == 0 {
		return strings.TrimSuffix(b.String(), "\n\n"), nil
	}
	b.WriteString("| word | meaning |\n|---|---|\n")
	for _, w := range p.words[name] {
		if w.Value != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", w.Value, cellText(p.comments.inJSON(w.Comment, nil)))
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func (p *Page) othersText() (string, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.defs)) {
		if p.shown[name] {
			continue
		}
		show := p.wordsText
		if len(p.defs[name].Properties) > 0 {
			show = p.objectText
		}
		text, err := show(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", name, text)
	}
	return strings.TrimSuffix(b.String(), "\n\n"), nil
}

// linked is the type of a value, with links to the types that it is made of.
func linked(s *Schema) string {
	words := strings.Fields(s.typeText())
	for i, word := range words {
		if word[0] >= 'A' && word[0] <= 'Z' {
			words[i] = "[" + word + "](#" + strings.ToLower(word) + ")"
		}
	}
	return strings.Join(words, " ")
}

func cellText(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
