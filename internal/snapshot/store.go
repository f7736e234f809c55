package snapshot

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/git"
)

// store writes the objects and returns the entries of the snapshot's tree.
func (s *saver) store(ctx context.Context, tmp string) ([]git.TreeEntry, error) {
	if err := s.storeSecrets(ctx); err != nil {
		return nil, err
	}
	files, err := s.storeFiles()
	if err != nil {
		return nil, err
	}
	staged, err := s.w.IndexTree(ctx, tmp, s.conflicted)
	if err != nil {
		return nil, err
	}
	entries := []git.TreeEntry{{Mode: "40000", Name: "staged", OID: staged}}
	if files != "" {
		entries = append(entries, git.TreeEntry{Mode: "40000", Name: "files", OID: files})
	}
	stages, err := s.storeStages()
	if err != nil {
		return nil, err
	}
	if stages != "" {
		entries = append(entries, git.TreeEntry{Mode: "40000", Name: "stages", OID: stages})
	}
	if s.intended { // the index names an empty file for what is going to be added
		oid, err := s.batch.WriteBlob(nil)
		if err != nil {
			return nil, err
		}
		entries = append(entries, git.TreeEntry{Mode: "100644", Name: "empty", OID: oid})
	}
	admin, err := s.storeTar(s.admin(), func(name string) bool {
		return name != "gitdir" && name != "commondir" && name != "locked" && !strings.HasSuffix(name, ".lock")
	}, nil)
	if err != nil {
		return nil, err
	}
	entries = append(entries, git.TreeEntry{Mode: "100644", Name: "admin.tar", OID: admin})
	if len(s.nested) > 0 {
		nested, err := s.storeNested()
		if err != nil {
			return nil, err
		}
		entries = append(entries, git.TreeEntry{Mode: "100644", Name: "nested.tar", OID: nested})
	}
	if s.meta.Head.Branch, s.meta.Head.OID, err = s.w.Head(ctx); err != nil {
		return nil, err
	}
	if s.sel.Stowed != nil {
		s.meta.Head.Branch = s.sel.Stowed.Branch
	}
	text, err := s.meta.encode()
	if err != nil {
		return nil, err
	}
	oid, err := s.batch.WriteBlob(text)
	return append(entries, git.TreeEntry{Mode: "100644", Name: "meta.json", OID: oid}), err
}

// admin is the admin directory that is stored.
func (s *saver) admin() string {
	if s.sel.Stowed == nil {
		return s.w.Admin
	}
	if _, err := os.Lstat(s.sel.Stowed.Admin); err != nil {
		return s.w.Admin // there is only the one that was made for looking
	}
	return s.sel.Stowed.Admin
}

// storeFiles stores the raw contents of files and links, as a tree. Several
// are written at once.
func (s *saver) storeFiles() (string, error) {
	paths := slices.Sorted(maps.Keys(s.files))
	entries, sizes, errs := make([]git.TreeEntry, len(paths)), make([]int64, len(paths)), make([]error, len(paths))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(writers, len(paths)) {
		wg.Go(func() {
			for i := range next {
				entries[i], sizes[i], errs[i] = s.storeEntry(paths[i], s.files[paths[i]])
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	root := &dir{}
	for i, e := range entries {
		if e.OID != "" {
			s.saved.Files++
			s.saved.Bytes += sizes[i]
			root.add(flatName(filepath.ToSlash(paths[i])), e)
		}
	}
	if s.saved.Files == 0 {
		return "", nil
	}
	return root.write(s.batch)
}

// writers are how many files are stored at once.
const writers = 4

// storeEntry stores one file or link. What is neither gives no entry; what
// vanished is an error, and the snapshot begins again.
func (s *saver) storeEntry(path, known string) (git.TreeEntry, int64, error) {
	full, e := filepath.Join(s.root, path), git.TreeEntry{Mode: "100644"}
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
		if e.OID = known; known == "" {
			e.OID, err = s.storeFile(full)
		}
		return e, info.Size(), err
	}
	return e, 0, nil
}

// racy is how long after a change a clock may still show the same time.
const racy = 50 * time.Millisecond

// storeFile stores the contents of a file, all of one moment: a file that
// changed while it was read is an error.
func (s *saver) storeFile(full string) (string, error) {
	f, err := openFile(full)
	if err != nil {
		return "", err
	}
	defer f.Close()
	began := time.Now()
	before, err := f.Stat()
	if err != nil {
		return "", err
	}
	oid, err := s.batch.WriteBlobFrom(f, before.Size())
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
	root := &dir{}
	for _, e := range s.index {
		if e.Stage > 0 && e.Mode != "160000" {
			root.add(fmt.Sprintf("%d/%s", e.Stage, e.Path), git.TreeEntry{Mode: e.Mode, OID: e.OID})
		}
	}
	if len(root.dirs) == 0 {
		return "", nil
	}
	if s.batch != nil {
		return root.write(s.batch)
	}
	b := s.w.Repo.Batch() // nothing else is stored
	defer b.Discard()
	oid, err := root.write(b)
	if err != nil {
		return "", err
	}
	return oid, b.Flush()
}

// storeSecrets copies chosen ignored files to a directory that only the user
// can read.
func (s *saver) storeSecrets(ctx context.Context) error {
	if s.sel.SecretsDir == "" {
		return nil
	}
	paths, err := s.w.Ignored(ctx, s.sel.Secrets)
	if err != nil || len(paths) == 0 {
		return err
	}
	if err := os.MkdirAll(s.sel.SecretsDir, 0o700); err != nil {
		return err
	}
	s.meta.Secrets = map[string][]byte{}
	for _, p := range paths {
		delete(s.files, p)
		full := filepath.Join(s.root, p)
		info, err := os.Lstat(full)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		name := randomName()
		s.secrets = append(s.secrets, filepath.Join(s.sel.SecretsDir, name))
		if err := copyPrivate(full, filepath.Join(s.sel.SecretsDir, name)); err != nil {
			return err
		}
		s.meta.Secrets[name] = []byte(p)
		s.saved.Secrets++
	}
	return nil
}

func randomName() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func copyPrivate(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// storeNested stores repositories inside the worktree whole.
func (s *saver) storeNested() (string, error) {
	for p := range s.nested {
		s.meta.Nested = append(s.meta.Nested, []byte(p))
	}
	slices.SortFunc(s.meta.Nested, bytes.Compare)
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
	go func() { out.CloseWithError(writeTar(out, root, names)) }()
	oid, err := s.batch.WriteBlobFrom(in, size)
	_ = in.CloseWithError(err)
	return oid, err
}

// dropSecrets removes what a snapshot that failed had written.
func (s *saver) dropSecrets() {
	for _, path := range s.secrets {
		_ = os.Remove(path)
	}
}
