package odb

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
)

// OpenObjects opens the object directories of a repository, and others.
func (r *Repository) OpenObjects(others ...string) (*object.Files, error) {
	dirs, err := gitdir.AlternatesOf(filepath.Join(r.CommonDir, "objects"))
	if err != nil {
		return nil, err
	}
	o, err := object.OpenFiles(r.ObjectFormat(), append(dirs, others...)...)
	if err != nil {
		return nil, err
	}
	o.Partial = r.Format.Partial
	return o, nil
}

// Rehash makes sure that what each span brings is what its name says: the commit
// that it leads to, and every tree and file of it that the commit before does not
// have. Whoever can write the repository can put another object under any name, and
// git does not look when it reads one. It fails with a *ForgedError or, if something
// is not there at all, a *MissingError, and says of which span; -1 if it is none's
// fault.
func (r *Repository) Rehash(ctx context.Context, spans []Span) (span int, err error) {
	for range 3 { // a gc may delete packs meanwhile
		span, err = r.rehash(ctx, spans)
		if !errors.Is(err, object.ErrMissing) {
			break
		}
	}
	return span, err
}

func (r *Repository) rehash(ctx context.Context, spans []Span) (int, error) {
	o, err := r.OpenObjects()
	if err != nil {
		return -1, err
	}
	defer o.Close()
	w := o.Walk(object.OneSide)
	for i, s := range spans {
		if err := w.Span(ctx, s.From, s.To); err != nil {
			return i, err
		}
	}
	return -1, nil
}

// ReadFileAt reads a file at the top of a commit's tree, and makes sure that the
// commit, the tree and the file are what their names say: whoever can write the
// repository can put anything in their places. A file that the tree does not name is
// fs.ErrNotExist; one that it names and that is in no object file is object.ErrMissing,
// as are a commit and a tree.
func (r *Repository) ReadFileAt(ctx context.Context, commit, name string) (object.Object, error) {
	top, err := r.ReadVerified(ctx, commit)
	if err != nil {
		return object.Object{}, err
	}
	c, err := object.ParseCommit(top)
	if err != nil {
		return object.Object{}, err
	}
	tree, err := r.ReadVerified(ctx, c.Tree)
	if err != nil {
		return object.Object{}, err
	}
	entries, err := object.ParseTree(tree.Data, r.ObjectFormat().Size())
	if err != nil {
		return object.Object{}, err
	}
	i := slices.IndexFunc(entries, func(e object.TreeEntry) bool { return e.Name == name })
	if i < 0 {
		return object.Object{}, fmt.Errorf("%s:%s: %w", commit, name, fs.ErrNotExist)
	}
	return r.ReadVerified(ctx, entries[i].OID)
}

// ReadVerified reads an object and fails unless its content has that name.
func (r *Repository) ReadVerified(ctx context.Context, oid string) (object.Object, error) {
	o, err := r.Read(ctx, oid)
	if err != nil {
		return o, err
	}
	h := r.ObjectFormat().NewHash()
	h.Write([]byte(o.Type + " " + strconv.Itoa(len(o.Data)) + "\x00"))
	h.Write(o.Data)
	if got := hex.EncodeToString(h.Sum(nil)); got != oid || o.OID != oid {
		return object.Object{}, fmt.Errorf("%s: %w", oid, object.ErrForged)
	}
	return o, nil
}
