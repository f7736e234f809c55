package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
)

// indexCopy is a copy of a checkout's index to work on, with a quarantine for
// the objects that come of it. The checkout's own index is not touched before
// the copy is put in its place, whole and on disk.
type indexCopy struct {
	repo   *Repository
	at     checkoutAt
	q      *quarantine
	locked bool

	// admin is the git directory that was locked. It is held, because an agent may
	// put another one, or a link, in its place.
	admin *fsx.Dir
}

func (r *Repository) copyIndex(at checkoutAt) (*indexCopy, error) {
	q, err := r.quarantine(OnDisk)
	if err != nil {
		return nil, err
	}
	return &indexCopy{repo: r, at: at, q: q}, nil
}

// file is the copy. It lies among objects, under a name that none has.
func (c *indexCopy) file() string { return filepath.Join(c.q.dir, "index") }

func (c *indexCopy) original() string { return filepath.Join(c.at.gitDir, "index") }

// load copies the index; a checkout without one has an empty one.
func (c *indexCopy) load() error {
	err := copyIndexFile(c.original(), c.file())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// copyIndexFile copies an index, as old as it is. Git compares the time of the
// index with those of files to know which of them may have changed unseen, in
// the second in which they were read: a younger copy would hide such a change.
func copyIndexFile(from, to string) error {
	data, info, err := readIndexFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// discard throws the copy away and lets go of the index.
func (c *indexCopy) discard() {
	if c.locked {
		_ = c.admin.Remove(indexLock)
		c.locked = false
	}
	c.release()
	c.q.discard()
}

// hold opens the git directory, once.
func (c *indexCopy) hold() (err error) {
	if c.admin == nil {
		c.admin, err = (&Worktree{Repo: c.repo, Admin: c.at.gitDir}).OpenAdmin()
	}
	return err
}

func (c *indexCopy) release() {
	if c.admin != nil {
		_ = c.admin.Close()
		c.admin = nil
	}
}

// run runs git in the checkout on the copy of its index.
func (c *indexCopy) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	return c.repo.git.run(ctx, door{repo: c.repo, gitDir: c.at.gitDir, work: c.at.work}, call{
		args: args, stdin: stdin, locks: true, inherit: c.at.inherit,
		config: [][2]string{{"core.fsync", "none"}, {"core.splitIndex", "false"}},
		env:    append([]string{"GIT_INDEX_FILE=" + c.file()}, c.q.env...),
	})
}

// update takes paths into the copy as they are on disk: added, changed or gone.
func (c *indexCopy) update(ctx context.Context, paths []string) error {
	var list []byte
	var gone []string
	known := map[string]bool{}
	for _, p := range paths {
		if c.isBelowLink(parent(p), known) {
			gone = append(gone, p)
			continue
		}
		list = append(append(list, p...), 0)
	}
	if err := c.unstage(ctx, gone); err != nil || len(list) == 0 {
		return err
	}
	_, err := c.run(ctx, string(list), "update-index", "--add", "--remove", "--replace", "--ignore-skip-worktree-entries", "-z", "--stdin")
	return err
}

// isBelowLink reports whether a directory of the checkout is a link, or lies below
// one. Files that were there are gone, but git fails when it is asked about them.
func (c *indexCopy) isBelowLink(dir string, known map[string]bool) bool {
	if dir == "" {
		return false
	}
	below, ok := known[dir]
	if !ok {
		info, err := os.Lstat(filepath.Join(c.at.work, filepath.FromSlash(dir)))
		below = err == nil && info.Mode()&os.ModeSymlink != 0 || c.isBelowLink(parent(dir), known)
		known[dir] = below
	}
	return below
}

// unstage takes paths out of the copy.
func (c *indexCopy) unstage(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	var list strings.Builder
	for _, p := range paths {
		list.WriteString("0 " + c.repo.ZeroOID() + "\t" + p + "\x00")
	}
	_, err := c.run(ctx, list.String(), "update-index", "-z", "--index-info")
	return err
}

// lockText is what a lock file of Croft's on an index holds, so that it can be
// told from git's own.
const lockText = "croft holds this index for a moment; safe to delete when no croft is running\n"

// indexWait is how long somebody else's change of an index is waited for.
const indexWait = 2 * time.Second

// ErrIndexLocked says that a lock of git lies on an index.
var ErrIndexLocked = errors.New("another git is at work on the index")

// takeLock locks the index as git does. A lock that a killed Croft left is
// taken over as it lies: whoever may change this index holds a kernel lock of
// Croft's, and nobody else gets in between before what was begun is finished.
func (c *indexCopy) takeLock(ctx context.Context) error {
	if err := c.hold(); err != nil {
		return err
	}
	deadline := time.Now().Add(indexWait)
	for {
		f, err := c.admin.Create(indexLock, 0o666)
		if err == nil {
			c.locked = true
			_, err = f.WriteString(lockText)
			return errors.Join(err, f.Close())
		}
		if !errors.Is(err, os.ErrExist) {
			return err
		}
		if c.isOurs() {
			c.locked = true
			return nil
		}
		if time.Now().After(deadline) {
			return ErrIndexLocked
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// isOurs reports whether the lock on the index is one of Croft's.
func (c *indexCopy) isOurs() bool {
	b, err := c.admin.ReadFile(indexLock, maxSmall)
	return err == nil && string(b) == lockText
}

// dropStaleLock removes a lock of Croft's.
func (c *indexCopy) dropStaleLock() {
	if c.hold() != nil {
		return
	}
	defer c.release()
	if c.isOurs() {
		_ = c.admin.Remove(indexLock)
	}
}

// place puts the copy in the place of the index. Git compares the times of
// files with that of the index to know which could have changed unseen, so it
// keeps the time of its making.
func (c *indexCopy) place() error {
	data, err := os.ReadFile(c.file())
	if err != nil {
		return err
	}
	info, err := os.Stat(c.file())
	if err != nil {
		return err
	}
	const next = "index.croft"
	if err := c.admin.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := c.admin.Create(next, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = c.admin.Chtimes(next, info.ModTime())
	}
	if err == nil {
		err = syncOpen(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return c.admin.Replace(next, "index")
}
