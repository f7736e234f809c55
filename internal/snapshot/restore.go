package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/object"
)

// Files are where a restored snapshot goes: the top of a checkout that is
// empty but for its .git file, and the admin directory that belongs to it.
type Files struct {
	Worktree   *git.Worktree
	SecretsDir string // where the snapshot's private files lie; empty: they are not brought back
	Workers    int
	Sync       SyncMode

	// For Rewind: a directory of Croft's own, on the file system of the checkout.
	// What was being done there when a process died is settled by [PutBack].
	Aside string
	// Seen is what was saved of the checkout before. Without it every file that
	// goes is read.
	Seen *Seen
	// Also is another snapshot whose files go from the checkout.
	Also string
	// Last is done after everything else, and undone by nobody: if it fails, all
	// is put back.
	Last func() error
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
	return extractObject(ctx, r, commit+":admin.tar", admin)
}

// extractObject unpacks an archive below a directory as it is read.
func extractObject(ctx context.Context, r *git.Repository, name, dir string) error {
	if _, err := r.Info(ctx, name); err != nil {
		return errors.Join(ErrFormat, err)
	}
	in, out := io.Pipe()
	var cerr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, cerr = r.Copy(ctx, out, name)
		out.CloseWithError(cerr)
	}()
	err := extractArchive(in, dir)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // what follows the end of an archive
	}
	_ = in.CloseWithError(err)
	<-done
	if err == nil {
		err = cerr
	}
	return err
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
	return s.restoreAll(ctx, s.restoreModes)
}

// restoreAll writes all files, and does what remains.
func (s *restorer) restoreAll(ctx context.Context, more ...func(context.Context) error) error {
	for _, step := range append([]func(context.Context) error{s.restoreTracked, s.restoreStored, s.restoreNested, s.restoreDirsAndPipes, s.restoreSecrets, s.syncFiles}, more...) {
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
	meta   meta
}

// restoreTracked has git write what was not touched, as it did at first.
func (s *restorer) restoreTracked(ctx context.Context) error {
	if err := s.Worktree.CheckoutIndex(ctx, max(s.Workers, 1)); err != nil {
		return err
	}
	for _, p := range s.meta.Deleted {
		if behindLink(s.root, string(p)) {
			continue
		}
		if err := s.root.Remove(string(p)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		pruneEmpty(s.root, filepath.Dir(string(p))) // those that were empty are made again later
	}
	return nil
}

// restoreStored writes what was stored as it was on disk.
func (s *restorer) restoreStored(ctx context.Context) error {
	r := s.Worktree.Repo
	if _, err := r.Info(ctx, s.commit+":files"); errors.Is(err, object.ErrMissing) {
		return nil
	}
	entries, err := r.ReadTree(ctx, s.commit+":files")
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.FromSlash(flatPath(e.Name))
		err := s.replaceFile(path, e.Mode, func(w io.Writer) error {
			_, err := r.Copy(ctx, w, e.OID)
			return err
		})
		if err != nil {
			return fmt.Errorf("%q: %w", path, err)
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
	f, err := s.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = contents(f)
	if err == nil {
		err = f.Chmod(perm)
	}
	return errors.Join(err, f.Close())
}

// makeRoom makes room for a file: one where a directory must be goes, and so does
// what is at the path itself. A directory that is not empty stays, and then
// there is no room: it holds what came after the snapshot that was taken
// before.
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

// restoreNested unpacks repositories inside the worktree.
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

// restoreDirsAndPipes makes empty directories and named pipes. A directory that is there may
// hold what git ignores, and stays.
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

// restoreSecrets brings private files back that are still there.
func (s *restorer) restoreSecrets(context.Context) error {
	if s.SecretsDir == "" {
		return nil
	}
	for name, path := range s.meta.Secrets {
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, `/\`) {
			return ErrFormat
		}
		if err := s.restoreSecret(filepath.Join(s.SecretsDir, name), filepath.FromSlash(string(path))); err != nil {
			return err
		}
	}
	return nil
}

func (s *restorer) restoreSecret(from, path string) error {
	in, err := os.Open(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	return s.replaceFile(path, "100644", func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// syncFiles makes durable what git could not write again.
func (s *restorer) syncFiles(ctx context.Context) error {
	if s.Sync == SyncNothing {
		return nil
	}
	stored, err := restorablePaths(ctx, s.Worktree.Repo, s.commit, s.meta, "files")
	if err != nil {
		return err
	}
	paths := slices.Concat(stored.files, stored.nested, stored.empty)
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
		if err := fsx.SyncAll(some...); err != nil {
			return err
		}
	}
	return nil
}

// syncedAtOnce is how many files are open at once for that.
const syncedAtOnce = 64

// restoreModes sets what differs from what git makes, the deepest first, so that a
// directory that cannot be entered comes last.
func (s *restorer) restoreModes(context.Context) error {
	for _, m := range slices.Backward(s.meta.Modes) {
		err := s.root.Chmod(string(m.Path), fs.FileMode(m.Mode))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
