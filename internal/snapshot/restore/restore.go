// Package restore restores snapshots: to a directory that is being made for a workspace
// ([Refill]), or over a checkout in place ([Rewind]).
//
// It reads snapshots, which an agent may have forged, and writes to the checkout, to
// the worktree's own part of the git directory, and to a directory of Croft's beside
// the checkout. It stores no objects and moves no refs.
//
// It guarantees that nothing is written outside of those directories, whatever a
// snapshot says and whatever links are in the checkout; that a file is deleted only if
// a snapshot has it; and that each act can be repeated, or put back, after a process
// died at any point of it.
package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/snapshot"
)

// Files says where the files of a snapshot are written: to the top of a checkout that
// is empty except for its .git file, and to its admin directory.
type Files struct {
	Worktree   *git.Worktree
	SecretsDir string // the directory of the snapshot's private files; empty: they are not restored
	Workers    int
}

// WriteAdmin writes the worktree's own part of the git directory, index included, to an
// admin directory that is being made.
func WriteAdmin(ctx context.Context, r *git.Repository, commit, admin string) error {
	return extractObject(ctx, r, commit+":admin.tar", admin)
}

// Restore writes the files of a snapshot. The index exists already. Files that git
// could not write again are synced when Restore returns.
func Restore(ctx context.Context, commit string, to Files) error {
	m, err := snapshot.ReadMeta(ctx, to.Worktree.Repo, commit)
	if err != nil {
		return err
	}
	s := &restorer{Files: to, commit: commit, meta: m}
	if s.root, err = os.OpenRoot(to.Worktree.Path); err != nil {
		return err
	}
	defer s.root.Close()
	return s.restoreAll(ctx, s.syncFiles, s.restoreModes)
}

// restoreAll runs the steps that write the files of the snapshot, and then those in
// more.
func (s *restorer) restoreAll(ctx context.Context, more ...func(context.Context) error) error {
	for _, step := range append([]func(context.Context) error{s.restoreTracked, s.restoreStored, s.restoreNested, s.restoreDirsAndPipes, s.restoreSecrets}, more...) {
		if err := step(ctx); err != nil {
			return err
		}
		if err := failpoint.Hit("snapshot.restored"); err != nil {
			return err
		}
	}
	return nil
}

type restorer struct {
	Files
	root   *os.Root
	commit string
	meta   snapshot.Meta
}

// restoreTracked makes git write the tracked files from the index, and deletes those
// that were deleted.
func (s *restorer) restoreTracked(ctx context.Context) error {
	if err := s.Worktree.CheckoutIndex(ctx, max(s.Workers, 1)); err != nil {
		return err
	}
	for _, p := range s.meta.Deleted {
		if isBehindLink(s.root, string(p)) {
			continue
		}
		if err := s.root.Remove(string(p)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		pruneEmpty(s.root, filepath.Dir(string(p))) // directories that were empty are made again later
	}
	return nil
}

// restoreStored writes the files that the snapshot stores as they were on disk.
func (s *restorer) restoreStored(ctx context.Context) error {
	entries, err := snapshot.StoredFiles(ctx, s.Worktree.Repo, s.commit)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err := s.replaceFile(e.Name, e.Mode, func(w io.Writer) error {
			_, err := s.Worktree.Repo.Copy(ctx, w, e.OID)
			return err
		})
		if err != nil {
			return fmt.Errorf("%q: %w", e.Name, err)
		}
		if err := failpoint.Hit("snapshot.file"); err != nil {
			return err
		}
	}
	return nil
}

// replaceFile replaces the file at a path.
func (s *restorer) replaceFile(path, mode string, contents func(io.Writer) error) error {
	if err := s.makeRoom(path); err != nil {
		return err
	}
	if mode == "120000" {
		var target strings.Builder
		if err := contents(&target); err != nil {
			return err
		}
		return s.root.Symlink(target.String(), path)
	}
	perm := fs.FileMode(0o644)
	if mode == "100755" {
		perm = 0o755
	}
	return writeNew(s.root, path, perm, contents)
}

// makeRoom makes room for a file: it removes a file where a directory is needed, and
// the entry at the path itself. A directory that is not empty stays, and makeRoom
// fails: its files are newer than the last snapshot.
func (s *restorer) makeRoom(path string) error {
	if err := s.makeParents(path); err != nil {
		return err
	}
	if err := s.root.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// makeParents makes the parent directories of a path. A file or link in the place of one
// of them is removed.
func (s *restorer) makeParents(path string) error {
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
	return s.root.MkdirAll(filepath.Dir(path), 0o755)
}

// restoreNested unpacks nested repositories.
func (s *restorer) restoreNested(ctx context.Context) error {
	if len(s.meta.Nested) == 0 {
		return nil
	}
	for _, p := range s.meta.Nested {
		if err := errors.Join(s.makeParents(string(p)), s.root.RemoveAll(string(p))); err != nil {
			return err
		}
	}
	return extractObject(ctx, s.Worktree.Repo, s.commit+":nested.tar", s.Worktree.Path)
}

// restoreDirsAndPipes makes empty directories and named pipes. An existing directory
// may hold ignored files, and stays.
func (s *restorer) restoreDirsAndPipes(context.Context) error {
	for _, p := range s.meta.Empty {
		path := string(p)
		if info, err := s.root.Lstat(path); err == nil && info.IsDir() {
			continue
		}
		if err := s.makeRoom(path); err != nil {
			return err
		}
		if err := s.root.Mkdir(path, 0o755); err != nil {
			return err
		}
	}
	for _, p := range s.meta.Special {
		if err := s.makeRoom(string(p.Path)); err != nil {
			return err
		}
		if err := makePipe(filepath.Join(s.Worktree.Path, string(p.Path)), p.Mode); err != nil {
			return err
		}
	}
	return nil
}

// restoreSecrets restores the private files that are still in SecretsDir.
func (s *restorer) restoreSecrets(context.Context) error {
	if s.SecretsDir == "" {
		return nil
	}
	for name, path := range s.meta.Secrets {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
			return snapshot.ErrFormat
		}
		in, err := fsx.Open(filepath.Join(s.SecretsDir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = s.replaceFile(filepath.FromSlash(string(path)), "100644", func(w io.Writer) error {
			_, err := io.Copy(w, in)
			return err
		})
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// syncFiles syncs the files and directories that git could not write again.
func (s *restorer) syncFiles(ctx context.Context) error {
	entries, err := snapshot.StoredFiles(ctx, s.Worktree.Repo, s.commit)
	if err != nil {
		return err
	}
	var paths []string
	for _, e := range entries {
		paths = append(paths, e.Name)
	}
	for _, p := range slices.Concat(s.meta.Nested, s.meta.Empty, slices.Collect(maps.Values(s.meta.Secrets))) {
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
		if err := fsx.SyncAll(some...); err != nil {
			return err
		}
	}
	return nil
}

// syncedAtOnce is how many files syncFiles has open at once.
const syncedAtOnce = 64

// restoreModes sets the modes that differ from those that git sets, the deepest first,
// so that a directory that cannot be entered comes last.
func (s *restorer) restoreModes(context.Context) error {
	for _, m := range slices.Backward(s.meta.Modes) {
		err := s.root.Chmod(string(m.Path), fs.FileMode(m.Mode))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
