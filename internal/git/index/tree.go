package index

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// Tree is one directory of an index.
type Tree struct {
	Entries int // how many entries of the index are below it
	OID     []byte
	Text    []byte // as git stores it
	Subs    []*Tree

	name string
}

// Name is the name of the directory in the one above; that of the root is empty.
func (t *Tree) Name() string { return t.name }

// Trees computes the trees of an index, without entries in conflict or intent-to-add.
func (x *Index) Trees(format object.Format) (*Tree, error) {
	list := make([]Entry, 0, len(x.Entries))
	for _, e := range x.Entries {
		if e.Stage == 0 && !e.Intended {
			list = append(list, e)
		}
	}
	return newTree("", "", list, format)
}

func newTree(name, prefix string, list []Entry, format object.Format) (*Tree, error) {
	t := &Tree{name: name, Entries: len(list)}
	var entries []object.TreeEntry
	for len(list) > 0 {
		first, _, deeper := strings.Cut(list[0].Path[len(prefix):], "/")
		if !deeper {
			entries = append(entries, object.TreeEntry{Mode: list[0].Mode, Name: first, OID: list[0].OID})
			list = list[1:]
			continue
		}
		below := prefix + first + "/"
		n := 1
		for n < len(list) && strings.HasPrefix(list[n].Path, below) {
			n++
		}
		sub, err := newTree(first, below, list[:n], format)
		if err != nil {
			return nil, err
		}
		t.Subs = append(t.Subs, sub)
		entries = append(entries, object.TreeEntry{Mode: "40000", Name: first, OID: hex.EncodeToString(sub.OID)})
		list = list[n:]
	}
	var err error
	if t.Text, err = object.EncodeTree(entries); err != nil {
		return nil, err
	}
	t.OID = format.Hash("tree", t.Text)
	return t, nil
}

// extension appends the directory in the form of the extension TREE of an index.
func (t *Tree) extension(out []byte) []byte {
	out = fmt.Appendf(append(append(out, t.name...), 0), "%d %d\n", t.Entries, len(t.Subs))
	out = append(out, t.OID...)
	for _, sub := range t.Subs {
		out = sub.extension(out)
	}
	return out
}
