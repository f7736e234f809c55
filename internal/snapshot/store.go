package snapshot

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
)

// storeState stores what git knows of the worktree: what is staged, and its own
// part of the git directory.
func (s *saver) storeState(ctx context.Context) ([]object.TreeEntry, error) {
	var err error
	if s.meta.Head.Branch, s.meta.Head.OID, err = s.w.Head(ctx); err != nil {
		return nil, err
	}
	if s.sel.Trashed != nil {
		s.meta.Head.Branch = s.sel.Trashed.Branch
	}
	return storeParts(
		part{"40000", "staged", func() (string, error) { return s.storeStaged(ctx) }},
		part{"40000", "stages", s.storeStages},
		part{"100644", "empty", s.storeEmpty},
		part{"100644", "admin.tar", func() (string, error) {
			return s.storeTar(s.admin(), func(name string) bool { return !StaysInAdmin(name) }, nil)
		}},
	)
}

// part is an entry of a snapshot's tree.
type part struct {
	mode, name string
	store      func() (string, error) // returns its object; "" means that there is none
}

// storeParts stores parts, one after the other, and returns the entries for them.
func storeParts(parts ...part) ([]object.TreeEntry, error) {
	var entries []object.TreeEntry
	for _, p := range parts {
		oid, err := p.store()
		if err != nil {
			return nil, err
		}
		if oid != "" {
			entries = append(entries, object.TreeEntry{Mode: p.mode, Name: p.name, OID: oid})
		}
	}
	return entries, nil
}

// storeEmpty stores the empty file that the index names for what is going to be added.
func (s *saver) storeEmpty() (string, error) {
	if !s.intended {
		return "", nil
	}
	return s.batch.WriteBlob(nil)
}

// storeStaged stores the tree that the index describes. Most often it is that
// of HEAD.
func (s *saver) storeStaged(ctx context.Context) (string, error) {
	if s.index.Tree != "" && s.meta.Head.OID != "" {
		head, err := s.w.Repo.Info(ctx, s.meta.Head.OID+"^{tree}")
		if err != nil {
			return "", err
		}
		if head.OID == s.index.Tree {
			return head.OID, nil
		}
	}
	tree, err := indexTree(ctx, s.w, conflictedPaths(s.index))
	if err == nil {
		s.surveyStaged(ctx, tree)
	}
	return tree, err
}

// indexTree has git write the tree that an index describes.
func indexTree(ctx context.Context, w *git.Worktree, conflicted []string) (string, error) {
	tmp, remove, err := w.Repo.TempDir()
	if err != nil {
		return "", err
	}
	defer remove()
	return w.IndexTree(ctx, tmp, conflicted)
}

// storeRest stores what was found and is not stored yet, and returns the
// entries for it.
func (s *saver) storeRest() ([]object.TreeEntry, error) {
	if err := s.storeFiles(slices.Sorted(maps.Keys(s.files))); err != nil {
		return nil, err
	}
	return storeParts(
		part{"40000", "files", func() (string, error) {
			if len(s.stored) == 0 {
				return "", nil
			}
			return s.batch.WriteTree(s.stored)
		}},
		part{"100644", "nested.tar", s.storeNested},
		part{"100644", "meta.json", func() (string, error) {
			text, err := json.Marshal(s.meta)
			if err != nil {
				return "", err
			}
			return s.batch.WriteBlob(text)
		}},
	)
}

// admin is the admin directory that is stored.
func (s *saver) admin() string {
	if s.sel.Trashed == nil {
		return s.w.Admin
	}
	if _, err := os.Lstat(s.sel.Trashed.Admin); err != nil {
		return s.w.Admin // there is only the one that was made for looking
	}
	return s.sel.Trashed.Admin
}

// storeChanged stores those of some tracked files that are not as a checkout
// would write them.
func (s *saver) storeChanged(paths []string, conversions map[string]git.Conversion) error {
	return s.storeEach(paths, func(path string) (object.TreeEntry, int64, error) {
		staged, back := s.index.Entries[s.plain[path]], false
		e, size, err := s.storeEntry(path, func(full string) (oid string, err error) {
			if conversions[path].CRLF {
				if back, err = s.isSameAfterCheckout(full, staged.OID); back || err != nil {
					return staged.OID, err
				}
			}
			return s.storeFile(full, staged.OID)
		})
		switch same := e.OID == staged.OID && (back || !conversions[path].CRLF); {
		case err != nil:
		case same && e.Mode == staged.Mode:
			e.OID = ""
		case back: // but with another mode
			e.OID, err = s.storeFile(filepath.Join(s.root, path), "")
		}
		return e, size, err
	})
}

// storeFiles stores files whose objects may be known.
func (s *saver) storeFiles(paths []string) error {
	return s.storeEach(paths, func(path string) (object.TreeEntry, int64, error) {
		return s.storeEntry(path, func(full string) (string, error) {
			if known := s.files[path]; known != "" {
				return known, nil
			}
			return s.storeFile(full, "")
		})
	})
}

