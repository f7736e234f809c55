package git

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// misplaced returns a path of an index that git itself would not write there:
// one that leads out of the checkout or into a git directory, is out of order, or
// has a mode that there is not. It is empty if there is none.
func (x *Index) misplaced() string {
	last, stage := "", -1
	for _, e := range x.Entries {
		if e.Path < last || e.Path == last && e.Stage <= stage {
			return e.Path
		}
		last, stage = e.Path, e.Stage
		switch e.Mode {
		case "100644", "100755", "120000", "160000":
		default:
			return e.Path
		}
		for part := range strings.SplitSeq(e.Path, "/") {
			switch strings.ToLower(part) {
			case "", ".", "..", ".git", "git~1":
				return e.Path
			}
		}
	}
	return ""
}

// stagedTree is one directory of what an index describes.
type stagedTree struct {
	name    string
	entries int // how many files of the index lie in it, at any depth
	oid     []byte
	text    []byte
	subs    []*stagedTree
}

// stagedTrees computes the trees that an index describes. What is in conflict,
// or is only going to be added, is left out.
func (r *Repository) stagedTrees(x *Index) (*stagedTree, error) {
	list := make([]IndexEntry, 0, len(x.Entries))
	for _, e := range x.Entries {
		if e.Stage == 0 && !e.Intended {
			list = append(list, e)
		}
	}
	return r.stagedTree("", "", list)
}

func (r *Repository) stagedTree(name, prefix string, list []IndexEntry) (*stagedTree, error) {
	t := &stagedTree{name: name, entries: len(list)}
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
		sub, err := r.stagedTree(first, below, list[:n])
		if err != nil {
			return nil, err
		}
		t.subs = append(t.subs, sub)
		entries = append(entries, object.TreeEntry{Mode: "40000", Name: first, OID: hex.EncodeToString(sub.oid)})
		list = list[n:]
	}
	var err error
	if t.text, err = object.EncodeTree(entries); err != nil {
		return nil, err
	}
	t.oid = r.objectFormat().Hash("tree", t.text)
	return t, nil
}

// extension appends the directory as the extension TREE of an index has it.
func (t *stagedTree) extension(out []byte) []byte {
	out = fmt.Appendf(append(append(out, t.name...), 0), "%d %d\n", t.entries, len(t.subs))
	out = append(out, t.oid...)
	for _, sub := range t.subs {
		out = sub.extension(out)
	}
	return out
}

// plainIndex is an index with the same entries and nothing else of what the
// file has, but for the trees, which are computed anew if they are given:
// extensions can tell git what not to look at.
func (r *Repository) plainIndex(data []byte, x *Index, root *stagedTree) ([]byte, error) {
	hashLen := r.objectFormat().Size()
	in := bytes.NewReader(data[:len(data)-hashLen])
	rest, err := scanIndex(in, hashLen, func(rawEntry) {})
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(data[:len(data)-hashLen-in.Len()-rest.Buffered()])
	if root != nil && root.entries == len(x.Entries) {
		trees := root.extension(nil)
		out = append(out, "TREE"...)
		out = binary.BigEndian.AppendUint32(out, uint32(len(trees)))
		out = append(out, trees...)
	}
	h := r.objectFormat().New()
	h.Write(out)
	return h.Sum(out), nil
}
