package git

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Rehash makes sure that what each span brings is what its name says: the commit
// that it leads to, and every tree and file of it that the commit before does not
// have. Whoever can write the repository can put another object under any name, and
// git does not look when it reads one. It fails with a *ForgedError or, if something
// is not there at all, a *MissingError, and says of which span; -1 if it is none's
// fault.
func (r *Repository) Rehash(ctx context.Context, spans []Span) (span int, err error) {
	for range 3 { // a gc may delete packs meanwhile
		span, err = r.rehash(ctx, spans)
		if !errors.Is(err, ErrNoObject) {
			break
		}
	}
	return span, err
}

func (r *Repository) rehash(ctx context.Context, spans []Span) (int, error) {
	o, err := r.openObjects()
	if err != nil {
		return -1, err
	}
	defer o.close()
	w := o.walk(oneSide)
	for i, s := range spans {
		if err := w.span(ctx, s); err != nil {
			return i, err
		}
	}
	return -1, nil
}

// sides says which objects a comparison of two trees looks at.
type sides int

const (
	oneSide   sides = iota // what the second has and the first has not
	bothSides              // what either has and the other has not
)

// treeWalk looks at what differs between trees, and rehashes all of it.
type treeWalk struct {
	files  *objectFiles
	sides  sides
	empty  string          // the tree of nothing
	seen   map[string]bool // pairs of trees, and files
	commit map[string]Commit
	// each is told every object that was looked at, with its contents.
	each func(Object) error
}

func (o *objectFiles) walk(s sides) *treeWalk {
	return &treeWalk{files: o, sides: s, empty: hex.EncodeToString(o.repo.hashObject("tree", nil)), seen: map[string]bool{}, commit: map[string]Commit{}}
}

// maxTreeDepth is deeper than any path that a file system takes.
const maxTreeDepth = 4096

func (w *treeWalk) span(ctx context.Context, s Span) error {
	var trees [2]string
	for i, oid := range []string{s.From, s.To} {
		if oid == "" {
			continue
		}
		c, err := w.commitAt(ctx, oid)
		if err != nil {
			return err
		}
		trees[i] = c.Tree
	}
	return w.trees(ctx, trees[0], trees[1], "", 0)
}

func (w *treeWalk) commitAt(ctx context.Context, oid string) (Commit, error) {
	if c, ok := w.commit[oid]; ok {
		return c, nil
	}
	o, err := w.files.look(ctx, oid, keepContents)
	if err != nil {
		return Commit{}, err
	}
	c, err := parseCommit(o)
	w.commit[oid] = c
	return c, err
}

// trees compares two trees, either of which may be none.
func (w *treeWalk) trees(ctx context.Context, old, now, prefix string, depth int) error {
	if old == now || w.seen[old+":"+now] {
		return nil
	}
	if depth > maxTreeDepth {
		return fmt.Errorf("%.200q: the tree is deeper than %d", prefix, maxTreeDepth)
	}
	w.seen[old+":"+now] = true
	before, err := w.entries(ctx, old, prefix)
	if err != nil {
		return err
	}
	after, err := w.entries(ctx, now, prefix)
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
		if err := w.pair(ctx, a, b, prefix, depth); err != nil {
			return err
		}
	}
	return nil
}

// pair looks at what became of one name.
func (w *treeWalk) pair(ctx context.Context, a, b TreeEntry, prefix string, depth int) error {
	var trees [2]string
	for i, e := range []TreeEntry{a, b} {
		switch {
		case e.OID == "" || e.Mode == "160000": // a submodule's commit is in another repository
		case e.Mode == "40000":
			trees[i] = e.OID
		case i == 0 && w.sides == oneSide:
		default:
			if err := w.file(ctx, e.OID, prefix+e.Name); err != nil {
				return err
			}
		}
	}
	if trees[1] == "" && w.sides == oneSide {
		return nil
	}
	return w.trees(ctx, trees[0], trees[1], prefix+cmp.Or(a.Name, b.Name)+"/", depth+1)
}

func (w *treeWalk) file(ctx context.Context, oid, path string) error {
	if w.seen[oid] {
		return nil
	}
	w.seen[oid] = true
	keep := keepNothing
	if w.each != nil {
		keep = keepContents
	}
	o, err := w.files.look(ctx, oid, keep)
	if errors.Is(err, ErrNoObject) && w.files.repo.format.partial {
		return nil // it comes from the remote when it is needed, and is hashed then
	}
	if err == nil && w.each != nil {
		err = w.each(o)
	}
	return named(err, path)
}

// entries reads a tree, by name.
func (w *treeWalk) entries(ctx context.Context, oid, path string) ([]TreeEntry, error) {
	if oid == "" || oid == w.empty {
		return nil, nil // git needs no object for a tree of nothing
	}
	o, err := w.files.look(ctx, oid, keepContents)
	if err == nil && o.Type != "tree" {
		err = fmt.Errorf("%s is a %s, not a tree", oid, o.Type)
	}
	if err == nil && w.each != nil {
		err = w.each(o)
	}
	if err != nil {
		return nil, named(err, path)
	}
	list, err := w.files.repo.parseTree(o.Data)
	// A file and a directory of one name come together.
	slices.SortStableFunc(list, func(a, b TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// named adds to an error where the object belongs.
func named(err error, path string) error {
	if forged, ok := errors.AsType[*ForgedError](err); ok && forged.Path == "" {
		forged.Path = path
	}
	if missing, ok := errors.AsType[*MissingError](err); ok && missing.Path == "" {
		missing.Path = path
	}
	return err
}
