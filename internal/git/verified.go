package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// ErrForgedObject says that an object is not what its name says. Git itself does not
// look when it reads one.
var ErrForgedObject = errors.New("the object is not what its name says")

// ReadFileAt reads a file at the top of a commit's tree, and makes sure that the
// commit, the tree and the file are what their names say: whoever can write the
// repository can put anything in their places. A file that is not there is
// ErrNoObject.
func (r *Repository) ReadFileAt(ctx context.Context, commit, name string) (Object, error) {
	top, err := r.readVerified(ctx, commit)
	if err != nil {
		return Object{}, err
	}
	c, err := parseCommit(top)
	if err != nil {
		return Object{}, err
	}
	tree, err := r.readVerified(ctx, c.Tree)
	if err != nil {
		return Object{}, err
	}
	entries, err := r.parseTree(tree.Data)
	if err != nil {
		return Object{}, err
	}
	i := slices.IndexFunc(entries, func(e TreeEntry) bool { return e.Name == name })
	if i < 0 {
		return Object{}, fmt.Errorf("%s:%s: %w", commit, name, ErrNoObject)
	}
	return r.readVerified(ctx, entries[i].OID)
}

func (r *Repository) readVerified(ctx context.Context, oid string) (Object, error) {
	o, err := r.Read(ctx, oid)
	if err != nil {
		return o, err
	}
	h := r.newHash()
	h.Write([]byte(o.Type + " " + strconv.Itoa(len(o.Data)) + "\x00"))
	h.Write(o.Data)
	if got := hex.EncodeToString(h.Sum(nil)); got != oid || o.OID != oid {
		return Object{}, fmt.Errorf("%s: %w", oid, ErrForgedObject)
	}
	return o, nil
}
