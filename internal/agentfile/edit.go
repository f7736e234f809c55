package agentfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// node is a JSON value in a text, with the place of it. Objects and arrays have items.
type node struct {
	from, to int
	open     byte // '{', '[' or 0
	items    []item
}

// item is a member of an object or an element of an array. It begins with its name, if it has one.
type item struct {
	from  int
	name  string
	value *node
}

// parse returns the value of a text that is plain JSON; nil: it is not, or an object in it has a
// name twice.
func parse(text []byte) *node {
	if !json.Valid(text) {
		return nil
	}
	p := &parser{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	n := p.value()
	if p.isBad {
		return nil
	}
	return n
}

type parser struct {
	text  []byte
	dec   *json.Decoder
	isBad bool
}

// next returns the next token and where it begins.
func (p *parser) next() (json.Token, int) {
	from := int(p.dec.InputOffset())
	from += len(p.text[from:]) - len(bytes.TrimLeft(p.text[from:], " \t\r\n,:"))
	token, err := p.dec.Token()
	if err != nil {
		p.isBad = true
	}
	return token, from
}

func (p *parser) value() *node {
	token, from := p.next()
	n := &node{from: from}
	if d, ok := token.(json.Delim); ok {
		n.open = byte(d)
		for !p.isBad && p.dec.More() {
			n.items = append(n.items, p.item(n))
		}
		p.next()
	}
	n.to = int(p.dec.InputOffset())
	return n
}

func (p *parser) item(of *node) item {
	if of.open == '[' {
		v := p.value()
		return item{from: v.from, value: v}
	}
	name, from := p.next()
	it := item{from: from, name: fmt.Sprint(name)}
	p.isBad = p.isBad || of.member(it.name) != nil
	it.value = p.value()
	return it
}

// member returns the value of a member of an object; nil: there is none.
func (n *node) member(name string) *node {
	for _, it := range n.items {
		if n.open == '{' && it.name == name {
			return it.value
		}
	}
	return nil
}

// at returns the value at a path of names; nil: there is none.
func (n *node) at(path ...string) *node {
	for _, name := range path {
		if n == nil {
			return nil
		}
		n = n.member(name)
	}
	return n
}

// indent is the beginning of a line at a depth of the text.
func indent(depth int) string { return "\n" + strings.Repeat("  ", depth) }

// insert puts an item in front of the others of a value at a depth.
func insert(text []byte, into *node, depth int, what string) []byte {
	what = indent(depth+1) + what
	if len(into.items) > 0 {
		what += ","
	}
	return slices.Concat(text[:into.from+1], []byte(what), text[into.from+1:])
}

// remove takes an item out of a value at a depth: what insert put there, to the byte. It reports
// whether the value was made for the item, as far as its text tells: one that was empty before
// has its end right behind the item.
func remove(text []byte, of *node, depth, i int) (rest []byte, isMadeForIt bool) {
	from, to := of.from+1, of.items[i].value.to
	if i > 0 {
		from = of.items[i-1].value.to
	}
	switch {
	case i+1 < len(of.items):
		to += bytes.IndexByte(text[to:], ',') + 1
		if i > 0 {
			from += bytes.IndexByte(text[from:], ',') + 1
		}
	case i == 0:
		isOurs := string(text[from:of.items[0].from]) == indent(depth+1)
		isMadeForIt = !isOurs || strings.HasPrefix(string(text[to:]), indent(depth)) && len(bytes.TrimSpace(text[to:of.to])) == 1
	}
	return slices.Concat(text[:from], text[to:]), isMadeForIt
}

// add adds an element to the array at a path of an object, and makes what lacks on the way.
func add(text []byte, path []string, element string) (out []byte, why string) {
	for depth := range path {
		root := parse(text)
		if root == nil || root.open != '{' {
			return nil, "it is not plain JSON"
		}
		above := root.at(path[:depth]...)
		if above.open != '{' {
			return nil, path[depth-1] + " in it is not an object"
		}
		if above.member(path[depth]) != nil {
			continue
		}
		empty := "{" + indent(depth+1) + "}"
		if depth+1 == len(path) {
			empty = "[" + indent(depth+1) + "]"
		}
		text = insert(text, above, depth, fmt.Sprintf("%q: %s", path[depth], empty))
	}
	list := parse(text).at(path...)
	if list == nil || list.open != '[' {
		return nil, path[len(path)-1] + " in it is not a list"
	}
	return insert(text, list, len(path), element), ""
}

// drop takes the elements of the array at a path out that are Croft's, and the array and the
// objects around it if they were made for them. It reports whether nothing of the file is left.
func drop(text []byte, path []string, isOurs func(json.RawMessage) bool) (out []byte, isEmpty bool) {
	for {
		list := parse(text).at(path...)
		if list == nil || list.open != '[' {
			return text, false
		}
		i := slices.IndexFunc(list.items, func(it item) bool { return isOurs(text[it.value.from:it.value.to]) })
		if i < 0 {
			return text, false
		}
		var isMade bool
		text, isMade = remove(text, list, len(path), i)
		for depth := len(path) - 1; isMade; depth-- {
			if depth < 0 {
				return text, true
			}
			above := parse(text).at(path[:depth]...)
			i := slices.IndexFunc(above.items, func(it item) bool { return it.name == path[depth] })
			text, isMade = remove(text, above, depth, i)
		}
	}
}
