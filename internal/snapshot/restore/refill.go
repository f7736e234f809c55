package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/snapshot"
)

// Refill fills a directory that is being made for a workspace with the content of a
// snapshot. It may be called again after a crash at any point.
func Refill(ctx context.Context, to string, files Files) error {
	w := files.Worktree
	steps := []func() error{
		func() error { return removeKnown(ctx, w, to) }, // files that an earlier attempt wrote
		func() error { return swapAdmin(ctx, w, to) },
		func() error { return Restore(ctx, to, files) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
		if err := failpoint.Hit("snapshot.refill"); err != nil {
			return err
		}
	}
	return nil
}

// removeKnown removes the files of a snapshot from a checkout, and the directories that
// this leaves empty. If there is a directory where the snapshot has a file, it stays.
func removeKnown(ctx context.Context, w *git.Worktree, commit string) error {
	paths, err := snapshot.ReadPaths(ctx, w.Repo, commit)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, p := range paths.Modes { // parents come first
		if info, err := root.Lstat(p); err == nil && info.IsDir() {
			_ = root.Chmod(p, info.Mode().Perm()|0o700)
		}
	}
	for _, p := range paths.Files {
		if isBehindLink(root, p) {
			continue
		}
		if info, err := root.Lstat(p); err == nil && !info.IsDir() {
			if err := root.Remove(p); err != nil {
				return fmt.Errorf("%q: %w", p, err)
			}
			if err := failpoint.Hit("snapshot.removed"); err != nil {
				return err
			}
		}
		pruneEmpty(root, filepath.Dir(p)) // also after an attempt that only deleted the file
	}
	for _, p := range paths.Nested {
		if isBehindLink(root, p) {
			continue
		}
		if err := removeAll(root, p); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
		pruneEmpty(root, filepath.Dir(p))
	}
	for _, p := range slices.Backward(paths.Empty) { // the deepest first
		if !isBehindLink(root, p) {
			pruneEmpty(root, p)
		}
	}
	return nil
}

// pruneEmpty removes a directory if it is empty, and then those above it that are.
func pruneEmpty(root *os.Root, dir string) {
	for dir != "." {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() || root.Remove(dir) != nil {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// isBehindLink reports whether a path leads through an entry that is not a directory or does
// not exist, so that it is not the path that a snapshot names.
func isBehindLink(root *os.Root, path string) bool {
	for i := range len(path) {
		if path[i] != filepath.Separator {
			continue
		}
		if info, err := root.Lstat(path[:i]); err != nil || !info.IsDir() {
			return true
		}
	}
	return false
}

// removeAll removes a path with everything below it, also in directories that are
// read-only.
func removeAll(root *os.Root, path string) error {
	err := root.RemoveAll(path)
	if !errors.Is(err, os.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(root.FS(), filepath.ToSlash(path), func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			return root.Chmod(filepath.FromSlash(path), 0o700)
		}
		return nil
	})
	return root.RemoveAll(path)
}

// swapAdmin replaces the worktree's own part of the git directory, index included. HEAD
// and the index exist at every moment.
func swapAdmin(ctx context.Context, w *git.Worktree, commit string) error {
	staging, err := stageAdmin(ctx, w, commit)
	if err != nil {
		return err
	}
	defer func() { _ = fsx.RemoveOwn(staging) }()
	return swapStaged(w, staging)
}

// stageAdmin writes the worktree's own part of the git directory to a directory where
// no agent can write, and returns its path.
func stageAdmin(ctx context.Context, w *git.Worktree, commit string) (string, error) {
	staging := filepath.Join(w.Repo.Dir, "staging", filepath.Base(w.Admin)+".rewind")
	if err := fsx.RemoveOwn(staging); err != nil { // left by an attempt that was killed
		return "", err
	}
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return "", err
	}
	err := WriteAdmin(ctx, w.Repo, commit, staging)
	if err == nil {
		err = failpoint.Hit("snapshot.admin")
	}
	if err != nil {
		_ = fsx.RemoveOwn(staging)
	}
	return staging, err
}

// swapStaged replaces the files of the admin directory by those in staging, except for
// the files that StaysInAdmin names. Each file is replaced by a rename.
func swapStaged(w *git.Worktree, staging string) error {
	fresh, err := fsx.OpenOwn(staging)
	if err != nil {
		return err
	}
	defer fresh.Close()
	admin, err := w.OpenAdmin()
	if err != nil {
		return err
	}
	defer admin.Close()
	names, err := fresh.Names()
	if err != nil {
		return err
	}
	old, err := admin.Names()
	if err != nil {
		return err
	}
	for _, name := range old {
		if slices.Contains(names, name) || snapshot.StaysInAdmin(name) {
			continue
		}
		if err := admin.RemoveAll(name); err != nil {
			return err
		}
	}
	if err := failpoint.Hit("snapshot.admin"); err != nil {
		return err
	}
	return fresh.CopyOver(admin, largestAdmin)
}

// largestAdmin bounds the size of the worktree's own part of the git directory.
const largestAdmin = 4 << 30
