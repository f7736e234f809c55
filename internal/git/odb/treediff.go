package odb

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// errAskGit says that trees cannot be compared here as git does it.
var errAskGit = errors.New("git has to compare the trees")

// treeDiff compares trees in this process, as `git diff-tree -r --no-renames` does. Each tree is rehashed.
type treeDiff struct {
	walk  *object.Walk
	found []Change
}

// diffTrees returns in what two commits or trees differ, or fails with any error where git has to be asked: a
// tree cannot be read, or git writes it in another way than it is.
func (r *Repository) diffTrees(ctx context.Context, old, now string) ([]Change, error) {
	files, err := r.OpenObjects()
	if err != nil {
		return nil, err
	}
	defer files.Close()
	d := treeDiff{walk: files.Walk(object.BothSides)}
	trees := [2]string{old, now}
	for i, oid := range trees {
		if trees[i], err = d.walk.TreeOf(ctx, oid); err != nil {
			return nil, err
		}
	}
	if err := d.compare(ctx, trees[0], trees[1], "", 0); err != nil {
		return nil, err
	}
	slices.SortFunc(d.found, func(a, b Change) int { return strings.Compare(a.Path, b.Path) }) // git's order
	return d.found, nil
}

// compare compares two trees, either of which may be "".
func (d *treeDiff) compare(ctx context.Context, old, now, prefix string, depth int) error {
	if depth > object.MaxDepth {
		return errAskGit
	}
	before, err := d.entries(ctx, old, prefix)
	if err != nil {
		return err
	}
	after, err := d.entries(ctx, now, prefix)
	if err != nil {
		return err
	}
	for len(before) > 0 || len(after) > 0 {
		var a, b object.TreeEntry
		at := 0
		if len(before) == 0 || len(after) == 0 {
			at = cmp.Compare(len(after), len(before)) // the list that has entries
		} else {
			at = strings.Compare(before[0].Name, after[0].Name)
		}
		if at <= 0 {
			a, before = before[0], before[1:]
		}
		if at >= 0 {
			b, after = after[0], after[1:]
		}
		if a.OID == b.OID && a.Mode == b.Mode {
			continue
		}
		if err := d.add(ctx, a, b, prefix, depth); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of a tree, sorted by name.
func (d *treeDiff) entries(ctx context.Context, tree, prefix string) ([]object.TreeEntry, error) {
	list, err := d.walk.Entries(ctx, tree, prefix)
	for i, e := range list {
		if err == nil && (i > 0 && list[i-1].Name == e.Name || e.Name == "" || strings.Contains(e.Name, "/")) {
			err = errAskGit
		}
	}
	return list, err
}

// add adds what differs between the entries of one name; either may be absent.
func (d *treeDiff) add(ctx context.Context, a, b object.TreeEntry, prefix string, depth int) error {
	var trees [2]string
	c := Change{Path: prefix + cmp.Or(a.Name, b.Name), OldMode: NoMode, NewMode: NoMode}
	for i, e := range [2]object.TreeEntry{a, b} {
		side := []*string{&c.OldMode, &c.OldOID, &c.NewMode, &c.NewOID}[2*i : 2*i+2]
		*side[1] = strings.Repeat("0", len(cmp.Or(a.OID, b.OID)))
		switch e.Mode {
		case "": // absent
		case "40000":
			trees[i] = e.OID
		case "100644", "100755", "120000":
			*side[0], *side[1] = e.Mode, e.OID
		default: // a submodule, which settings may hide, or a mode that git prints as another
			return errAskGit
		}
	}
	if c.OldMode != c.NewMode || c.OldOID != c.NewOID {
		d.found = append(d.found, c)
	}
	if trees[0] == trees[1] {
		return nil
	}
	return d.compare(ctx, trees[0], trees[1], c.Path+"/", depth+1)
}
