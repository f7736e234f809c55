package object

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Sides says which objects a comparison of two trees visits.
type Sides int

// The objects that are visited.
const (
	OneSide   Sides = iota // those that only the second has
	BothSides              // those that only one of them has
)

// Walk visits the objects in which trees differ, and rehashes each.
type Walk struct {
	files  *Files
	sides  Sides
	empty  string          // the name of the empty tree
	seen   map[string]bool // pairs of trees ("old:new"), and blobs
	commit map[string]Commit
	// Each is called with every visited object and its content.
	Each func(Object) error
}

// Walk begins a comparison of trees.
func (o *Files) Walk(s Sides) *Walk {
	return &Walk{files: o, sides: s, empty: hex.EncodeToString(o.format.Hash("tree", nil)), seen: map[string]bool{}, commit: map[string]Commit{}}
}

// MaxDepth is deeper than any path that a file system allows.
const MaxDepth = 4096

// Span visits the objects that the commit to has and from, which may be "", does not.
func (w *Walk) Span(ctx context.Context, from, to string) error {
	var trees [2]string
	for i, oid := range []string{from, to} {
		if oid == "" {
			continue
		}
		c, err := w.commitAt(ctx, oid)
		if err != nil {
			return err
		}
		trees[i] = c.Tree
	}
	return w.Trees(ctx, trees[0], trees[1])
}

func (w *Walk) commitAt(ctx context.Context, oid string) (Commit, error) {
	if c, ok := w.commit[oid]; ok {
		return c, nil
	}
	o, err := w.files.Verify(ctx, oid, KeepContents)
	if err != nil {
		return Commit{}, err
	}
	c, err := ParseCommit(o)
	w.commit[oid] = c
	return c, err
}

// Trees compares two trees, either of which may be "".
func (w *Walk) Trees(ctx context.Context, old, now string) error {
	return w.trees(ctx, old, now, "", 0)
}

func (w *Walk) trees(ctx context.Context, old, now, prefix string, depth int) error {
	if old == now || w.seen[old+":"+now] {
		return nil
	}
	if depth > MaxDepth {
		return fmt.Errorf("%.200q: the tree is deeper than %d", prefix, MaxDepth)
	}
	w.seen[old+":"+now] = true
	before, err := w.Entries(ctx, old, prefix)
	if err != nil {
		return err
	}
	after, err := w.Entries(ctx, now, prefix)
	if err != nil {
		return err
	}
	for i, j := 0, 0; i < len(before) || j < len(after); {
		var a, b TreeEntry
		switch {
		case j == len(after) || i < len(before) && before[i].Name < after[j].Name:
			a, i = before[i], i+1
		case i == len(before) || after[j].Name < before[i].Name:
			b, j = after[j], j+1
		default:
			a, b, i, j = before[i], after[j], i+1, j+1
		}
		if a.OID == b.OID && a.Mode == b.Mode {
			continue
		}
		if err := w.compareEntries(ctx, a, b, prefix, depth); err != nil {
			return err
		}
	}
	return nil
}

// compareEntries compares the entries of one name in two trees; either may be absent.
// It rehashes blobs and descends into subtrees.
func (w *Walk) compareEntries(ctx context.Context, a, b TreeEntry, prefix string, depth int) error {
	var trees [2]string
	for i, e := range []TreeEntry{a, b} {
		switch {
		case e.OID == "" || e.Mode == "160000": // a submodule's commit is in another repository
		case e.Mode == "40000":
			trees[i] = e.OID
		case i == 0 && w.sides == OneSide:
		default:
			if err := w.visitBlob(ctx, e.OID, prefix+e.Name); err != nil {
				return err
			}
		}
	}
	if trees[1] == "" && w.sides == OneSide {
		return nil
	}
	return w.trees(ctx, trees[0], trees[1], prefix+cmp.Or(a.Name, b.Name)+"/", depth+1)
}

// visitBlob rehashes a blob and calls Each, once for each blob. A blob that a partial clone
// does not have is skipped.
func (w *Walk) visitBlob(ctx context.Context, oid, path string) error {
	if w.seen[oid] {
		return nil
	}
	w.seen[oid] = true
	keep := KeepNothing
	if w.Each != nil {
		keep = KeepContents
	}
	o, err := w.files.Verify(ctx, oid, keep)
	if errors.Is(err, ErrMissing) && w.files.Partial {
		return nil // git fetches it from the remote when it is needed, and hashes it then
	}
	if err == nil && w.Each != nil {
		err = w.Each(o)
	}
	return AtPath(err, path)
}

// Entries rehashes a tree, calls Each with it, and returns its entries, sorted by name. A
// tree that is "" or empty is not visited and has none.
func (w *Walk) Entries(ctx context.Context, oid, path string) ([]TreeEntry, error) {
	if oid == "" || oid == w.empty {
		return nil, nil // the empty tree needs no object
	}
	o, err := w.files.Verify(ctx, oid, KeepContents)
	if err == nil && o.Type != "tree" {
		err = fmt.Errorf("%s is a %s, not a tree", oid, o.Type)
	}
	if err == nil && w.Each != nil {
		err = w.Each(o)
	}
	if err != nil {
		return nil, AtPath(err, path)
	}
	list, err := ParseTree(o.Data, w.files.format.Size())
	// A file and a directory of one name are compared with each other.
	slices.SortStableFunc(list, func(a, b TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// AtPath adds the path of the object to an error.
func AtPath(err error, path string) error {
	if forged, ok := errors.AsType[*ForgedError](err); ok && forged.Path == "" {
		forged.Path = path
	}
	if missing, ok := errors.AsType[*MissingError](err); ok && missing.Path == "" {
		missing.Path = path
	}
	return err
}

// TreeOf returns the tree of a commit, or the tree itself.
func (w *Walk) TreeOf(ctx context.Context, oid string) (string, error) {
	if oid == w.empty {
		return oid, nil
	}
	o, err := w.files.Verify(ctx, oid, KeepContents)
	if err != nil || o.Type == "tree" {
		return oid, err
	}
	c, err := ParseCommit(o)
	return c.Tree, err
}
