package jsonschema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Promises are what programs may rely on: a line for every field, such as "Workspace.name",
// with its type, and whether it is always there; and one for every word.
type Promises map[string]string

// Add adds what a schema promises. The schemas of several answers share the types that they
// have in common.
func (p Promises) Add(name string, s *Schema) {
	p.add(name, s)
	for _, def := range s.Defs {
		p.add(def.Name, def.Schema)
	}
}

func (p Promises) add(name string, s *Schema) {
	for i, one := range s.AnyOf {
		p.add(fmt.Sprintf("%s(%d)", name, i+1), one)
	}
	for _, word := range s.Enum {
		p[fmt.Sprintf("%s=%v", name, word)] = "word"
	}
	for _, property := range s.Properties {
		text := property.Schema.typeText()
		if slices.Contains(s.Required, property.Name) {
			text += alwaysThere
		}
		p[name+"."+property.Name] = text
	}
}

const alwaysThere = ", always"

// typeText describes the type of a value in a few words.
func (s *Schema) typeText() string {
	var parts []string
	for _, one := range s.AnyOf {
		parts = append(parts, one.typeText())
	}
	if name, ok := strings.CutPrefix(s.Ref, defPrefix); ok {
		parts = append(parts, name)
	}
	for _, name := range s.Type {
		switch {
		case name == "array" && s.Items != nil:
			name = "list of " + s.Items.typeText()
		case name == "object" && s.Values != nil:
			name = "map to " + s.Values.typeText()
		case s.Format == "date-time" && name == "string":
			name = "time"
		case s.Pattern != "" && name == "string":
			name = "duration"
		case s.ContentEncoding != "" && name == "string":
			name = "base64"
		}
		parts = append(parts, name)
	}
	if s.Const != nil {
		parts = append(parts, fmt.Sprintf("%q", fmt.Sprint(s.Const)))
	}
	return strings.Join(parts, " or ")
}

// Text returns the promises as a file has them, with a line for the version before them.
func (p Promises) Text(version int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "version %d\n", version)
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&b, "%s: %s\n", key, p[key])
	}
	return b.String()
}

// ParsePromises reads what Text wrote.
func ParsePromises(text string) (version int, p Promises, err error) {
	p = Promises{}
	first, rest, _ := strings.Cut(text, "\n")
	if _, err := fmt.Sscanf(first, "version %d", &version); err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(rest) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			p[key] = value
		}
	}
	return version, p, nil
}

// Broken returns the promises that now does not keep: a field or a word that is gone, a type
// that is another one, a field that is not always there any more.
func (p Promises) Broken(now Promises) []string {
	var broken []string
	for _, key := range slices.Sorted(maps.Keys(p)) {
		switch is, ok := now[key]; {
		case !ok:
			broken = append(broken, key+" is gone")
		case is != p[key] && is != p[key]+alwaysThere:
			broken = append(broken, fmt.Sprintf("%s is %q and was %q", key, is, p[key]))
		}
	}
	return broken
}
