package writers

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
)

// LockText is the beginning of Croft's lock file on an index. The name of its lease
// follows.
const LockText = "croft holds this index for a moment; safe to delete when no croft is running\n"

// NextIndex is the file that is renamed to the index. The process that writes it holds the
// lock.
const NextIndex = "index.croft"

// IndexLockDraft is the prefix of the temporary name of Croft's lock file.
const IndexLockDraft = gitdir.IndexLock + "."

// DeleteIndexLocks deletes the index lock files that a dead lease names and that
// contain its name, and the drafts that are named after it. It reports false if one
// could not be deleted.
func (r *Repository) DeleteIndexLocks(dead Dead) (gone bool) {
	gone = true
	for _, lock := range dead.Locks {
		file, ok := r.lockAt(lock)
		if !ok {
			continue
		}
		dir, err := r.OpenDir(filepath.Dir(file))
		if err != nil {
			continue
		}
		name := filepath.Base(file)
		b, err := dir.ReadFile(name, fsx.MaxSmall)
		isHeld := err == nil && string(b) == LockText+dead.lease+"\n"
		if isHeld && name == gitdir.IndexLock {
			_ = dir.Remove(NextIndex) // no other process writes it before the lock is gone
		}
		if isHeld || err == nil && name == IndexLockDraft+dead.lease {
			gone = dir.Remove(name) == nil && gone
		}
		_ = dir.Close()
	}
	return gone
}

// LockTime is how long a process may hold the lock of a ref.
const LockTime = time.Second

// NoGrafts is a path that cannot exist. A grafts file gives commits false parents, and an
// agent could write one.
const NoGrafts = os.DevNull + "/none"

// OpenDir opens a directory where an agent may write, or one of Croft's own.
func (r *Repository) OpenDir(path string) (*fsx.Dir, error) {
	if strings.HasPrefix(path, r.Dir+string(os.PathSeparator)) {
		return fsx.OpenOwn(path)
	}
	return fsx.OpenDir(path)
}
