package git

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/croft-sh/croft/internal/git/object"
)

// ReadFileAt reads a file at the top of a commit's tree, and makes sure that the
// commit, the tree and the file are what their names say: whoever can write the
// repository can put anything in their places. A file that is not there is
// ErrNoObject.
func (r *Repository) ReadFileAt(ctx context.Context, commit, name string) (object.Object, error) {
	top, err := r.readVerified(ctx, commit)
	if err != nil {
		return object.Object{}, err
	}
	c, err := object.ParseCommit(top)
	if err != nil {
		return object.Object{}, err
	}
	tree, err := r.readVerified(ctx, c.Tree)
	if err != nil {
		return object.Object{}, err
	}
	entries, err := object.ParseTree(tree.Data, r.objectFormat().Size())
	if err != nil {
		return object.Object{}, err
	}
	i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == name })
	if i < 0 {
		return object.Object{}, fmt.Errorf("%s:%s: %w", commit, name, object.ErrMissing)
	}
	return r.readVerified(ctx, entries[i].OID)
}

func (r *Repository) readVerified(ctx context.Context, oid string) (object.Object, error) {
	o, err := r.Read(ctx, oid)
	if err != nil {
		return o, err
	}
	h := r.objectFormat().New()
	h.Write([]byte(o.Type + " " + strconv.Itoa(len(o.Data)) + "\x00"))
	h.Write(o.Data)
	if got := hex.EncodeToString(h.Sum(nil)); got != oid || o.OID != oid {
		return object.Object{}, fmt.Errorf("%s: %w", oid, object.ErrForged)
	}
	return o, nil
}
