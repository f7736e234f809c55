package object

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TreeEdit replaces or deletes the entry at a path of a tree.
type TreeEdit struct {
	Path string
	Mode string // empty: the entry is deleted
	OID  string
}

// BlockedError says that two paths cannot both be in a tree: one is a file where the other
// needs a directory.
type BlockedError struct{ Path, By string }

func (e *BlockedError) Error() string {
	return fmt.Sprintf("%q cannot be there beside %q", e.Path, e.By)
}

// Trees reads and writes single trees.
type Trees interface {
	ReadTree(ctx context.Context, oid string) ([]TreeEntry, error)
	WriteTree(entries []TreeEntry) (string, error)
}

// EditTree writes the tree that results from edits, one per path, and returns its name.
// All other entries stay as they are. It fails with a *BlockedError where two paths cannot
// both be in the tree.
func EditTree(ctx context.Context, in Trees, tree string, edits []TreeEdit) (string, error) {
	entries, err := editTree(ctx, in, tree, "", edits)
	if err != nil {
		return "", err
	}
	return in.WriteTree(entries)
}

// editTree returns the entries of a tree after edits. The paths of edits are relative to
// it; prefix is its own path.
func editTree(ctx context.Context, in Trees, tree, prefix string, edits []TreeEdit) ([]TreeEntry, error) {
	entries := map[string]TreeEntry{}
	if tree != "" {
		list, err := in.ReadTree(ctx, tree)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			entries[e.Name] = e
		}
	}
	here, below := map[string]TreeEdit{}, map[string][]TreeEdit{}
	names := map[string]bool{}
	for _, e := range edits {
		name, rest, deeper := strings.Cut(e.Path, "/")
		names[name] = true
		if !deeper {
			here[name] = e
			continue
		}
		e.Path = rest
		below[name] = append(below[name], e)
	}
	for name := range names {
		edit, named := here[name]
		now, err := editEntry(ctx, in, entries[name], prefix+name, edit, named, below[name])
		if err != nil {
			return nil, err
		}
		now.Name = name
		if entries[name] = now; now.OID == "" {
			delete(entries, name)
		}
	}
	return slices.Collect(maps.Values(entries)), nil
}

// editEntry returns the entry of one name: after an edit of the name itself, if there is
// one, and after edits below it.
func editEntry(ctx context.Context, in Trees, was TreeEntry, path string, edit TreeEdit, named bool, below []TreeEdit) (TreeEntry, error) {
	isTree := was.Mode == "40000"
	dir := ""
	if isTree {
		dir = was.OID
	}
	kept := was // the result if it does not become a directory
	if isTree {
		kept = TreeEntry{}
	}
	if named {
		kept = TreeEntry{Mode: edit.Mode, OID: edit.OID}
	}
	if len(below) == 0 && (!isTree || !named) {
		if !named {
			return was, nil
		}
		return kept, nil
	}
	inside, err := editTree(ctx, in, dir, path+"/", below)
	if err != nil {
		return TreeEntry{}, err
	}
	switch {
	case len(inside) == 0:
		return kept, nil
	case kept.OID != "" && named:
		return TreeEntry{}, &BlockedError{Path: path, By: path + "/" + inside[0].Name}
	case kept.OID != "":
		return TreeEntry{}, &BlockedError{Path: path + "/" + inside[0].Name, By: path}
	}
	oid, err := in.WriteTree(inside)
	return TreeEntry{Mode: "40000", OID: oid}, err
}
