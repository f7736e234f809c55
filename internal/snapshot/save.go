package snapshot

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/git"
)

// Save stores the state of a worktree and returns the commit. The caller pins
// it with a ref.
func Save(ctx context.Context, w *git.Worktree, sel Selection) (Saved, error) {
	s := &saver{w: w, sel: sel, root: w.Path, meta: meta{Version: version}}
	tmp, err := os.MkdirTemp("", "croft-snapshot-")
	if err != nil {
		return Saved{}, err
	}
	defer os.RemoveAll(tmp)
	if err := s.survey(ctx); err != nil {
		return Saved{}, err
	}
	entries, err := s.store(ctx, tmp)
	if err != nil {
		return Saved{}, err
	}
	tree, err := w.Repo.WriteTree(entries)
	if err != nil {
		return Saved{}, err
	}
	parents, err := s.parents(ctx)
	if err != nil {
		return Saved{}, err
	}
	s.saved.Commit, err = w.Repo.WriteCommit(git.Commit{
		Tree: tree, Parents: parents, Signature: fmt.Sprintf("Croft <croft@localhost> %d +0000", time.Now().Unix()),
		Message: s.message(),
	})
	return s.saved, err
}

// message tells people, and Describe, what is in a snapshot.
func (s *saver) message() string {
	first := s.sel.Message
	if first == "" {
		first = "Snapshot"
	}
	return fmt.Sprintf("%s\n\nFiles: %d\nBytes: %d", first, s.saved.Files, s.saved.Bytes)
}

// saver is one snapshot in the making.
type saver struct {
	w     *git.Worktree
	sel   Selection
	root  string
	meta  meta
	saved Saved

	index      []git.IndexEntry
	conflicted []string            // paths with stages
	files      map[string]bool     // paths that are stored as they are on disk
	nested     map[string]struct{} // directories that are repositories of their own
}

// survey finds out what has to be stored.
func (s *saver) survey(ctx context.Context) error {
	var err error
	if s.index, err = s.w.Index(ctx); err != nil {
		return err
	}
	s.files, s.nested = map[string]bool{}, map[string]struct{}{}
	for _, e := range s.index {
		switch {
		case e.Stage > 0:
			if !slices.Contains(s.conflicted, e.Path) {
				s.conflicted = append(s.conflicted, e.Path)
			}
			s.addFile(e.Path)
		case e.Mode == "160000":
			if _, err := os.Lstat(filepath.Join(s.root, e.Path, ".git")); err == nil {
				s.nested[e.Path] = struct{}{}
			}
		case e.Hidden():
			s.addFile(e.Path)
		}
	}
	for e, err := range s.w.Status(ctx, git.UntrackedAll, git.RefreshNothing) {
		if err != nil {
			return err
		}
		s.addChange(e)
	}
	ignored, err := s.w.Ignored(ctx, s.sel.Ignored)
	if err != nil {
		return err
	}
	for _, p := range ignored {
		s.addChange(git.StatusEntry{Path: p, Index: '?'})
	}
	return s.walk()
}

// addChange notes what a status says of one path.
func (s *saver) addChange(e git.StatusEntry) {
	if dir, ok := strings.CutSuffix(e.Path, "/"); ok { // a repository that git does not enter
		s.nested[dir] = struct{}{}
		return
	}
	if e.Work != '.' && !e.Submodule {
		s.addFile(e.Path)
	}
}

// addFile notes a path whose bytes are stored, or that it is gone.
func (s *saver) addFile(path string) {
	if _, err := os.Lstat(filepath.Join(s.root, path)); err != nil {
		if !slices.ContainsFunc(s.meta.Deleted, func(p []byte) bool { return string(p) == path }) {
			s.meta.Deleted = append(s.meta.Deleted, []byte(path))
		}
		return
	}
	s.files[path] = true
}

// walk finds what git does not tell: modes, empty directories, named pipes.
func (s *saver) walk() error {
	return filepath.WalkDir(s.root, func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err := filepath.Rel(s.root, full)
		if err != nil || path == "." {
			return err
		}
		if path == ".git" {
			return nil
		}
		if _, ok := s.nested[path]; ok && d.IsDir() {
			return fs.SkipDir
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.note(full, path, info)
	})
}

func (s *saver) note(full, path string, info fs.FileInfo) error {
	perm := uint32(info.Mode().Perm())
	switch {
	case info.IsDir():
		if perm != 0o755 {
			s.meta.Modes = append(s.meta.Modes, mode{[]byte(path), perm})
		}
		entries, err := os.ReadDir(full)
		if err == nil && len(entries) == 0 {
			s.meta.Empty = append(s.meta.Empty, []byte(path))
		}
		return err
	case info.Mode().IsRegular():
		if perm != 0o644 && perm != 0o755 {
			s.meta.Modes = append(s.meta.Modes, mode{[]byte(path), perm})
		}
	case info.Mode()&fs.ModeNamedPipe != 0:
		delete(s.files, path)
		s.meta.Special = append(s.meta.Special, mode{[]byte(path), perm})
	}
	return nil
}

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
	admin, err := s.storeTar(s.w.Admin, func(name string) bool {
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
	text, err := s.meta.encode()
	if err != nil {
		return nil, err
	}
	oid, err := s.w.Repo.WriteBlob(text)
	return append(entries, git.TreeEntry{Mode: "100644", Name: "meta.json", OID: oid}), err
}

// storeFiles stores the raw contents of files and links, as a tree.
func (s *saver) storeFiles() (string, error) {
	root := &dir{}
	for path := range s.files {
		full := filepath.Join(s.root, path)
		info, err := os.Lstat(full)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		e := git.TreeEntry{Mode: "100644"}
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(full)
			if err != nil {
				return "", err
			}
			e.Mode = "120000"
			if e.OID, err = s.w.Repo.WriteBlob([]byte(target)); err != nil {
				return "", err
			}
		case info.Mode().IsRegular():
			if info.Mode()&0o100 != 0 {
				e.Mode = "100755"
			}
			if e.OID, err = s.storeFile(full, info.Size()); err != nil {
				return "", err
			}
		default:
			continue
		}
		s.saved.Files++
		s.saved.Bytes += info.Size()
		root.add(filepath.ToSlash(path), e)
	}
	if s.saved.Files == 0 {
		return "", nil
	}
	return root.write(s.w.Repo)
}

func (s *saver) storeFile(full string, size int64) (string, error) {
	f, err := os.Open(full)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return s.w.Repo.WriteBlobFrom(f, size)
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
	return root.write(s.w.Repo)
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
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, name := range names {
		if err := addTree(t, root, string(name)); err != nil {
			return "", err
		}
	}
	if err := t.Close(); err != nil {
		return "", err
	}
	return s.w.Repo.WriteBlob(b.Bytes())
}

// parents are HEAD and the commits that an act in progress depends on.
func (s *saver) parents(ctx context.Context) ([]string, error) {
	names, err := s.w.Pending(ctx)
	if err != nil {
		return nil, err
	}
	return names, nil
}
