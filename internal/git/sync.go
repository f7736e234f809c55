package git

import (
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// Everything that an answer depends on is on disk before the answer is given. Git syncs
// the content of the files that it writes, but not the directory of a ref, an object or an
// index, so after a power cut a name could have its old content. These directories are
// synced here, and nothing else: the cost does not depend on what other processes write to
// the same file system.

// Sync syncs a worktree to disk: its registration, its index and the directory entry of
// its checkout. It does not sync the files of the checkout, which can be written again.
func (w *Worktree) Sync() error { return fsx.SyncAll(w.SyncPaths()...) }

// SyncPaths returns what Sync syncs, for a caller that has more to sync at the same time.
func (w *Worktree) SyncPaths() []string {
	paths := []string{w.PrivateDir()}
	if w.IsIsolated() {
		for _, name := range []string{"HEAD", "config", "index", worktree.PointerFile, "objects/info/alternates", "objects/info"} {
			paths = append(paths, filepath.Join(w.PrivateDir(), filepath.FromSlash(name)))
		}
	}
	for _, name := range []string{"HEAD", "gitdir", "commondir", "index"} {
		paths = append(paths, filepath.Join(w.Admin, name))
	}
	return append(paths, w.Admin, filepath.Dir(w.Admin), w.Repo.CommonDir, w.Path, filepath.Dir(w.Path), filepath.Dir(filepath.Dir(w.Path)))
}
