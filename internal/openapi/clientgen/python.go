package clientgen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/jsonschema"
	"github.com/croft-sh/croft/internal/openapi"
)

// Python returns the module of the Python client that has the types and the calls.
func Python(a *openapi.API) (string, error) {
	list, err := methods(a)
	if err != nil {
		return "", err
	}
	p := &python{api: a}
	p.line(`"""The types and the calls of Croft's API.`, "", notice, `"""`, "",
		"from __future__ import annotations", "",
		"from collections.abc import Iterator, Mapping, Sequence",
		"from datetime import datetime, timedelta",
		"from typing import Any, Literal, TypeAlias, TypeVar", "",
		"from ._model import Model, segment", "",
		`T = TypeVar("T", bound=Model)`, "",
		"__all__ = [", `    "Calls",`)
	for _, def := range a.Types {
		if !isBodyAlone(a, def.Name) {
			p.line(fmt.Sprintf("    %q,", def.Name))
		}
	}
	p.line("]", "")
	for _, def := range a.Types {
		if !isObject(def.Schema) {
			p.addWords(def)
		}
	}
	for _, def := range a.Types {
		if isObject(def.Schema) && !isBodyAlone(a, def.Name) {
			p.addType(def)
		}
	}
	p.line("", "class Calls:", `    """One method for each operation of the API."""`, "",
		"    def _send(self, method: str, path: str, fields: dict[str, Any], answer: type[T], wait: float | None = None) -> T:",
		"        raise NotImplementedError", "",
		"    def _pages(self, path: str, fields: dict[str, Any], answer: type[Model]) -> Iterator[Any]:",
		"        while True:",
		`            page: Any = self._send("GET", path, fields, answer)`,
		"            yield from page.items",
		"            if not page.next:",
		"                return",
		`            fields = {**fields, "after": page.next}`)
	for _, m := range list {
		p.addMethod(m)
	}
	return p.b.String(), nil
}

// isObject reports whether a type has fields.
func isObject(s *jsonschema.Schema) bool { return slices.Contains(s.Type, "object") }

// isBodyAlone reports whether a type is only ever the body of a request: its fields are the
// arguments of a method.
func isBodyAlone(a *openapi.API, name string) bool {
	if a.Answers()[name] || !slices.ContainsFunc(a.Operations, func(op openapi.Operation) bool { return op.Body == name }) {
		return false
	}
	for _, def := range a.Types {
		for _, p := range def.Schema.Properties {
			if refOf(p.Schema) == name || p.Schema.Items != nil && refOf(p.Schema.Items) == name {
				return false
			}
		}
	}
	return true
}

type python struct {
	api *openapi.API
	b   strings.Builder
}

func (p *python) line(lines ...string) {
	for _, line := range lines {
		p.b.WriteString(line)
		p.b.WriteByte('\n')
	}
}

func (p *python) addWords(def jsonschema.Property) {
	p.line(comments("# ", "", def.Schema.Description)...)
	if len(def.Schema.Enum) == 0 {
		p.line(def.Name+": TypeAlias = str", "")
		return
	}
	p.line(def.Name + ": TypeAlias = Literal[")
	for _, word := range def.Schema.Enum {
		p.line(fmt.Sprintf("    %q,", word))
	}
	p.line("]", "")
}

func (p *python) addType(def jsonschema.Property) {
	p.line("", "class "+def.Name+"(Model):")
	p.line(docstring("    ", def.Schema.Description, nil)...)
	p.line("")
	table := []string{"    _fields = {"}
	for _, f := range def.Schema.Properties {
		p.line(comments("# ", "    ", f.Schema.Description)...)
		hint := p.hint(f.Schema, fromAnswer)
		if !slices.Contains(def.Schema.Required, f.Name) && !hasZero(p.kind(f.Schema)) && !strings.HasSuffix(hint, "| None") {
			hint += " | None"
		}
		p.line("    " + pythonName(f.Name) + ": " + hint)
		table = append(table, fmt.Sprintf("        %q: (%q, %q),", pythonName(f.Name), f.Name, p.kind(f.Schema)))
	}
	p.line(table...)
	p.line("    }", "")
}

