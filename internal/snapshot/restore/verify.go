package restore

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/snapshot"
)

// Verify fails if it finds that a snapshot cannot be restored. It writes the admin directory
// to a temporary one, and reads the metadata, the index and the archive of nested
// repositories. Of the files it checks only that the repository has their blobs.
func Verify(ctx context.Context, r *git.Repository, commit string) error {
	m, err := snapshot.ReadMeta(ctx, r, commit)
	if err != nil {
		return err
	}
	if _, err := snapshot.ReadPaths(ctx, r, commit); err != nil {
		return err
	}
	x, err := readIndex(ctx, r, commit, m.Head.OID)
	if err != nil {
		return err
	}
	var needed []index.Entry
	for _, e := range x.Entries {
		if e.Mode != "160000" {
			needed = append(needed, e)
		}
	}
	stored, err := snapshot.StoredFiles(ctx, r, commit)
	if err != nil {
		return err
	}
	for _, e := range stored {
		needed = append(needed, index.Entry{Path: e.Name, OID: e.OID})
	}
	if err := requireBlobs(ctx, r, needed); err != nil || len(m.Nested) == 0 {
		return err
	}
	return verifyArchive(ctx, r, commit+":nested.tar")
}

// readIndex reads the index of a snapshot from the admin directory that Restore would
// write. It fails with ErrFormat if git could not check it out.
func readIndex(ctx context.Context, r *git.Repository, commit, head string) (*index.Index, error) {
	tmp, remove, err := r.TempDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	if err := WriteAdmin(ctx, r, commit, tmp); err != nil {
		return nil, err
	}
	if !fsx.IsThere(filepath.Join(tmp, "index")) {
		return &index.Index{}, nil
	}
	p, err := r.OpenTrashed(ctx, git.Trashed{Name: "verified-" + commit, Admin: tmp, Tree: tmp, Head: head})
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	if f := p.Faults; len(f) > 0 {
		return nil, fmt.Errorf("%w: its index has the entry %q, which git would not make: %s", snapshot.ErrFormat, f[0].Path, f[0].Why)
	}
	return p.Index(ctx)
}

// requireBlobs fails with a *object.MissingError unless the objects of all entries are
// blobs that the repository has.
func requireBlobs(ctx context.Context, r *git.Repository, entries []index.Entry) error {
	oids := make([]string, len(entries))
	for i, e := range entries {
		oids[i] = e.OID
	}
	sizes, err := r.BlobSizes(ctx, oids)
	for i, size := range sizes {
		if size < 0 {
			return &object.MissingError{OID: entries[i].OID, Path: entries[i].Path}
		}
	}
	return err
}

// verifyArchive reads an archive to its end.
func verifyArchive(ctx context.Context, r *git.Repository, name string) error {
	return readArchive(ctx, r, name, func(in io.Reader) error {
		for t := tar.NewReader(in); ; {
			if _, err := t.Next(); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}
