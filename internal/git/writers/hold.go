package writers

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
)

// LockText begins a lock file of Croft's on an index. The name of its lease follows.
const LockText = "croft holds this index for a moment; safe to delete when no croft is running\n"

// NextIndex is the file that becomes the index. Whoever writes it holds the lock.
const NextIndex = "index.croft"

// IndexLockDraft begins the first name of a lock file of Croft's.
const IndexLockDraft = gitdir.IndexLock + "."

// DropHolds removes the lock files on indexes that a dead lease names, as far as
// they name the lease in turn, and reports whether none of those is left.
func (r *Repository) DropHolds(dead Dead) (gone bool) {
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
			_ = dir.Remove(NextIndex) // nobody else writes one before the lock is gone
		}
		if isHeld || err == nil && name == IndexLockDraft+dead.lease {
			gone = dir.Remove(name) == nil && gone
		}
		_ = dir.Close()
	}
	return gone
}

// LockTime is how long a change of a ref may take, from taking its lock to
// letting it go.
const LockTime = time.Second

// NoGrafts is a file that cannot exist. Grafts are false parents, which anyone
// who can write the repository could give a commit.
const NoGrafts = os.DevNull + "/none"

// OpenDir opens a directory where an agent may write, or one of Croft's own.
func (r *Repository) OpenDir(path string) (*fsx.Dir, error) {
	if strings.HasPrefix(path, r.Dir+string(os.PathSeparator)) {
		return fsx.OpenOwn(path)
	}
	return fsx.OpenDir(path)
}