// storeEach stores the raw contents of files and links. Several are written at
// once.
func (s *saver) storeEach(paths []string, store func(path string) (object.TreeEntry, int64, error)) error {
	entries, sizes := make([]object.TreeEntry, len(paths)), make([]int64, len(paths))
	var g errgroup.Group
	g.SetLimit(parallelWrites)
	for i, path := range paths {
		g.Go(func() (err error) {
			entries[i], sizes[i], err = store(path)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, e := range entries {
		if e.OID != "" {
			s.saved.Files++
			s.saved.Bytes += sizes[i]
			e.Name = flatName(filepath.ToSlash(paths[i]))
			s.stored = append(s.stored, e)
		}
	}
	return nil
}

// parallelWrites is how many files are stored at once.
const parallelWrites = 4

// storeEntry stores one file or link. Another kind of file gives no entry. A file that
// has vanished is an error, after which Save begins again.
func (s *saver) storeEntry(path string, contents func(full string) (string, error)) (object.TreeEntry, int64, error) {
	full, e := filepath.Join(s.root, path), object.TreeEntry{Mode: "100644"}
	info, err := os.Lstat(full)
	if err != nil {
		return e, 0, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(full)
		if err != nil {
			return e, 0, err
		}
		e.Mode = "120000"
		e.OID, err = s.batch.WriteBlob([]byte(target))
		return e, info.Size(), err
	case info.Mode().IsRegular():
		if info.Mode()&0o100 != 0 {
			e.Mode = "100755"
		}
		e.OID, err = contents(full)
		return e, info.Size(), err
	}
	return e, 0, nil
}

// racy is how long after a change a clock may still show the same time.
const racy = 50 * time.Millisecond

// storeFile stores the contents of a file, all of one moment: a file that
// changed while it was read is an error. Nothing is stored if they are those of
// an object that is there.
func (s *saver) storeFile(full, there string) (string, error) {
	f, err := fsx.Open(full)
	if err != nil {
		return "", err
	}
	defer f.Close()
	began := time.Now()
	before, err := f.Stat()
	if err != nil {
		return "", err
	}
	oid, err := s.batch.WriteBlobUnless(there, f, before.Size())
	if err != nil {
		return "", err
	}
	after, err := f.Stat()
	if err != nil {
		return "", err
	}
	if after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return "", fmt.Errorf("%s: %w", full, ErrChanging)
	}
	if began.Sub(after.ModTime()) > racy {
		return oid, nil
	}
	// It changed just before; whether it did meanwhile, its time cannot tell.
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	again, err := s.w.Repo.HashBlob(f, before.Size())
	if err == nil && again != oid {
		err = fmt.Errorf("%s: %w", full, ErrChanging)
	}
	return oid, err
}

// storeStages keeps the objects of a conflict: stages/1/path and so on.
func (s *saver) storeStages() (string, error) {
	var edits []object.TreeEdit
	for _, e := range s.index.Entries {
		if e.Stage > 0 && e.Mode != "160000" {
			edits = append(edits, object.TreeEdit{Path: fmt.Sprintf("%d/%s", e.Stage, e.Path), Mode: e.Mode, OID: e.OID})
		}
	}
	if len(edits) == 0 {
		return "", nil
	}
	return object.EditTree(context.Background(), newTrees{s.batch}, "", edits)
}

// newTrees are trees that are made from nothing.
type newTrees struct{ *object.Batch }

// ReadTree is never called: no tree is edited that exists.
func (newTrees) ReadTree(context.Context, string) ([]object.TreeEntry, error) {
	return nil, object.ErrMissing
}

// storeSecrets copies files to a directory that only the user can read. None of them
// becomes an object, also if there is no such directory.
func (s *saver) storeSecrets(ctx context.Context, paths []string) error {
	for _, p := range paths {
		delete(s.files, p)
	}
	if s.sel.SecretsDir == "" || len(paths) == 0 {
		return nil
	}
	if err := os.MkdirAll(s.sel.SecretsDir, 0o700); err != nil {
		return err
	}
	s.meta.Secrets = map[string][]byte{}
	earlier := s.secretsOfLast(ctx)
	for _, p := range paths {
		full := filepath.Join(s.root, p)
		info, err := os.Lstat(full)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		name := rand.Text()
		copied := filepath.Join(s.sel.SecretsDir, name)
		s.secrets = append(s.secrets, copied)
		if err := fsx.Copy(full, copied, 0o600); err != nil {
			return err
		}
		if err := fsx.SyncFile(copied); err != nil {
			return err
		}
		if name, err = s.renameToLast(name, earlier[p]); err != nil {
			return err
		}
		s.meta.Secrets[name] = []byte(p)
		s.saved.Secrets++
	}
	return nil
}

// storeNested stores repositories inside the worktree whole.
func (s *saver) storeNested() (string, error) {
	if len(s.nested) == 0 {
		return "", nil
	}
	for p := range s.nested {
		s.meta.Nested = append(s.meta.Nested, []byte(p))
	}
	slices.SortFunc(s.meta.Nested, bytes.Compare)
	if err := s.listNested(s.meta.Nested); err != nil {
		return "", err
	}
	return s.storeTar(s.root, nil, s.meta.Nested)
}

// storeTar stores what lies in a directory: the entries that keep accepts, or
// those named.
func (s *saver) storeTar(root string, keep func(name string) bool, names [][]byte) (string, error) {
	if keep != nil {
		entries, err := os.ReadDir(root)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if keep(e.Name()) {
				names = append(names, []byte(e.Name()))
			}
		}
	}
	size, err := tarSize(root, names)
	if err != nil {
		return "", err
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(writeTar(out, root, names, copyFile)) }()
	oid, err := s.batch.WriteBlobFrom(in, size)
	_ = in.CloseWithError(err)
	return oid, err
}

// deleteSecrets deletes what a snapshot that failed had written.
func (s *saver) deleteSecrets() {
	for _, path := range s.secrets {
		_ = os.Remove(path)
	}
}
