package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git"
)

// Files are where a restored snapshot goes: the top of a checkout that is
// empty but for its .git file, and the admin directory that belongs to it.
type Files struct {
	Worktree   *git.Worktree
	SecretsDir string // where the snapshot's private files lie; empty: they are not brought back
	Workers    int
	Sync       SyncMode
}

// SyncMode says whether what was restored is on disk when Restore returns.
type SyncMode string

const (
	// SyncNothing is for a snapshot that is kept: it can be restored again. It
	// is the default.
	SyncNothing SyncMode = ""
	// SyncFiles syncs what only the snapshot has.
	SyncFiles SyncMode = "files"
)

// RestoreAdmin writes the worktree's own part of the git directory, index
// included, into an admin directory that is being made.
func RestoreAdmin(ctx context.Context, r *git.Repository, commit, admin string) error {
	o, err := r.Read(ctx, commit+":admin.tar")
	if err != nil {
		return errors.Join(ErrFormat, err)
	}
	return extract(bytes.NewReader(o.Data), admin)
}

// Restore writes the files of a snapshot. The index is in place already.
func Restore(ctx context.Context, commit string, to Files) error {
	m, err := readMeta(ctx, to.Worktree.Repo, commit)
	if err != nil {
		return err
	}
	s := &restorer{Files: to, commit: commit, meta: m}
	if s.root, err = os.OpenRoot(to.Worktree.Path); err != nil {
		return err
	}
	defer s.root.Close()
	for _, step := range []func(context.Context) error{s.tracked, s.files, s.nested, s.rest, s.secrets, s.sync, s.modes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

type restorer struct {
	Files
	root   *os.Root
	commit string
	meta   meta
}

// tracked has git write what was not touched, as it did at first.
func (s *restorer) tracked(ctx context.Context) error {
	if err := s.Worktree.CheckoutIndex(ctx, max(s.Workers, 1)); err != nil {
		return err
	}
	for _, p := range s.meta.Deleted {
		if behindLink(s.root, string(p)) {
			continue
		}
		if err := s.root.RemoveAll(string(p)); err != nil {
			return err
		}
		s.prune(filepath.Dir(string(p)))
	}
	return nil
}

// prune removes directories that hold nothing any more. Those that were empty
// are made again later.
func (s *restorer) prune(dir string) {
	for dir != "." && s.root.Remove(dir) == nil {
		dir = filepath.Dir(dir)
	}
}

// files writes what was stored as it was on disk.
func (s *restorer) files(ctx context.Context) error {
	r := s.Worktree.Repo
	if _, err := r.Info(ctx, s.commit+":files"); errors.Is(err, git.ErrNoObject) {
		return nil
	}
	entries, err := r.ReadTree(ctx, s.commit+":files")
	if err != nil {
		return err
	}
	for _, e := range entries {
		o, err := r.Read(ctx, e.OID)
		if err != nil {
			return err
		}
		if err := s.put(filepath.FromSlash(flatPath(e.Name)), e.Mode, o.Data); err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
	}
	return nil
}

// put replaces whatever is at a path.
func (s *restorer) put(path, mode string, data []byte) error {
	if err := s.clear(path); err != nil {
		return err
	}
	if mode == "120000" {
		return s.root.Symlink(string(data), path)
	}
	perm := fs.FileMode(0o644)
	if mode == "100755" {
		perm = 0o755
	}
	f, err := s.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	return errors.Join(err, f.Close())
}

// clear makes room for a path: a file where a directory must be goes, and so
// does what is at the path itself.
func (s *restorer) clear(path string) error {
	for i := range len(path) {
		if path[i] != filepath.Separator {
			continue
		}
		if info, err := s.root.Lstat(path[:i]); err == nil && !info.IsDir() {
			if err := s.root.Remove(path[:i]); err != nil {
				return err
			}
		}
	}
	if err := s.root.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return s.root.RemoveAll(path)
}

// nested unpacks repositories inside the worktree.
func (s *restorer) nested(ctx context.Context) error {
	if len(s.meta.Nested) == 0 {
		return nil
	}
	o, err := s.Worktree.Repo.Read(ctx, s.commit+":nested.tar")
	if err != nil {
		return errors.Join(ErrFormat, err)
	}
	for _, p := range s.meta.Nested {
		if err := s.clear(string(p)); err != nil {
			return err
		}
	}
	return extract(bytes.NewReader(o.Data), s.Worktree.Path)
}

// rest makes empty directories and named pipes.
func (s *restorer) rest(context.Context) error {
	for _, p := range s.meta.Empty {
		if err := s.clear(string(p)); err != nil {
			return err
		}
		if err := s.root.Mkdir(string(p), 0o755); err != nil {
			return err
		}
	}
	for _, p := range s.meta.Special {
		if err := s.clear(string(p.Path)); err != nil {
			return err
		}
		if err := makePipe(filepath.Join(s.Worktree.Path, string(p.Path)), p.Mode); err != nil {
			return err
		}
	}
	return nil
}

// secrets brings private files back that are still there.
func (s *restorer) secrets(context.Context) error {
	if s.SecretsDir == "" {
		return nil
	}
	for name, path := range s.meta.Secrets {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
			return ErrFormat
		}
		data, err := os.ReadFile(filepath.Join(s.SecretsDir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := s.put(filepath.FromSlash(string(path)), "100644", data); err != nil {
			return err
		}
	}
	return nil
}

// sync makes durable what git could not write again.
func (s *restorer) sync(ctx context.Context) error {
	if s.Sync == SyncNothing {
		return nil
	}
	paths, err := known(ctx, s.Worktree.Repo, s.commit, s.meta, "files")
	if err != nil {
		return err
	}
	for _, p := range s.meta.Secrets {
		paths = append(paths, filepath.FromSlash(string(p)))
	}
	var list []string
	for _, p := range paths {
		full := filepath.Join(s.Worktree.Path, p)
		for dir := filepath.Dir(full); len(dir) >= len(s.Worktree.Path); dir = filepath.Dir(dir) {
			list = append(list, dir)
		}
		err := filepath.WalkDir(full, func(full string, d fs.DirEntry, err error) error {
			if err == nil && (d.IsDir() || d.Type().IsRegular()) {
				list = append(list, full)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(list)
	for some := range slices.Chunk(slices.Compact(list), syncedAtOnce) {
		if err := git.SyncDirs(some...); err != nil {
			return err
		}
	}
	return nil
}

// syncedAtOnce is how many files are open at once for that.
const syncedAtOnce = 64

// modes sets what differs from what git makes, the deepest first, so that a
// directory that cannot be entered comes last.
func (s *restorer) modes(context.Context) error {
	for _, m := range slices.Backward(s.meta.Modes) {
		err := s.root.Chmod(string(m.Path), fs.FileMode(m.Mode))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
