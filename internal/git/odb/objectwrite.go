package odb

import (
	"context"
	"io"

	"github.com/croft-sh/croft/internal/git/object"
)

// Objects are written here, and not by a git process, because it saves one
// process for each, and because they are then known to be on disk: an object
// is synced before its name is used.

// WriteBlob stores data as an object and returns its name.
func (r *Repository) WriteBlob(data []byte) (string, error) {
	return r.writeOneObject(func(b *object.Batch) (string, error) { return b.WriteBlob(data) })
}

// WriteBlobFrom stores size bytes of a reader as an object. A reader that has
// fewer or more is an error: the file changed while it was read.
func (r *Repository) WriteBlobFrom(in io.Reader, size int64) (string, error) {
	return r.writeOneObject(func(b *object.Batch) (string, error) { return b.WriteBlobFrom(in, size) })
}

// HashBlob returns the name that size bytes of a reader would have as an
// object, and stores nothing.
func (r *Repository) HashBlob(in io.Reader, size int64) (string, error) {
	return r.ObjectFormat().HashBlob(in, size)
}

// WriteTree stores a tree and returns its name.
func (r *Repository) WriteTree(entries []object.TreeEntry) (string, error) {
	return r.writeOneObject(func(b *object.Batch) (string, error) { return b.WriteTree(entries) })
}

// WriteCommit stores a commit and returns its name.
func (r *Repository) WriteCommit(c object.Commit) (string, error) {
	return r.writeOneObject(func(b *object.Batch) (string, error) { return b.WriteCommit(c) })
}

// writeOneObject writes one object in a batch of its own.
func (r *Repository) writeOneObject(write func(*object.Batch) (string, error)) (string, error) {
	b := r.Batch()
	defer b.Discard()
	oid, err := write(b)
	if err != nil {
		return "", err
	}
	return oid, b.Flush()
}

// Batch begins a batch of objects that have a file each: nothing but pruning
// removes those, however long it takes until a ref names them. Call Flush to
// keep what was written, and Discard after all.
func (r *Repository) Batch() *object.Batch { return object.NewBatch(r.Store()) }

// PackBatch begins a batch whose small objects go into one pack, so that two
// files are synced for all of them; a large one is a file of its own, which a
// later batch that has it too finds again. Discard is called once a ref names
// what was written, or nothing is going to.
func (r *Repository) PackBatch() *object.Batch { return object.NewPackBatch(r.Store()) }

// AnewBatch is Batch for objects that cannot be read: what lies at their places is
// replaced.
func (r *Repository) AnewBatch() *object.Batch { return object.NewReplacingBatch(r.Store()) }

// Store is where batches write.
func (r *Repository) Store() object.Store {
	s := object.Store{CommonDir: r.CommonDir, Format: r.ObjectFormat(), Has: func(ctx context.Context, oid string) error {
		_, err := r.Info(ctx, oid)
		return err
	}}
	if tell := r.Git.Options.ManyPacks; tell != nil {
		s.Packed = func() {
			if r.HasManyPacks() {
				tell(r.CommonDir)
			}
		}
	}
	return s
}