// pythonReserved are the words that cannot be the name of an argument.
var pythonReserved = strings.Fields(`False None True and as assert async await break class continue def del elif
	else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// pythonTaken are the names that Model has itself.
var pythonTaken = []string{"of", "to_json"}

func pythonName(name string) string {
	if name = snake(name); slices.Contains(pythonReserved, name) || slices.Contains(pythonTaken, name) {
		name += "_"
	}
	return name
}

// direction says which way a value goes.
type direction string

const (
	fromAnswer direction = "answer"
	toRequest  direction = "request"
)

// hint returns the type of a value as Python writes it. What a client sends may be given in
// more forms.
func (p *python) hint(s *jsonschema.Schema, d direction) string {
	var parts []string
	for _, one := range s.AnyOf {
		parts = append(parts, p.hint(one, d))
	}
	if name := refOf(s); name != "" {
		if d == toRequest && p.api.Types.Get(name) != nil && isObject(p.api.Types.Get(name)) {
			name += " | Mapping[str, Any]"
		}
		parts = append(parts, name)
	}
	if s.Const != nil {
		parts = append(parts, fmt.Sprintf("Literal[%q]", s.Const))
	}
	for _, kind := range s.Type {
		parts = append(parts, p.plain(s, kind, d))
	}
	return strings.Join(parts, " | ")
}

func (p *python) plain(s *jsonschema.Schema, kind string, d direction) string {
	switch {
	case kind == "array" && d == toRequest:
		return "Sequence[" + p.hint(s.Items, d) + "]"
	case kind == "array":
		return "list[" + p.hint(s.Items, d) + "]"
	case kind == "object" && s.Values != nil && d == toRequest:
		return "Mapping[str, " + p.hint(s.Values, d) + "]"
	case kind == "object" && s.Values != nil:
		return "dict[str, " + p.hint(s.Values, d) + "]"
	case kind == "object":
		return "dict[str, Any]"
	case kind == "integer":
		return "int"
	case kind == "number":
		return "float"
	case kind == "boolean":
		return "bool"
	case kind == "null":
		return "None"
	case s.Format == "date-time":
		return "datetime"
	case s.Pattern != "" && d == toRequest:
		return "timedelta | str"
	case s.Pattern != "":
		return "timedelta"
	case s.ContentEncoding != "":
		return "bytes"
	}
	return "str"
}

// hasZero reports whether Model has a value for a field of this kind that is absent: False, an
// empty list, an empty map.
func hasZero(kind string) bool {
	return kind == "bool" || strings.HasPrefix(kind, "[") || strings.HasPrefix(kind, "{")
}

// kind returns how Model decodes a value; see clients/python/croft/_model.py.
func (p *python) kind(s *jsonschema.Schema) string {
	for _, one := range s.AnyOf {
		if kind := p.kind(one); kind != "" {
			return kind
		}
	}
	switch name := refOf(s); {
	case name != "" && isObject(p.api.Types.Get(name)):
		return name
	case s.Items != nil:
		return "[" + p.kind(s.Items)
	case s.Values != nil:
		return "{" + p.kind(s.Values)
	case s.Format == "date-time":
		return "time"
	case s.Pattern != "":
		return "duration"
	case s.ContentEncoding != "":
		return "bytes"
	case slices.Contains(s.Type, "boolean"):
		return "bool"
	}
	return ""
}

// argument is one of a method's.
type argument struct {
	wire, name, hint, text string
	isRequired             bool
}

func (p *python) arguments(m method) (segments, fields []argument) {
	for _, s := range m.segments {
		segments = append(segments, argument{s.Name, pythonName(s.Name), p.hint(s.Schema, toRequest), s.Description, true})
	}
	for _, q := range m.query {
		fields = append(fields, argument{q.Name, pythonName(q.Name), p.hint(q.Schema, toRequest), q.Description, q.IsRequired})
	}
	for _, f := range m.fields {
		fields = append(fields, argument{f.Name, pythonName(f.Name), p.hint(f.Schema, toRequest), f.Schema.Description, slices.Contains(m.required, f.Name)})
	}
	return segments, fields
}

func (p *python) addMethod(m method) {
	segments, fields := p.arguments(m)
	p.signature(snake(m.name), segments, fields, m.canWait, m.Answer)
	p.line(docstring("        ", m.Description, append(slices.Clone(segments), fields...))...)
	p.line(sent(fields)...)
	wait := ""
	if m.canWait {
		wait = ", wait"
	}
	p.line(fmt.Sprintf("        return self._send(%q, %s, fields, %s%s)", m.Method, pythonPath(m.Path), m.Answer, wait))
	if m.item == "" {
		return
	}
	fields = slices.DeleteFunc(fields, func(a argument) bool { return a.wire == "after" })
	p.signature("iter_"+snake(m.name), segments, fields, false, "Iterator["+m.item+"]")
	p.line(docstring("        ", "Yields the items of all pages of "+snake(m.name)+", asking for one page after the other.", nil)...)
	p.line(sent(fields)...)
	p.line(fmt.Sprintf("        return self._pages(%s, fields, %s)", pythonPath(m.Path), m.Answer))
}

func (p *python) signature(name string, segments, fields []argument, canWait bool, answer string) {
	p.line("", "    def "+name+"(", "        self,")
	for _, s := range segments {
		p.line("        " + s.name + ": " + s.hint + ",")
	}
	if len(fields) > 0 || canWait {
		p.line("        *,")
	}
	for _, f := range fields {
		if f.isRequired {
			p.line("        " + f.name + ": " + f.hint + ",")
			continue
		}
		p.line("        " + f.name + ": " + f.hint + " | None = None,")
	}
	if canWait {
		p.line("        wait: float | None = None,")
	}
	p.line("    ) -> " + answer + ":")
}

// sent returns the lines that put the fields together as they are sent.
func sent(fields []argument) []string {
	if len(fields) == 0 {
		return []string{"        fields: dict[str, Any] = {}"}
	}
	lines := []string{"        fields: dict[str, Any] = {"}
	for _, f := range fields {
		lines = append(lines, fmt.Sprintf("            %q: %s,", f.wire, f.name))
	}
	return append(lines, "        }")
}

// pythonPath returns the expression of a path.
func pythonPath(path string) string {
	if !strings.Contains(path, "{") {
		return fmt.Sprintf("%q", path)
	}
	var b strings.Builder
	for rest := path; rest != ""; {
		before, after, ok := strings.Cut(rest, "{")
		b.WriteString(before)
		if !ok {
			break
		}
		name, tail, _ := strings.Cut(after, "}")
		b.WriteString("{segment(" + pythonName(name) + ")}")
		rest = tail
	}
	return `f"` + b.String() + `"`
}

// docstring returns the documentation of a class or a method.
func docstring(indent, text string, arguments []argument) []string {
	lines := wrap(strings.NewReplacer(`\`, `\\`, `"""`, `'''`).Replace(text), 92-len(indent))
	if len(lines) == 0 {
		lines = []string{""}
	}
	var about []string
	for _, a := range arguments {
		if a.text != "" {
			for i, line := range wrap(strings.ReplaceAll(a.name+": "+a.text, `\`, `\\`), 88-len(indent)) {
				if i > 0 {
					line = "  " + line
				}
				about = append(about, "  "+line)
			}
		}
	}
	if len(about) > 0 {
		lines = append(append(lines, ""), about...)
	}
	lines[0] = `"""` + lines[0]
	for i := range lines {
		if lines[i] != "" {
			lines[i] = indent + lines[i]
		}
	}
	if len(lines) == 1 {
		if strings.HasSuffix(lines[0], `"`) {
			lines[0] += " "
		}
		return []string{lines[0] + `"""`}
	}
	return append(lines, indent+`"""`)
}

// comments returns a text as lines of comments.
func comments(mark, indent, text string) []string {
	lines := wrap(text, 92-len(indent))
	for i := range lines {
		lines[i] = indent + mark + lines[i]
	}
	return lines
}
