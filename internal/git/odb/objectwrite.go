package odb

import (
	"context"
	"io"

	"github.com/croft-sh/croft/internal/git/object"
)

// Croft writes objects itself instead of running git: that saves a process for each, and
// syncs each object to disk before its name is used.

// WriteBlob stores data as a blob and returns its name.
func (r *Repository) WriteBlob(data []byte) (string, error) {
	return r.writeOneObject(func(b *object.Batch) (string, error) { return b.WriteBlob(data) })
}

// WriteBlobFrom stores size bytes of a reader as a blob. It fails if the reader has fewer
// or more: the file changed while it was read.
func (r *Repository) WriteBlobFrom(in io.Reader, size int64) (string, error) {
	return r.writeOneObject(func(b *object.Batch) (string, error) { return b.WriteBlobFrom(in, size) })
}

// HashBlob returns the name that size bytes of a reader would have as a blob, and stores
// nothing.
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

// Batch begins a batch of loose objects, which only git prune deletes, however long it
// takes until a ref names them. The caller calls Flush to keep what was written, and
// Discard in any case.
func (r *Repository) Batch() *object.Batch { return object.NewBatch(r.Store()) }

// PackBatch begins a batch whose small objects go into one pack, so that two files are
// synced for all of them. A large object is written loose, so that a later batch finds it.
// The caller calls Discard once a ref names the objects, or if no ref is going to.
func (r *Repository) PackBatch() *object.Batch { return object.NewPackBatch(r.Store()) }

// ReplacingBatch is Batch for objects that cannot be read: existing files are replaced.
func (r *Repository) ReplacingBatch() *object.Batch { return object.NewReplacingBatch(r.Store()) }

// Store is the object directory that batches write to.
func (r *Repository) Store() object.Store {
	s := object.Store{CommonDir: r.CommonDir, Format: r.ObjectFormat(), Has: func(ctx context.Context, oid string) error {
		_, err := r.Info(ctx, oid)
		return err
	}}
	if tell := r.Git.Options.ManyPacks; tell != nil {
		s.Packed = func() {
			if r.hasManyPacks() {
				tell(r.CommonDir)
			}
		}
	}
	return s
}
