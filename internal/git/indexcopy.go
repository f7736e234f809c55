package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/mergetree"
	"github.com/croft-sh/croft/internal/git/worktree"
	"github.com/croft-sh/croft/internal/git/writers"
)

// indexCopy is a working copy of a checkout's index, with a quarantine for new objects.
// The checkout's own index is not touched until the copy, complete and on disk, is renamed
// to it.
type indexCopy struct {
	repo *Repository
	at   checkoutAt
	q    *mergetree.Quarantine
	lock *worktree.IndexHold

	// admin is the open git directory whose index is locked: an agent may replace the
	// directory at its path by another one or by a symbolic link.
	admin         *fsx.Dir
	isAdminShared bool // the caller closes admin

	tempGitDir string // the temporary git directory that is used instead of the checkout's; see makeTempGitDir
}

func (r *Repository) copyIndex(at checkoutAt) (*indexCopy, error) {
	q, err := r.NewQuarantine(writers.OnDisk)
	if err != nil {
		return nil, err
	}
	return &indexCopy{repo: r, at: at, q: q}, nil
}

// copyPath is the path of the copy: in the quarantine, under a name that no object has.
func (c *indexCopy) copyPath() string { return filepath.Join(c.q.Dir, "index") }

// copyIndex copies the index; without one the copy is an empty index.
func (c *indexCopy) copyIndex() error {
	if err := c.openGitDir(); err != nil {
		return err
	}
	err := index.CopyFrom(c.admin, "index", c.copyPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// discard deletes the copy of the index and releases the lock on the checkout's index.
func (c *indexCopy) discard() {
	c.lock.Release()
	c.lock = nil
	c.release()
	c.q.Discard()
}

// openGitDir opens the git directory unless it is open.
func (c *indexCopy) openGitDir() (err error) {
	if c.admin == nil {
		c.admin, err = c.repo.worktreeOf(worktree.Worktree{Admin: c.at.gitDir}).OpenAdmin()
	}
	return err
}

func (c *indexCopy) release() {
	if c.admin != nil && !c.isAdminShared {
		_ = c.admin.Close()
	}
	c.admin = nil
}

// run runs git in the checkout on the copy of its index.
func (c *indexCopy) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	return c.runCall(ctx, gitcmd.Call{
		Args: args, Stdin: stdin, Config: [][2]string{{"core.fsync", "none"}}, Env: c.q.Env,
	})
}

// runCall is run for a call that says itself where objects are written.
func (c *indexCopy) runCall(ctx context.Context, k gitcmd.Call) ([]byte, error) {
	k.Locks, k.Inherit = true, c.lock.Inherit(c.at.inherit)
	k.Config = append(k.Config, [2]string{"core.splitIndex", "false"})
	k.Env = append([]string{"GIT_INDEX_FILE=" + c.copyPath()}, k.Env...)
	return c.repo.Git.Run(ctx, gitcmd.Target{Repo: c.repo.Core(), GitDir: c.at.gitDir, Work: c.at.work, TempGitDir: c.tempGitDir}, k)
}

// updatePaths updates paths in the copy from disk: added, changed or deleted.
func (c *indexCopy) updatePaths(ctx context.Context, paths []string) error {
	var list []byte
	var gone []string
	known := map[string]bool{}
	for _, p := range paths {
		if c.isBelowLink(gitdir.ParentDir(p), known) {
			gone = append(gone, p)
			continue
		}
		// A directory lists what was there before the device was mounted on it, so git takes it for a file.
		if info, err := os.Lstat(filepath.Join(c.at.work, filepath.FromSlash(p))); err == nil && gitcmd.IsNull(info) {
			continue
		}
		list = append(append(list, p...), 0)
	}
	if err := c.unstagePaths(ctx, gone); err != nil || len(list) == 0 {
		return err
	}
	_, err := c.run(ctx, string(list), "update-index", "--add", "--remove", "--replace", "--ignore-skip-worktree-entries", "-z", "--stdin")
	return err
}

// forgetFiles makes git read the files at some paths, instead of trusting the stat data of their
// entries in the copy: an agent may have forged it. Git trusts stat data by the mtime of the index,
// so where the entries cannot be changed here an old mtime makes it read all files.
func (c *indexCopy) forgetFiles(paths []string) error {
	data, info, err := index.ReadFile(c.copyPath())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	is := make(map[string]bool, len(paths))
	for _, p := range paths {
		is[p] = true
	}
	at := info.ModTime()
	if data, err = index.Forget(data, c.repo.ObjectFormat(), func(path []byte) bool { return is[string(path)] }); err == nil {
		err = os.WriteFile(c.copyPath(), data, 0o600)
	} else if errors.Is(err, index.ErrUnreadable) {
		at, err = time.Unix(1, 0), nil
	}
	return errors.Join(err, os.Chtimes(c.copyPath(), at, at))
}

// isBelowLink reports whether a directory of the checkout is a symbolic link, or is below
// one. The files that were there no longer exist, but git fails if it is asked about them.
func (c *indexCopy) isBelowLink(dir string, known map[string]bool) bool {
	if dir == "" {
		return false
	}
	below, ok := known[dir]
	if !ok {
		info, err := os.Lstat(filepath.Join(c.at.work, filepath.FromSlash(dir)))
		below = err == nil && info.Mode()&os.ModeSymlink != 0 || c.isBelowLink(gitdir.ParentDir(dir), known)
		known[dir] = below
	}
	return below
}

// unstagePaths removes paths from the copy.
func (c *indexCopy) unstagePaths(ctx context.Context, paths []string) error {
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

// takeLock locks the index until the copy is discarded.
func (c *indexCopy) takeLock(ctx context.Context, after worktree.Aftermath) error {
	if err := c.openGitDir(); err != nil {
		return err
	}
	var err error
	c.lock, err = c.repo.HoldIndex(ctx, c.at.gitDir, c.admin, after)
	return err
}

// replaceIndex renames the copy to the index. Git trusts cached stat data by the index's
// mtime, so the copy keeps the time at which it was written.
func (c *indexCopy) replaceIndex() error {
	data, err := os.ReadFile(c.copyPath())
	if err != nil {
		return err
	}
	info, err := os.Stat(c.copyPath())
	if err != nil {
		return err
	}
	return replaceIndex(c.admin, data, func(f *os.File) error {
		return errors.Join(c.admin.Chtimes(writers.NextIndex, info.ModTime()), fsx.SyncOpen(f))
	})
}

// replaceIndex replaces the index in a git directory, whose lock the caller holds. finish is called before the new one
// gets its name.
func replaceIndex(admin *fsx.Dir, data []byte, finish func(*os.File) error) error {
	if err := admin.Remove(writers.NextIndex); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := admin.Create(writers.NextIndex, 0o666)
	if err != nil {
		return err
	}
	if _, err = f.Write(data); err == nil {
		err = finish(f)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return admin.Replace(writers.NextIndex, "index")
}
