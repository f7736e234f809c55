package snapshot

import (
	"context"
	"errors"
	"fmt"
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

// Head is what a snapshot had checked out.
type Head struct {
	Branch string `json:"branch,omitempty"` // without refs/heads/; empty when HEAD was detached
	OID    string `json:"oid,omitempty"`    // empty when the branch had no commit yet
}

// HeadOf reads what a snapshot had checked out.
func HeadOf(ctx context.Context, r *git.Repository, commit string) (Head, error) {
	o, err := r.Read(ctx, commit+":meta.json")
	if err != nil {
		return Head{}, errors.Join(ErrFormat, err)
	}
	m, err := decodeMeta(o.Data)
	return m.Head, err
}

// Refill makes a directory that is being made for a workspace what a snapshot
// says. It may be called again after a crash at any point.
func Refill(ctx context.Context, to string, files Files) error {
	w := files.Worktree
	steps := []func() error{
		func() error { return takeAway(ctx, w, to) }, // what an earlier attempt wrote
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

// takeAway removes what a snapshot knows from a checkout, and directories that
// are empty then. A directory where the snapshot has a file is not what it
// knows.
func takeAway(ctx context.Context, w *git.Worktree, commit string) error {
	m, err := readMeta(ctx, w.Repo, commit)
	if err != nil {
		return err
	}
	paths, err := restorablePaths(ctx, w.Repo, commit, m, parts...)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, d := range m.Modes { // those above come first
		if info, err := root.Lstat(string(d.Path)); err == nil && info.IsDir() {
			_ = root.Chmod(string(d.Path), info.Mode().Perm()|0o700)
		}
	}
	for _, p := range paths.files {
		if behindLink(root, p) {
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
		pruneEmpty(root, filepath.Dir(p)) // also after an attempt that got no further
	}
	for _, p := range paths.nested {
		if behindLink(root, p) {
			continue
		}
		if err := removeAll(root, p); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
		pruneEmpty(root, filepath.Dir(p))
	}
	for _, p := range slices.Backward(paths.empty) { // the deepest first
		if !behindLink(root, p) {
			pruneEmpty(root, p)
		}
	}
	return nil
}

// pruneEmpty removes a directory that holds nothing any more, and those above.
func pruneEmpty(root *os.Root, dir string) {
	for dir != "." {
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() || root.Remove(dir) != nil {
			return
		}
		dir = filepath.Dir(dir)
	}
}

// behindLink reports whether a path leads through something that is not a
// directory, so that it is not what a snapshot means by it.
func behindLink(root *os.Root, path string) bool {
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

// removeAll removes a path with all below it, also below directories in which
// nothing may be changed.
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

func readMeta(ctx context.Context, r *git.Repository, commit string) (meta, error) {
	o, err := r.Read(ctx, commit+":meta.json")
	if err != nil {
		return meta{}, errors.Join(ErrFormat, err)
	}
	return decodeMeta(o.Data)
}

// paths are what a snapshot can bring back, each list sorted.
type paths struct{ files, nested, empty []string }

// parts are where a snapshot's tree has paths of the worktree.
var parts = []string{"files", "staged", "stages/1", "stages/2", "stages/3"}

// restorablePaths lists the paths that a snapshot can bring back: those in parts of its
// tree, and those that are not in its tree.
func restorablePaths(ctx context.Context, r *git.Repository, commit string, m meta, parts ...string) (paths, error) {
	var p paths
	for _, dir := range parts {
		if _, err := r.Info(ctx, commit+":"+dir); errors.Is(err, object.ErrMissing) {
			continue
		}
		entries, err := r.ReadTree(ctx, commit+":"+dir)
		if err != nil {
			return p, err
		}
		for _, e := range entries {
			if e.Mode != "160000" { // a submodule's directory is among the nested ones, if it holds anything
				name := e.Name
				if dir == "files" {
					name = flatPath(name)
				}
				p.files = append(p.files, filepath.FromSlash(name))
			}
		}
	}
	for _, s := range m.Special {
		p.files = append(p.files, string(s.Path))
	}
	for _, n := range m.Nested {
		p.nested = append(p.nested, string(n))
	}
	for _, e := range m.Empty {
		p.empty = append(p.empty, string(e))
	}
	for _, list := range []*[]string{&p.files, &p.nested, &p.empty} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return p, nil
}

// staysInAdmin reports whether a file of the admin directory says where a worktree
// lies, not what it holds, or is the lock of a git or a Croft that is at work there
// or waits its turn: git.IndexLockDraft is what a waiting Croft links its lock from.
func staysInAdmin(name string) bool {
	isPlace := name == "gitdir" || name == "commondir" || name == "locked"
	return isPlace || strings.HasSuffix(name, ".lock") || strings.HasPrefix(name, git.IndexLockDraft)
}

// swapAdmin replaces the worktree's own part of the git directory, index
// included. HEAD and the index are there at every moment.
func swapAdmin(ctx context.Context, w *git.Worktree, commit string) error {
	staging, err := stageAdmin(ctx, w, commit)
	if err != nil {
		return err
	}
	defer func() { _ = fsx.RemoveOwn(staging) }()
	return swapStaged(w, staging)
}

// stageAdmin puts the worktree's own part of the git directory together where no
// agent can write.
func stageAdmin(ctx context.Context, w *git.Worktree, commit string) (string, error) {
	staging := filepath.Join(w.Repo.Dir, "staging", filepath.Base(w.Admin)+".rewind")
	if err := fsx.RemoveOwn(staging); err != nil { // of an attempt that was killed
		return "", err
	}
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return "", err
	}
	err := RestoreAdmin(ctx, w.Repo, commit, staging)
	if err == nil {
		err = failpoint.Hit("snapshot.admin")
	}
	if err != nil {
		_ = fsx.RemoveOwn(staging)
	}
	return staging, err
}

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
	return swapEntries(fresh, admin)
}

// swapEntries replaces what a directory holds by what another one holds, but
// for the files that stay. A file is replaced at once.
func swapEntries(fresh, admin *fsx.Dir) error {
	names, err := fresh.Names()
	if err != nil {
		return err
	}
	old, err := admin.Names()
	if err != nil {
		return err
	}
	for _, name := range old {
		if slices.Contains(names, name) || staysInAdmin(name) {
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

// largestAdmin bounds the worktree's own part of the git directory.
const largestAdmin = 4 << 30
