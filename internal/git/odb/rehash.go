package odb

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/object"
)

// OpenObjects opens the object directories of the repository, and others.
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

// Rehash verifies that the content of each span's objects matches their names: the commit
// To, and every tree and blob that it has and From does not. A process that can write the
// repository can store other content under any name, and git does not verify it when it
// reads. It fails with a *ForgedError or, if an object does not exist, a *MissingError,
// and returns the index of the span; -1 if the error concerns none.
func (r *Repository) Rehash(ctx context.Context, spans []Span) (span int, err error) {
	for range 3 { // a concurrent gc may delete packs
		span, err = r.rehash(ctx, spans)
		if !errors.Is(err, object.ErrMissing) {
			break
		}
	}
	return span, err
}

// worthAWorker is how many spans are worth a worker, which verifies objects again that the
// others have verified.
const worthAWorker = 16

// rehash verifies shares of the spans at the same time, and returns the first failure in
// the order of the spans.
func (r *Repository) rehash(ctx context.Context, spans []Span) (int, error) {
	workers := max(1, min(runtime.NumCPU(), len(spans)/worthAWorker))
	share := (len(spans) + workers - 1) / workers
	failed, errs := make([]int, workers), make([]error, workers)
	var all sync.WaitGroup
	for k := range workers {
		all.Go(func() {
			from := min(k*share, len(spans))
			failed[k], errs[k] = r.rehashShare(ctx, spans[from:min(from+share, len(spans))])
			if failed[k] >= 0 {
				failed[k] += from
			}
		})
	}
	all.Wait()
	for k, err := range errs {
		if err != nil {
			return failed[k], err
		}
	}
	return -1, nil
}

func (r *Repository) rehashShare(ctx context.Context, spans []Span) (int, error) {
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

// ReadFileAt reads a file at the top of a commit's tree, and verifies that the content of
// commit, tree and blob matches their names. It fails with fs.ErrNotExist if the tree does
// not name the file, and with object.ErrMissing if the commit, the tree or the blob does
// not exist.
func (r *Repository) ReadFileAt(ctx context.Context, commit, name string) (object.Object, error) {
	o, _, err := r.ReadEntryAt(ctx, commit, name)
	return o, err
}

// ReadEntryAt is ReadFileAt, and returns the mode of the entry, too: "120000" is a link. A submodule does not exist.
func (r *Repository) ReadEntryAt(ctx context.Context, commit, name string) (o object.Object, mode string, err error) {
	files := r.FilesOf(commit)
	defer files.Close()
	return files.Entry(ctx, name)
}

// ReadVerified reads an object and fails unless its content matches its name.
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
