package git

import (
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// What an answer depends on is on disk before the answer is given. Git syncs
// the contents of what it writes, but not the directory in which a ref, an
// object or an index gets its name, so after a power cut a name could lead to
// what was there before. The directories are synced here, and nothing else:
// the cost does not depend on what others write to the same file system.

// refDirs lists the directories that have to be synced after refs moved: the
// one in which each ref has its name, and those above that are yet to be made.
// It is asked before the refs move.
func (r *Repository) refDirs(updates []RefUpdate) []string {
	if !r.NativeRefs() {
		return nil
	}
	var dirs []string
	for _, u := range updates {
		for dir := filepath.Dir(filepath.Join(r.CommonDir, filepath.FromSlash(u.Ref))); ; dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
			if _, err := os.Lstat(dir); err == nil || dir == r.CommonDir {
				break
			}
		}
		if u.New == "" { // it may go from packed-refs, which is replaced then
			dirs = append(dirs, r.CommonDir)
		}
	}
	return dirs
}

// Sync makes a worktree durable: its registration, its index and the place of
// its checkout. The contents of the checkout's files are not synced; they can
// be written again.
func (w *Worktree) Sync() error {
	paths := []string{w.privateDir()}
	if w.IsIsolated() {
		for _, name := range []string{"HEAD", "config", "index", pointerFile, "objects/info/alternates", "objects/info"} {
			paths = append(paths, filepath.Join(w.privateDir(), filepath.FromSlash(name)))
		}
	}
	for _, name := range []string{"HEAD", "gitdir", "commondir", "index"} {
		paths = append(paths, filepath.Join(w.Admin, name))
	}
	return fsx.SyncAll(append(paths, w.Admin, filepath.Dir(w.Admin), w.Repo.CommonDir, w.Path, filepath.Dir(w.Path), filepath.Dir(filepath.Dir(w.Path)))...)
}
