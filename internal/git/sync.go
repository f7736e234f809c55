package git

import (
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// What an answer depends on is on disk before the answer is given. Git syncs
// the contents of what it writes, but not the directory in which a ref, an
// object or an index gets its name, so after a power cut a name could lead to
// what was there before. The directories are synced here, and nothing else:
// the cost does not depend on what others write to the same file system.

// Sync makes a worktree durable: its registration, its index and the place of
// its checkout. The contents of the checkout's files are not synced; they can
// be written again.
func (w *Worktree) Sync() error {
	paths := []string{w.PrivateDir()}
	if w.IsIsolated() {
		for _, name := range []string{"HEAD", "config", "index", worktree.PointerFile, "objects/info/alternates", "objects/info"} {
			paths = append(paths, filepath.Join(w.PrivateDir(), filepath.FromSlash(name)))
		}
	}
	for _, name := range []string{"HEAD", "gitdir", "commondir", "index"} {
		paths = append(paths, filepath.Join(w.Admin, name))
	}
	return fsx.SyncAll(append(paths, w.Admin, filepath.Dir(w.Admin), w.Repo.CommonDir, w.Path, filepath.Dir(w.Path), filepath.Dir(filepath.Dir(w.Path)))...)
}
