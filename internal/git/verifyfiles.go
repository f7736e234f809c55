package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// rehash verifies that the files which git has just written are those of the tree: git
// does not check that the content of an object matches its name. The index must describe
// the tree, and every file must hash to its entry. A file that git converts differs from
// its blob; then the blob is rehashed.
func (s *Scratch) rehash(ctx context.Context, spec ScratchSpec) error {
	data, err := os.ReadFile(s.index)
	if err != nil {
		return err
	}
	x, err := index.Parse(data, s.repo.ObjectFormat().NewHash())
	if err != nil {
		return err
	}
	root, err := x.Trees(s.repo.ObjectFormat())
	if err != nil {
		return err
	}
	files := filesOf{repo: s.repo, objects: spec.Objects, work: s.Path, workers: spec.Workers}
	if hex.EncodeToString(root.OID) != spec.Tree {
		// Old trees have modes that an index cannot have; then the trees themselves are
		// compared.
		if err := files.verifyIndex(ctx, x, spec.Tree); err != nil {
			return err
		}
	}
	return files.compare(ctx, x.Entries)
}

// filesOf are the files of a checkout that are compared with objects.
type filesOf struct {
	repo    *Repository
	objects string // another object directory, or empty
	work    string
	workers int
}

func (f filesOf) open() (*object.Files, error) {
	if f.objects == "" {
		return f.repo.OpenObjects()
	}
	return f.repo.OpenObjects(f.objects)
}

// verifyIndex verifies that an index has the entries of a tree, and that the content of
// the tree and its subtrees matches their names.
func (f filesOf) verifyIndex(ctx context.Context, x *index.Index, tree string) error {
	o, err := f.open()
	if err != nil {
		return err
	}
	defer o.Close()
	want := map[string]string{}
	var read func(oid, prefix string, depth int) error
	read = func(oid, prefix string, depth int) error {
		if depth > object.MaxDepth {
			return fmt.Errorf("%.200q: the tree is deeper than %d", prefix, object.MaxDepth)
		}
		list, err := o.Walk(object.OneSide).Entries(ctx, oid, prefix)
		for _, e := range list {
			if e.Mode != "40000" {
				want[prefix+e.Name] = e.OID
			} else if err == nil {
				err = read(e.OID, prefix+e.Name+"/", depth+1)
			}
		}
		return err
	}
	if err := read(tree, "", 0); err != nil {
		return err
	}
	for _, e := range x.Entries {
		if want[e.Path] != e.OID {
			return &object.ForgedError{OID: e.OID, Path: e.Path, File: "the index"}
		}
		delete(want, e.Path)
	}
	for path, oid := range want {
		return &object.ForgedError{OID: oid, Path: path, File: "the index"}
	}
	return nil
}

// compare hashes files, and rehashes the blobs of those that differ.
func (f filesOf) compare(ctx context.Context, entries []index.Entry) error {
	var mu sync.Mutex
	var others []index.Entry
	var g errgroup.Group
	g.SetLimit(max(1, f.workers))
	for part := range slices.Chunk(entries, 64) {
		g.Go(func() error {
			for _, e := range part {
				if e.Mode == "160000" || ctx.Err() != nil {
					continue
				}
				if same, err := f.isWritten(e); err != nil {
					return err
				} else if !same {
					mu.Lock()
					others = append(others, e)
					mu.Unlock()
				}
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil || len(others) == 0 {
		return err
	}
	o, err := f.open()
	if err != nil {
		return err
	}
	defer o.Close()
	for _, e := range others {
		if _, err := o.Verify(ctx, e.OID, object.KeepNothing); err != nil {
			return object.AtPath(err, e.Path)
		}
	}
	return nil
}

// isWritten reports whether a file has the content of the blob that its entry names.
func (f filesOf) isWritten(e index.Entry) (bool, error) {
	path := filepath.Join(f.work, filepath.FromSlash(e.Path))
	if target, err := os.Readlink(path); err == nil && e.Mode == "120000" {
		oid, err := f.repo.HashBlob(strings.NewReader(target), int64(len(target)))
		return oid == e.OID, err
	}
	in, err := fsx.Open(path)
	if err != nil {
		return false, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return false, err
	}
	oid, err := f.repo.HashBlob(in, info.Size())
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	}
	return oid == e.OID, err
}
