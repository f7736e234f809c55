package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// mostProblems is how many problems of a croft.toml are named: an agent can write one.
const mostProblems = 20

// tables reads those tables of a croft.toml that are not keys. What has a wrong type is left out and named; the rest is
// read all the same.
type tables struct {
	lines    map[string]int // of the keys and the headers, by dotted path; an array's tables have their number behind their name
	problems []string
	more     int // problems that are not named
}

// addProblem adds a sentence about what stands at a path.
func (t *tables) addProblem(path, format string, args ...any) {
	if len(t.problems) >= mostProblems {
		t.more++
		return
	}
	at := Source{Name: "croft.toml", Line: t.lines[path]}
	t.problems = append(t.problems, oneLine(at.String()+": "+fmt.Sprintf(format, args...)))
}

// all returns the problems.
func (t *tables) all() []string {
	if t.more > 0 {
		return append(t.problems, fmt.Sprintf("croft.toml: %d more of its parts cannot be used", t.more))
	}
	return t.problems
}

// table returns a table, which may be missing.
func (t *tables) table(parent map[string]any, name string) map[string]any {
	value, isThere := parent[name]
	table, isTable := value.(map[string]any)
	if isThere && !isTable {
		t.addProblem(name, "%s must be a table; it is ignored", name)
	}
	return table
}

// each returns the tables of an array in the table provision.
func (t *tables) each(provision map[string]any, name string, keys ...string) []*fields {
	value, isThere := provision[name]
	list, isList := value.([]any)
	if isThere && !isList {
		t.addProblem("provision."+name, "provision.%s must be a list of tables, [[provision.%s]]; it is ignored", name, name)
	}
	var out []*fields
	for i, value := range list {
		path := fmt.Sprintf("provision.%s[%d]", name, i)
		table, isTable := value.(map[string]any)
		if !isTable {
			t.addProblem("provision."+name, "provision.%s must be a list of tables, [[provision.%s]]; its entry %d is ignored", name, name, i+1)
			continue
		}
		out = append(out, t.fields("[[provision."+name+"]]", path, table, keys...))
	}
	return out
}

// fields are the keys of one table.
type fields struct {
	t      *tables
	shown  string // the table as people write it
	path   string
	values map[string]any
	bad    []string // the keys whose values have a wrong type
}

// fields returns the keys of a table, and names those that it cannot have.
func (t *tables) fields(shown, path string, values map[string]any, keys ...string) *fields {
	f := &fields{t: t, shown: shown, path: path, values: values}
	var unknown []string
	for key := range values {
		if !slices.Contains(keys, key) {
			unknown = append(unknown, key)
		}
	}
	slices.SortFunc(unknown, func(a, b string) int { return t.lines[path+"."+a] - t.lines[path+"."+b] })
	for _, key := range unknown {
		hint := ""
		if near := nearestWord(keys, key); near != "" {
			hint = ", did you mean " + near + "?"
		}
		t.addProblem(path+"."+key, "unknown key %s of %s%s", dottedName([]string{key}), shown, hint)
	}
	return f
}

// wrong notes that the value of a key has a wrong type.
func (f *fields) wrong(key, want string) {
	f.bad = append(f.bad, key)
	f.t.addProblem(f.path+"."+key, "%s of %s must be %s; it is ignored", dottedName([]string{key}), f.shown, want)
}

// text returns the text of a key.
func (f *fields) text(key string) string {
	value, isThere := f.values[key]
	text, isText := value.(string)
	if isThere && !isText {
		f.wrong(key, "a text")
	}
	return text
}

// list returns the texts of a key.
func (f *fields) list(key string) []string {
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

// nearestWord returns the word that was probably meant, or "".
func nearestWord(words []string, name string) string {
	best, bestScore := "", len(name)/3+1
	for _, word := range words {
		if score := editDistance(strings.ToLower(name[:min(len(name), 64)]), word); score < bestScore {
			best, bestScore = word, score
		}
	}
	return best
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
		path := strings.Join(parts, ".")
		switch node.Kind {
		case unstable.Table:
			table = path
		case unstable.ArrayTable:
			table = fmt.Sprintf("%s[%d]", path, numbers[path])
			numbers[path]++
		case unstable.KeyValue:
			if table != "" {
				path = table + "." + path
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

func addLine(lines map[string]int, path string, line int) {
	if _, isThere := lines[path]; !isThere {
		lines[path] = line
	}
}
