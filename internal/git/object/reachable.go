package object

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Reachable returns the objects of own that commits reach, which may reference objects of
// the repository. An object comes after those that it references, so that a process which
// dies while it writes them leaves no incomplete one.
func Reachable(ctx context.Context, own Dir, repo Reader, commits []string) ([]Object, error) {
	k := &keepWalk{own: own, repo: repo, ctx: ctx, seen: map[string]bool{}, commits: map[string]walkedCommit{}, trees: map[string]walkedTree{}}
	for _, oid := range commits {
		if err := k.commit(oid, isRoot); err != nil {
			return nil, err
		}
	}
	return k.found, nil
}

// Reader reads the objects of a repository. It fails with [ErrMissing].
type Reader interface {
	Read(ctx context.Context, name string) (Object, error)
	Info(ctx context.Context, name string) (Object, error)
}

// keepWalk is a walk from commits. That the repository has a tree does not mean that it
// has everything in it: a process may have died, or not written the rest. So a tree of the
// repository is walked, too, unless the parents of its commit have it at the same path.
type keepWalk struct {
	own   Dir
	zlib  inflater
	repo  Reader
	ctx   context.Context
	found []Object
	seen  map[string]bool // objects that were walked or left out

	// Commits and trees that were read: a commit of a stack is a parent, too, and its tree
	// a base.
	commits map[string]walkedCommit
	trees   map[string]walkedTree
}

type walkedCommit struct {
	Object
	Commit
	isOwn bool // in own, not in the repository
}

type walkedTree struct {
	Object
	entries []TreeEntry
	isOwn   bool
}

// commitRole says how a walk came to a commit.
type commitRole string

const (
	isRoot   commitRole = "root"   // it is to be kept
	isParent commitRole = "parent" // a parent of a kept one; the repository's own are complete
)

// object reads an object of own, or else of the repository.
func (k *keepWalk) object(oid string) (o Object, isOwn bool, err error) {
	o, err = k.own.read(oid, &k.zlib)
	if !errors.Is(err, os.ErrNotExist) {
		return o, true, err
	}
	o, err = k.repo.Read(k.ctx, oid)
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
	c, err := ParseCommit(o)
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
		if t.entries, err = ParseTree(o.Data, k.own.Format.Size()); err != nil {
			return walkedTree{}, err
		}
	}
	if !isOwn {
		t.Data = nil // only objects of own are written again
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

// tree walks a tree, without the entries that one of the bases has at the same path.
func (k *keepWalk) tree(oid string, bases []string, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%s: the tree is deeper than %d", oid, MaxDepth)
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

// entriesOf returns the objects that trees have under each name.
func (k *keepWalk) entriesOf(trees []string) (map[string][]string, error) {
	all := map[string][]string{}
	for _, oid := range trees {
		t, err := k.readTree(oid)
		if errors.Is(err, ErrMissing) {
			continue // a partial clone lacks it
		}
		if err != nil {
			return nil, err
		}
		for _, e := range t.entries { // none if a file has become a directory
			all[e.Name] = append(all[e.Name], e.OID)
		}
	}
	return all, nil
}

// blob adds a blob. Git wrote the trees of own, and verified that their blobs exist; those
// of other trees are looked up.
func (k *keepWalk) blob(oid string, isNamedHere bool) error {
	if k.seen[oid] {
		return nil
	}
	k.seen[oid] = true
	o, err := k.own.read(oid, &k.zlib)
	switch {
	case err == nil:
		k.found = append(k.found, o)
	case !errors.Is(err, os.ErrNotExist):
		return err
	case !isNamedHere:
		_, err := k.repo.Info(k.ctx, oid)
		return err
	}
	return nil
}
