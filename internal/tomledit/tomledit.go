// Package tomledit gives a key of a TOML text another value, and leaves every other byte as it is: comments, order, line ends.
package tomledit

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Set returns the text with a value for a key in a table, and the line on which the key stands then. The table is empty
// for a key of the top level; literal is the value as TOML. Comments inside of a list that is replaced stand above it afterwards.
//
// The new text is read again: if it did not say the same as before but for that key, Set would fail.
func Set(text []byte, table, key, literal string) (changed []byte, line int, err error) {
	d, err := read(text, table, key)
	if err != nil {
		return nil, 0, err
	}
	changed, at := d.with(literal)
	if err := verify(text, changed, d.path, literal); err != nil {
		return nil, 0, err
	}
	return changed, 1 + bytes.Count(changed[:at], []byte("\n")), nil
}

// document is a text with the places where a key stands or could stand. An end of -1 is none.
type document struct {
	text []byte
	path []string // of the key: with the table, or alone

	value   span // of the key, if it is there
	inline  span // of the table, if it is written as { … }
	section int  // the end of what stands below the header of the table
	dotted  int  // the end of the last key of the table that stands at the top level as table.key
	top     int  // the end of the last key of the top level
	header  int  // where the first header of any table stands
	remark  int  // the end of a line at the top level that has the key commented out
}

// span is a part of the text.
type span struct{ start, end int }

func (s span) isThere() bool { return s.end >= 0 }

// read finds the places of a key.
func read(text []byte, table, key string) (*document, error) {
	d := &document{text: text, path: []string{key}, value: span{end: -1}, inline: span{end: -1}, section: -1, dotted: -1, top: -1, header: len(text), remark: -1}
	if table != "" {
		d.path = []string{table, key}
	}
	var parser unstable.Parser
	parser.Reset(text)
	var header []string
	isArray := false
	for parser.NextExpression() {
		node := parser.Expression()
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			var at span
			header, at = keyOf(node)
			isArray = node.Kind == unstable.ArrayTable
			d.header = min(d.header, d.lineStart(at.start))
			if !isArray && table != "" && slices.Equal(header, []string{table}) {
				d.section = d.lineEnd(at.end)
			}
		case unstable.KeyValue:
			if !isArray {
				d.addKey(node, header)
			}
		default:
		}
	}
	if err := parser.Error(); err != nil {
		return nil, err
	}
	d.findRemark()
	return d, nil
}

// keyOf returns the parts of a key, and where they stand.
func keyOf(node *unstable.Node) (parts []string, at span) {
	at.start = -1
	for keys := node.Key(); keys.Next(); {
		part := keys.Node()
		parts = append(parts, string(part.Data))
		if at.start < 0 {
			at.start = int(part.Raw.Offset)
		}
		at.end = int(part.Raw.Offset + part.Raw.Length)
	}
	return parts, at
}

// addKey notes what a key and its value, below a header, say of the places.
func (d *document) addKey(node *unstable.Node, header []string) {
	parts, at := keyOf(node)
	full := slices.Concat(header, parts)
	value := d.valueAfter(at.end)
	end := d.lineEnd(value.end)
	table := d.path[:len(d.path)-1]
	switch {
	case slices.Equal(full, d.path):
		d.value = value
	case len(table) > 0 && slices.Equal(full, table) && node.Value().Kind == unstable.InlineTable:
		d.inline = value
		for children := node.Value().Children(); children.Next(); {
			if child := children.Node(); child.Kind == unstable.KeyValue {
				parts, at := keyOf(child)
				if slices.Equal(slices.Concat(full, parts), d.path) {
					d.value = d.valueAfter(at.end)
				}
			}
		}
	case len(table) > 0 && len(header) == 0 && full[0] == table[0]:
		d.dotted = end
	}
	switch {
	case len(header) == 0:
		d.top = end
	case slices.Equal(header, table):
		d.section = end
	}
}

// valueAfter is the value that follows a key which ends at an offset.
func (d *document) valueAfter(at int) span {
	for at < len(d.text) && d.text[at] != '=' {
		at++
	}
	at = min(at+1, len(d.text))
	for at < len(d.text) && (d.text[at] == ' ' || d.text[at] == '\t') {
		at++
	}
	return span{at, d.valueEnd(at, nil)}
}

// valueEnd is where the value ends that begins at an offset. The comments in it are handed on.
func (d *document) valueEnd(at int, comment func(string)) int {
	if at >= len(d.text) {
		return at
	}
	rest := d.text[at:]
	switch c := rest[0]; c {
	case '"', '\'':
		return at + quotedLength(rest, c)
	case '[', '{':
		for at++; at < len(d.text); {
			switch c := d.text[at]; c {
			case ']', '}':
				return at + 1
			case '"', '\'', '[', '{':
				at = d.valueEnd(at, comment)
			case '#':
				end := at
				for end < len(d.text) && d.text[end] != '\n' && d.text[end] != '\r' {
					end++
				}
				if comment != nil {
					comment(string(d.text[at:end]))
				}
				at = end
			default:
				at++
			}
		}
		return at
	}
	end := bytes.IndexAny(rest, ",]}#\r\n")
	if end < 0 {
		end = len(rest)
	}
	return at + len(bytes.TrimRight(rest[:end], " \t"))
}

