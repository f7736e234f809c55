package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/croft-sh/croft/internal/git/object"
)

// keep copies commits, and what they lead to as far as it was written here, into
// the repository. They are on disk when it returns; release lets go of them once
// something names them.
func (q *quarantine) keep(ctx context.Context, commits ...string) (release func(), err error) {
	found, err := q.reachable(ctx, commits)
	if err != nil {
		return nil, err
	}
	b := q.repo.Batch()
	if len(found) > fewObjects {
		b = q.repo.PackBatch()
	}
	for _, o := range found {
		if _, err := b.Write(o.Type, o.Size, bytes.NewReader(o.Data)); err != nil {
			b.Discard()
			return nil, err
		}
	}
	if err := b.Flush(); err != nil {
		b.Discard()
		return nil, err
	}
	return b.Discard, nil
}

// fewObjects are better off as files of their own than in a pack: each pack
// makes every look for an object slower.
const fewObjects = 6

// reachable reads the objects that were written here, from commits on. What an
// object leads to comes before it, so that a process which dies while it writes
// them leaves no object behind that leads to nothing.
func (q *quarantine) reachable(ctx context.Context, commits []string) ([]object.Object, error) {
	k := &keepWalk{q: q, ctx: ctx, seen: map[string]bool{}, commits: map[string]walkedCommit{}, trees: map[string]walkedTree{}}
	for _, oid := range commits {
		if err := k.commit(oid, isRoot); err != nil {
			return nil, err
		}
	}
	return k.found, nil
}

// keepWalk is a walk from commits on. That the repository has a tree says nothing
// about what the tree leads to: it may be what a process left that died, or
// somebody's who made it without. So a tree that is not written here is walked, too,
// unless the parents of its commit have it in the same place.
type keepWalk struct {
	q     *quarantine
	ctx   context.Context
	found []object.Object
	seen  map[string]bool // and walked, or left out

	// What was read: a commit of a stack is a parent, too, and its tree a base.
	commits map[string]walkedCommit
	trees   map[string]walkedTree
}

type walkedCommit struct {
	object.Object
	object.Commit
	isOwn bool // written here, not in the repository
}

type walkedTree struct {
	object.Object
	entries []object.TreeEntry
	isOwn   bool
}

// commitRole says how a walk came to a commit.
type commitRole string

const (
	isRoot   commitRole = "root"   // it is to be kept
	isParent commitRole = "parent" // of one that is; the repository's own are whole
)

// object reads an object that was written here, or else one of the repository.
func (k *keepWalk) object(oid string) (o object.Object, isOwn bool, err error) {
	o, err = k.q.readOwn(oid)
	if !errors.Is(err, os.ErrNotExist) {
		return o, true, err
	}
	o, err = k.q.repo.Read(k.ctx, oid)
	return o, false, err
}

func (k *keepWalk) readCommit(oid string) (walkedCommit, error) {
	if c, ok := k.commits[oid]; ok {
		return c, nil
	}
	o, isOwn, err := k.object(oid)
	if err != nil {
		return walkedCommit{}, err
	}
	c, err := object.ParseCommit(o)
	if err != nil {
		return walkedCommit{}, err
	}
	k.commits[oid] = walkedCommit{o, c, isOwn}
	return k.commits[oid], nil
}

func (k *keepWalk) readTree(oid string) (walkedTree, error) {
	if t, ok := k.trees[oid]; ok {
		return t, nil
	}
	o, isOwn, err := k.object(oid)
	if err != nil {
		return walkedTree{}, err
	}
	t := walkedTree{Object: o, isOwn: isOwn}
	if o.Type == "tree" {
		if t.entries, err = object.ParseTree(o.Data, k.q.repo.objectFormat().Size()); err != nil {
			return walkedTree{}, err
		}
	}
	if !isOwn {
		t.Data = nil // only what was written here is written anew
	}
	k.trees[oid] = t
	return t, nil
}

func (k *keepWalk) commit(oid string, role commitRole) error {
	if k.seen[oid] {
		return nil
	}
	k.seen[oid] = true
	c, err := k.readCommit(oid)
	if err != nil || !c.isOwn && role == isParent {
		return err
	}
	var bases []string
	for _, p := range c.Parents {
		if err := k.commit(p, isParent); err != nil {
			return err
		}
		was, err := k.readCommit(p)
		if err != nil {
			return err
		}
		bases = append(bases, was.Tree)
	}
	if err := k.tree(c.Tree, bases, 0); err != nil {
		return err
	}
	if c.isOwn {
		k.found = append(k.found, c.Object)
	}
	return nil
}

// tree walks a tree, but for what one of the bases has in the same place.
func (k *keepWalk) tree(oid string, bases []string, depth int) error {
	if depth > object.MaxDepth {
		return fmt.Errorf("%s: the tree is deeper than %d", oid, object.MaxDepth)
	}
	if k.seen[oid] || slices.Contains(bases, oid) {
		return nil
	}
	k.seen[oid] = true
	t, err := k.readTree(oid)
	if err != nil {
		return err
	}
	if t.Type != "tree" {
		return fmt.Errorf("%s is a %s, not a tree", oid, t.Type)
	}
	was, err := k.entriesOf(bases)
	if err != nil {
		return err
	}
	for _, e := range t.entries {
		there := was[e.Name]
		switch {
		case e.Mode == "160000": // a submodule's commit is in another repository
		case e.Mode == "40000":
			err = k.tree(e.OID, there, depth+1)
		case !slices.Contains(there, e.OID):
			err = k.blob(e.OID, t.isOwn)
		}
		if err != nil {
			return err
		}
	}
	if t.isOwn {
		k.found = append(k.found, t.Object)
	}
	return nil
}

// entriesOf lists what trees have under each name.
func (k *keepWalk) entriesOf(trees []string) (map[string][]string, error) {
	all := map[string][]string{}
	for _, oid := range trees {
		t, err := k.readTree(oid)
		if errors.Is(err, object.ErrMissing) {
			continue // a partial clone lacks it
		}
		if err != nil {
			return nil, err
		}
		for _, e := range t.entries { // none where a file is a directory now
			all[e.Name] = append(all[e.Name], e.OID)
		}
	}
	return all, nil
}

// blob takes a file. Git, which wrote the trees that are here, made sure that it
// is somewhere; of other trees nobody did.
func (k *keepWalk) blob(oid string, isNamedHere bool) error {
	if k.seen[oid] {
		return nil
	}
	k.seen[oid] = true
	o, err := k.q.readOwn(oid)
	switch {
	case err == nil:
		k.found = append(k.found, o)
	case !errors.Is(err, os.ErrNotExist):
		return err
	case !isNamedHere:
		_, err := k.q.repo.Info(k.ctx, oid)
		return err
	}
	return nil
}
