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

// storeState stores the index, and the worktree's own part of the git directory.
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
		part{"100644", "admin.tar", s.storeAdmin},
	)
}

// part is an entry of a snapshot's tree.
type part struct {
	mode, name string
	store      func() (string, error) // returns its object; "": there is none
}

// storeParts stores parts, one after the other, and returns their tree entries.
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

// storeEmpty stores the empty blob if the index has intent-to-add entries: they name it.
func (s *saver) storeEmpty() (string, error) {
	if !s.intended {
		return "", nil
	}
	return s.batch.WriteBlob(nil)
}

// storeStaged stores the tree that the index describes. Most often it is the tree of
// HEAD.
func (s *saver) storeStaged(ctx context.Context) (string, error) {
	tree, err := s.storeIndexTree(ctx)
	if err != nil {
		return "", err
	}
	if s.meta.Head.OID != "" {
		head, err := s.w.Repo.Info(ctx, s.meta.Head.OID+"^{tree}")
		if err != nil || head.OID == tree {
			return tree, err
		}
	}
	s.surveyStaged(ctx, tree)
	return tree, nil
}

// storeIndexTree stores the tree that the index describes, without entries in conflict. It
// is computed from the entries: the tree that an index names need not be theirs, and then
// nothing would keep their objects. Git can read it before the snapshot is complete.
func (s *saver) storeIndexTree(ctx context.Context) (string, error) {
	root, err := s.index.Trees(s.w.Repo.ObjectFormat())
	if err != nil {
		return "", err
	}
	b := s.w.Repo.Batch()
	defer b.Discard()
	tree, err := s.w.Repo.WriteIndexTrees(ctx, b, root)
	if err == nil {
		err = b.Flush()
	}
	return tree, err
}

// storeRest stores the files that were found and are not stored yet, the nested
// repositories and the metadata, and returns their tree entries.
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

// admin returns the admin directory that is stored.
func (s *saver) admin() string {
	if s.sel.Trashed == nil {
		return s.own
	}
	if _, err := os.Lstat(s.sel.Trashed.Admin); err != nil {
		return s.own // only the copy exists, which was made for reading
	}
	return s.sel.Trashed.Admin
}

// storeAdmin stores an archive of the admin directory. The index in it is the one that was
// read: if the directory's own index has entries that git would not make, that is the index
// of a copy without these entries.
func (s *saver) storeAdmin() (string, error) {
	dir := s.admin()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	admin, read := archived{root: dir}, archived{root: s.w.Admin}
	for _, e := range entries {
		if name := e.Name(); name != indexName && !StaysInAdmin(name) {
			admin.names = append(admin.names, []byte(name))
		}
	}
	if fsx.IsThere(filepath.Join(read.root, indexName)) {
		read.names = [][]byte{[]byte(indexName)}
	}
	return s.storeTar(admin, read)
}

// indexName is the name of the index in an admin directory.
const indexName = "index"

// storeChanged stores the tracked files that differ from what a checkout would write.
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
		case back: // only the mode differs
			e.OID, err = s.storeFile(filepath.Join(s.root, path), "")
		}
		return e, size, err
	})
}

// storeFiles stores files whose objects may be known already.
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

// storeEach stores the raw contents of files and links, several at once.
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

// storeEntry stores one file or link. For another kind of file it returns no entry. It
// fails if the file has vanished; then Save begins again.
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

// racy is how long a file's time may stay the same after a change.
const racy = 50 * time.Millisecond

// storeFile stores the contents that a file has at one moment: it fails if the file
// changes while it is read. It stores nothing if the contents are those of the object
// there.
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
	// The file changed just before, so its time cannot tell whether it changed again
	// while it was read.
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	again, err := s.w.Repo.HashBlob(f, before.Size())
	if err == nil && again != oid {
		err = fmt.Errorf("%s: %w", full, ErrChanging)
	}
	return oid, err
}

// storeStages stores a tree that keeps the objects of a conflict: stages/1/path and so
// on.
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

// newTrees writes trees that are made from nothing.
type newTrees struct{ *object.Batch }

// ReadTree is never called, because no existing tree is edited.
func (newTrees) ReadTree(context.Context, string) ([]object.TreeEntry, error) {
	return nil, object.ErrMissing
}

// storeSecrets copies private files to a directory that only the user can read. None of
// them becomes an object, even if there is no such directory.
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

// storeNested stores nested repositories whole.
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
	return s.storeTar(archived{s.root, s.meta.Nested})
}

// storeTar stores an archive of entries of directories.
func (s *saver) storeTar(from ...archived) (string, error) {
	size, err := tarSize(from)
	if err != nil {
		return "", err
	}
	in, out := io.Pipe()
	go func() { out.CloseWithError(writeTar(out, from, copyFile)) }()
	oid, err := s.batch.WriteBlobFrom(in, size)
	_ = in.CloseWithError(err)
	return oid, err
}

// deleteSecrets deletes the private files that were written for this snapshot.
func (s *saver) deleteSecrets() {
	for _, path := range s.secrets {
		_ = os.Remove(path)
	}
}