// quotedLength is the length of a quoted text, of one line or of several.
func quotedLength(text []byte, quote byte) int {
	long := bytes.Repeat([]byte{quote}, 3)
	isLong := bytes.HasPrefix(text, long)
	at := 1
	if isLong {
		at = len(long)
	}
	for at < len(text) {
		switch {
		case text[at] == '\\' && quote == '"':
			at++
		case isLong && bytes.HasPrefix(text[at:], long):
			for at += len(long); at < len(text) && text[at] == quote; {
				at++ // quotes that belong to the text
			}
			return at
		case !isLong && text[at] == quote:
			return at + 1
		}
		at++
	}
	return len(text)
}

// findRemark finds the key commented out at the top level.
func (d *document) findRemark() {
	for at := 0; at < d.header; at = d.lineEnd(at) {
		line, isRemark := strings.CutPrefix(string(d.text[at:d.lineEnd(at)]), "#")
		name, _, isKey := strings.Cut(line, "=")
		if isRemark && isKey && strings.TrimSpace(name) == strings.Join(d.path, ".") {
			d.remark = d.lineEnd(at)
			return
		}
	}
}

func (d *document) lineStart(at int) int { return bytes.LastIndexByte(d.text[:at], '\n') + 1 }

func (d *document) lineEnd(at int) int {
	if end := bytes.IndexByte(d.text[at:], '\n'); end >= 0 {
		return at + end + 1
	}
	return len(d.text)
}

// with returns the text with another value, and where the key stands.
func (d *document) with(literal string) (changed []byte, at int) {
	bare, full := d.path[len(d.path)-1]+" = "+literal, strings.Join(d.path, ".")+" = "+literal
	switch {
	case d.value.isThere():
		return d.replaced(literal)
	case d.inline.isThere():
		end := d.inline.end - 1
		inside := bytes.TrimSpace(d.text[d.inline.start+1 : end])
		for end > 0 && (d.text[end-1] == ' ' || d.text[end-1] == '\t') {
			end--
		}
		if len(inside) > 0 {
			bare = ", " + bare
		} else {
			bare = " " + bare
		}
		if end == d.inline.end-1 {
			bare += " "
		}
		return splice(d.text, span{end, end}, bare), end
	case d.section >= 0:
		return d.lineAt(d.section, bare)
	case d.remark >= 0:
		return d.lineAt(d.remark, full)
	case d.dotted >= 0:
		return d.lineAt(d.dotted, full)
	case len(d.path) > 1:
		header := "[" + d.path[0] + "]" + d.newline() + bare
		if len(bytes.TrimSpace(d.text)) > 0 {
			header = d.newline() + header
		}
		changed, _ = d.lineAt(len(d.text), header)
		return changed, bytes.LastIndex(changed, []byte(bare))
	case d.top >= 0:
		return d.lineAt(d.top, full)
	}
	if d.header < len(d.text) {
		full += d.newline()
	}
	return d.lineAt(d.header, full)
}

// replaced puts a value in the place of another one.
func (d *document) replaced(literal string) (changed []byte, at int) {
	var comments strings.Builder
	d.valueEnd(d.value.start, func(text string) { comments.WriteString(text + d.newline()) })
	changed = splice(d.text, d.value, literal)
	start := d.lineStart(d.value.start)
	return splice(changed, span{start, start}, comments.String()), d.value.start + comments.Len()
}

// lineAt puts a line where another one begins.
func (d *document) lineAt(at int, line string) (changed []byte, start int) {
	line += d.newline()
	start = at
	if at > 0 && d.text[at-1] != '\n' {
		line = d.newline() + line
		start += len(d.newline())
	}
	return splice(d.text, span{at, at}, line), start
}

// newline is how lines of the text end.
func (d *document) newline() string {
	if end := bytes.IndexByte(d.text, '\n'); end > 0 && d.text[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func splice(text []byte, at span, with string) []byte {
	return slices.Concat(text[:at.start], []byte(with), text[at.end:])
}

// verify fails if a change did more than give the key its value.
func verify(before, after []byte, path []string, literal string) error {
	var was, is, want map[string]any
	if err := errors.Join(toml.Unmarshal(before, &was), toml.Unmarshal(after, &is), toml.Unmarshal([]byte("value = "+literal), &want)); err != nil {
		return err
	}
	got := take(is, path)
	take(was, path)
	if !reflect.DeepEqual(got, want["value"]) || !reflect.DeepEqual(was, is) {
		return fmt.Errorf("%s cannot be set without changing more than it", strings.Join(path, "."))
	}
	return nil
}

// take removes a key, and its table if that is empty then, and returns its value.
func take(table map[string]any, path []string) any {
	if len(path) == 1 {
		value := table[path[0]]
		delete(table, path[0])
		return value
	}
	inner, _ := table[path[0]].(map[string]any)
	value := take(inner, path[1:])
	if len(inner) == 0 {
		delete(table, path[0])
	}
	return value
}
