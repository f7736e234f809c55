package object

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// TreeEntry is one entry of a tree.
type TreeEntry struct {
	Mode string // "100644", "100755", "120000", "160000" or "40000"
	Name string // in a tree: one component; from ReadTree: the full path
	OID  string
}

// IsFile reports whether the entry is a regular file, executable or not.
func (e TreeEntry) IsFile() bool { return e.Mode == "100644" || e.Mode == "100755" }

// sortKey sorts directories as git does: as if their names ended in a slash.
func (e TreeEntry) sortKey() string {
	if e.Mode == "40000" {
		return e.Name + "/"
	}
	return e.Name
}

// EncodeTree returns a tree as git stores it.
func EncodeTree(entries []TreeEntry) ([]byte, error) {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b TreeEntry) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	var text bytes.Buffer
	for _, e := range sorted {
		oid, err := hex.DecodeString(e.OID)
		if err != nil || strings.ContainsAny(e.Name, "/\x00") || e.Name == "" {
			return nil, fmt.Errorf("not a tree entry: %q", e.Name)
		}
		text.WriteString(e.Mode + " " + e.Name + "\x00")
		text.Write(oid)
	}
	return text.Bytes(), nil
}

// ParseTree parses the entries of one tree, whose object names have size bytes.
func ParseTree(data []byte, size int) ([]TreeEntry, error) {
	var entries []TreeEntry
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, named := strings.Cut(string(head), " ")
		if !ok || !named || len(rest) < size {
			return nil, fmt.Errorf("not a tree")
		}
		if plain := strings.TrimLeft(mode, "0"); plain != "" { // some tools wrote 040000, and git accepts it
			mode = plain
		}
		entries = append(entries, TreeEntry{Mode: mode, Name: name, OID: hex.EncodeToString(rest[:size])})
		data = rest[size:]
	}
	return entries, nil
}
