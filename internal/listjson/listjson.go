// Package listjson encodes and decodes long lists of workspaces on all cores. What it writes and accepts is what
// encoding/json does: each workspace is encoded and decoded by that, and so is the object around the list.
//
// Most of the time of a list of a thousand workspaces goes into its JSON, three times if a command asks a daemon: encoded,
// decoded, and encoded once more for the program that called it.
package listjson

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/parallel"
)

// errNoList says that an object does not begin with an empty list.
var errNoList = errors.New("the object does not begin with the list")

// Encode returns the JSON of an object whose first field, of a name, is a list of workspaces. around is that of the
// same object with an empty list.
func Encode(around []byte, name string, list []croft.Workspace) ([]byte, error) {
	rest, ok := bytes.CutPrefix(around, opening(name))
	if !ok {
		return nil, errNoList
	}
	items, errs := make([][]byte, len(list)), make([]error, len(list))
	parallel.Each(len(list), func(i int) { items[i], errs[i] = list[i].MarshalJSON() })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	size := len(around) + len(items)
	for _, item := range items {
		size += len(item)
	}
	out := append(make([]byte, 0, size), opening(name)...)
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, rest...), nil
}

// Decode decodes a list of workspaces.
func Decode(text []byte, into *croft.List[croft.Workspace]) error {
	items, rest, ok := split(text, opening("items"))
	if !ok {
		return json.Unmarshal(text, into)
	}
	if err := json.Unmarshal(append(opening("items"), rest...), into); err != nil {
		return err
	}
	list, errs := make([]croft.Workspace, len(items)), make([]error, len(items))
	parallel.Each(len(items), func(i int) { errs[i] = json.Unmarshal(items[i], &list[i]) })
	into.Items = list
	return errors.Join(errs...)
}

func opening(name string) []byte { return []byte(`{"` + name + `":[`) }

// split returns the items of the list that an object begins with, and what is left from the bracket that closes it. It looks at
// brackets and strings only: whether the items are JSON is for their decoder to say.
func split(text, opening []byte) (items [][]byte, rest []byte, ok bool) {
	if !bytes.HasPrefix(text, opening) {
		return nil, nil, false
	}
	depth, begin := 0, len(opening)
	for i := begin; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			if i = closingQuote(text, i); i < 0 {
				return nil, nil, false
			}
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && c == ',':
			items, begin = append(items, text[begin:i]), i+1
		case c == ']':
			if len(items) > 0 || len(bytes.TrimSpace(text[begin:i])) > 0 {
				items = append(items, text[begin:i])
			}
			return items, text[i:], true
		}
	}
	return nil, nil, false
}

// closingQuote returns where the string that begins at a quote ends, or -1.
func closingQuote(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			return -1
		}
		i += next
		escapes := 0
		for text[i-1-escapes] == '\\' { // ends at the quote that opens the string at the latest
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return -1
}
