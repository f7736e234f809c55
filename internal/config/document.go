package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/pattern"
	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// found is a known key in a file, with its value as TOML has it.
type found struct {
	key    Key
	raw    any
	source Source
}

// document is what a file says, in the order in which it stands there.
type document struct {
	known   []found
	unknown []unknown
}

// unknown is a key that this Croft does not have: it is misspelt, or of a newer
// one.
type unknown struct {
	path   []string
	source Source
	err    *croft.Error
}

// readDocument returns the keys of a file. No file is no keys.
func readDocument(file Source, keys []Key) (document, error) {
	data, err := readFile(file)
	if err != nil || data == nil {
		return document{}, err
	}
	return parseDocument(file, data, keys)
}

func parseDocument(file Source, data []byte, keys []Key) (document, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	entries, complete := outline(data)
	if !complete {
		return document{}, configError(file, fmt.Sprintf("has more than %d keys", maxParts))
	}
	// The outline comes from the syntax alone. Only the decoder notices keys
	// and tables that are given twice.
	var root map[string]any
	if err := toml.Unmarshal(data, &root); err != nil {
		return document{}, syntaxError(file, err)
	}
	var doc document
	for _, e := range entries {
		at := Source{Kind: file.Kind, Name: file.Name, Line: e.line}
		name := dottedName(e.path)
		raw := lookUp(root, e.path)
		key, known := findKey(keys, name)
		switch {
		case known && key.Guard == GuardNoFile && file.Kind == KindRepo:
			doc.unknown = append(doc.unknown, unknown{e.path, at, noFileError(at, key)})
		case known && key.Guard == GuardNoFile:
			return document{}, noFileError(at, key)
		case known:
			doc.known = append(doc.known, found{key: key, raw: raw, source: at})
		case !isTable(keys, name):
			doc.unknown = append(doc.unknown, unknown{e.path, at, unknownKeyError(at, fileKeys(keys), name)})
		default:
			if _, err := asType[map[string]any](raw, "a table"); err != nil {
				return document{}, valueError(at, name, err)
			}
		}
	}
	return doc, nil
}

func syntaxError(file Source, err error) error {
	at := file
	if decode, ok := errors.AsType[*toml.DecodeError](err); ok {
		at.Line, _ = decode.Position()
	}
	return configError(at, "is not TOML: "+strings.TrimPrefix(err.Error(), "toml: "))
}

func lookUp(root map[string]any, path []string) any {
	var value any = root
	for _, part := range path {
		table, _ := value.(map[string]any)
		value = table[part]
	}
	return value
}

var bareKey = pattern.New(`^[A-Za-z0-9_-]{1,64}$`)

// dottedName joins a path as TOML writes it. A part that needs quotes gets them,
// so that "limits.max_workers" in quotes is not taken for the key in [limits]. All
// parts after the eighth become one ellipsis.
func dottedName(path []string) string {
	const most = 8
	parts := make([]string, 0, most+1)
	for i, part := range path {
		if i == most {
			parts = append(parts, "…")
			break
		}
		if !bareKey().MatchString(part) {
			part = quote(part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ".")
}

// maxParts bounds the work of the decoder, whose search for doubled keys takes
// time in the square of their number.
const maxParts = 10_000

// entry is a table or a key in a file.
type entry struct {
	path []string
	line int
}

// outliner walks over a document's syntax and notes what stands on which line.
type outliner struct {
	data    []byte
	offset  int // up to where lines are counted
	line    int
	parts   int // of all keys so far, at any depth
	entries []entry
}

// outline lists tables and keys outside the reserved tables. A document with
// errors is listed up to the first one. It is not complete if the document has
// too many keys.
func outline(data []byte) (entries []entry, complete bool) {
	o := outliner{data: data, line: 1}
	var parser unstable.Parser
	parser.Reset(data)
	var table []string
	for parser.NextExpression() {
		node := parser.Expression()
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = o.addHeader(node)
		case unstable.KeyValue:
			o.addKeyValue(node, table)
		default:
		}
		if o.parts > maxParts {
			return nil, false
		}
	}
	return o.entries, true
}

func (o *outliner) addHeader(node *unstable.Node) []string {
	path, offset := o.readKey(node, nil)
	o.addEntry(path, offset)
	return path
}

// addKeyValue adds a key to the outline and, if its value is an inline table, the keys
// in it. No table lies in another one, so deeper keys are only counted.
func (o *outliner) addKeyValue(node *unstable.Node, table []string) {
	path, offset := o.readKey(node, table)
	o.addEntry(path, offset)
	value := node.Value()
	if value.Kind != unstable.InlineTable || len(path) > 1 {
		o.countParts(value)
		return
	}
	for children := value.Children(); children.Next(); {
		if child := children.Node(); child.Kind == unstable.KeyValue {
			o.addKeyValue(child, path)
		}
	}
}

// countParts adds the parts of all keys inside an inline table or an array to o.parts.
func (o *outliner) countParts(value *unstable.Node) {
	if value.Kind != unstable.InlineTable && value.Kind != unstable.Array {
		return
	}
	for children := value.Children(); children.Next() && o.parts <= maxParts; {
		child := children.Node()
		if child.Kind == unstable.KeyValue {
			o.readKey(child, nil)
			child = child.Value()
		}
		o.countParts(child)
	}
}

func (o *outliner) readKey(node *unstable.Node, table []string) (path []string, offset int) {
	path = slices.Clone(table)
	offset = -1
	for parts := node.Key(); parts.Next(); {
		part := parts.Node()
		path = append(path, string(part.Data))
		if offset < 0 {
			offset = int(part.Raw.Offset)
		}
		if o.parts++; o.parts > maxParts {
			break
		}
	}
	return path, offset
}

func (o *outliner) addEntry(path []string, offset int) {
	if len(path) == 0 || slices.Contains(reservedTables(), path[0]) || len(path) > 1 && path[0] == "provision" && slices.Contains([]string{"path", "step", "probe"}, path[1]) {
		return
	}
	if offset > o.offset {
		o.line += bytes.Count(o.data[o.offset:offset], []byte("\n"))
		o.offset = offset
	}
	o.entries = append(o.entries, entry{path: path, line: o.line})
}
