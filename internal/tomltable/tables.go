// Package tomltable reads tables of TOML key by key. What has a wrong type is named with its line, and the rest is read all the
// same, where a decoder would refuse the file.
package tomltable

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// MostProblems is how many problems of a file are named: an agent can write one.
const MostProblems = 20

// Document has the tables of a file.
type Document struct {
	// Near returns the word that was probably meant by a name, or "".
	Near func(words []string, name string) string

	file     string
	lines    map[string]int // of the keys and the headers, by dotted path; an array's tables have their number behind their name
	problems []string
	more     int // problems that are not named
}

// Of returns the tables of a text that is TOML. file is its name, for people.
func Of(file string, text []byte, near func(words []string, name string) string) *Document {
	return &Document{Near: near, file: file, lines: tableLines(text)}
}

// AddProblem adds a sentence about what stands at a path.
func (t *Document) AddProblem(path, format string, args ...any) {
	if len(t.problems) >= MostProblems {
		t.more++
		return
	}
	at := t.file
	if line := t.lines[path]; line > 0 {
		at = fmt.Sprintf("%s:%d", t.file, line)
	}
	t.problems = append(t.problems, at+": "+fmt.Sprintf(format, args...))
}

// All returns the problems.
func (t *Document) All() []string {
	if t.more > 0 {
		return append(t.problems, fmt.Sprintf("%s: %d more of its parts cannot be used", t.file, t.more))
	}
	return t.problems
}

// Table returns a table, which may be missing.
func (t *Document) Table(parent map[string]any, name string) map[string]any {
	value, isThere := parent[name]
	table, isTable := value.(map[string]any)
	if isThere && !isTable {
		t.AddProblem(name, "%s must be a table; it is ignored", name)
	}
	return table
}

// Each returns the tables of an array in the table provision.
func (t *Document) Each(provision map[string]any, name string, keys ...string) []*Fields {
	value, isThere := provision[name]
	list, isList := value.([]any)
	if isThere && !isList {
		t.AddProblem("provision."+name, "provision.%s must be a list of tables, [[provision.%s]]; it is ignored", name, name)
	}
	var out []*Fields
	for i, value := range list {
		path := fmt.Sprintf("provision.%s[%d]", name, i)
		table, isTable := value.(map[string]any)
		if !isTable {
			t.AddProblem("provision."+name, "provision.%s must be a list of tables, [[provision.%s]]; its entry %d is ignored", name, name, i+1)
			continue
		}
		out = append(out, t.Fields("[[provision."+name+"]]", path, table, keys...))
	}
	return out
}

// Fields are the keys of one table.
type Fields struct {
	doc    *Document
	Shown  string // the table as people write it
	path   string
	values map[string]any
	Bad    []string // the keys whose values have a wrong type
}

// Fields returns the keys of a table, and names those that it cannot have.
func (t *Document) Fields(shown, path string, values map[string]any, keys ...string) *Fields {
	f := &Fields{doc: t, Shown: shown, path: path, values: values}
	var unknown []string
	for key := range values {
		if !slices.Contains(keys, key) {
			unknown = append(unknown, key)
		}
	}
	slices.SortFunc(unknown, func(a, b string) int { return t.lines[path+"."+a] - t.lines[path+"."+b] })
	for _, key := range unknown {
		hint := ""
		if near := t.Near(keys, key); near != "" {
			hint = ", did you mean " + near + "?"
		}
		t.AddProblem(path+"."+key, "unknown key %s of %s%s", shownKey(key), shown, hint)
	}
	return f
}

// AddProblem adds a sentence about the table.
func (f *Fields) AddProblem(format string, args ...any) { f.doc.AddProblem(f.path, format, args...) }

// wrong notes that the value of a key has a wrong type.
func (f *Fields) wrong(key, want string) {
	f.Bad = append(f.Bad, key)
	f.doc.AddProblem(f.path+"."+key, "%s of %s must be %s; it is ignored", shownKey(key), f.Shown, want)
}

// Text returns the text of a key.
func (f *Fields) Text(key string) string {
	value, isThere := f.values[key]
	text, isText := value.(string)
	if isThere && !isText {
		f.wrong(key, "a text")
	}
	return text
}

// List returns the texts of a key.
func (f *Fields) List(key string) []string {
	value, isThere := f.values[key]
	if !isThere {
		return nil
	}
	list, isList := value.([]any)
	texts := make([]string, 0, len(list))
	for _, one := range list {
		if text, isText := one.(string); isText {
			texts = append(texts, text)
		}
	}
	if !isList || len(texts) < len(list) {
		f.wrong(key, "a list of texts")
		return nil
	}
	return texts
}

// tableLines returns the lines of the headers and the keys of a document that is TOML.
func tableLines(data []byte) map[string]int {
	lines, numbers := map[string]int{}, map[string]int{}
	var parser unstable.Parser
	parser.Reset(data)
	table, offset, line := "", 0, 1
	for parser.NextExpression() {
		node := parser.Expression()
		var parts []string
		for keys := node.Key(); keys.Next(); {
			part := keys.Node()
			if at := int(part.Raw.Offset); at > offset {
				line += bytes.Count(data[offset:at], []byte("\n"))
				offset = at
			}
			parts = append(parts, string(part.Data))
		}
		path := short(strings.Join(parts, "."))
		switch node.Kind {
		case unstable.Table:
			table = path
		case unstable.ArrayTable:
			table = fmt.Sprintf("%s[%d]", path, numbers[path])
			numbers[path]++
		case unstable.KeyValue:
			if table != "" {
				path = short(table + "." + path)
			}
			addLine(lines, path, line)
			continue
		default:
		}
		addLine(lines, path, line)
		addLine(lines, table, line)
	}
	return lines
}

// short bounds a path: an agent can write a long header with many keys below it.
func short(path string) string {
	const most = 1024
	return path[:min(len(path), most)]
}

func addLine(lines map[string]int, path string, line int) {
	if _, isThere := lines[path]; !isThere {
		lines[path] = line
	}
}

// shownKey returns a key as a file has it, in quotes unless it is plain, and short.
func shownKey(key string) string {
	const most = 64
	isPlain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if len(key) <= most && strings.TrimFunc(key, isPlain) == "" {
		return key
	}
	if short := []rune(key); len(short) > most {
		key = string(short[:most]) + "…"
	}
	return strconv.Quote(key)
}
