package check

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
)

// Cache is the copies of ignored paths, such as installed dependencies, that the checks
// of a target begin with, as the last check whose result was published left them. The
// copy of any other check is deleted.
//
// It is in Croft's own directory for the project, below the state directory. Only the process that drives the
// lane uses it.
type Cache struct {
	dir   string   // of the lane
	paths []string // merge.check_cache of the target's tip

	mu   sync.Mutex
	kept map[string]string // from the tree that passed to the copy of the paths that its check left
}

// cacheLimits bound the copies: larger ones are not worth copying.
var cacheLimits = fsx.CopyLimits{Entries: 1_000_000, Depth: 200}

// currentCache is the subdirectory of a lane's cache that checks begin with.
const currentCache = "current"

// OpenCache opens the cache of a lane. It deletes everything in dir but the current
// cache: copies that a process set aside before it died. paths are the ignored paths
// that are kept; none: nothing is kept. The caller holds the lane's lock while it uses
// the cache.
func OpenCache(dir string, paths []string) *Cache {
	c := &Cache{dir: dir, paths: paths, kept: map[string]string{}}
	entries, _ := os.ReadDir(c.dir)
	for _, entry := range entries {
		if entry.Name() != currentCache {
			_ = fsx.RemoveOwn(filepath.Join(c.dir, entry.Name()))
		}
	}
	return c
}

// fill copies the cache into a fresh checkout: the paths that git ignores there and
// that do not exist. A path that cannot be copied is left out.
func (c *Cache) fill(ctx context.Context, s *git.Scratch, spec git.ScratchSpec) error {
	if c == nil || len(c.paths) == 0 {
		return nil
	}
	from, err := os.OpenRoot(filepath.Join(c.dir, currentCache))
	if err != nil {
		return nil // there is no cache yet
	}
	defer from.Close()
	to, err := os.OpenRoot(s.Path)
	if err != nil {
		return err
	}
	defer to.Close()
	ignored, err := s.Ignored(ctx, spec, c.paths)
	if err != nil {
		return err
	}
	for _, p := range ignored {
		p = filepath.FromSlash(p)
		if _, err := from.Lstat(p); err != nil {
			continue
		}
		if _, err := to.Lstat(p); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if fsx.CopyTree(from, to, p, cacheLimits) != nil {
			if err := to.RemoveAll(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep sets aside the cached paths that a passing check left, until it is known whether
// its tree is published. If a path cannot be copied, nothing is kept.
func (c *Cache) keep(s *git.Scratch, tree string) {
	if c == nil || len(c.paths) == 0 {
		return
	}
	if os.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	dir, err := os.MkdirTemp(c.dir, "passed-")
	if err != nil {
		return
	}
	if err := copyPaths(s.Path, dir, c.paths); err != nil {
		_ = fsx.RemoveOwn(dir)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.kept[tree]; ok {
		_ = fsx.RemoveOwn(old)
	}
	c.kept[tree] = dir
}

func copyPaths(from, to string, paths []string) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer dst.Close()
	for _, p := range paths {
		err := fsx.CopyTree(src, dst, filepath.FromSlash(p), cacheLimits)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Adopt makes the copy that was set aside for tree the current cache. The caller has
// published tree. Adopt does nothing if there is no such copy. A crash or an error in
// Adopt may lose the cache, never mix two.
func (c *Cache) Adopt(tree string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	dir, ok := c.kept[tree]
	if !ok {
		return
	}
	delete(c.kept, tree)
	current, old := filepath.Join(c.dir, currentCache), dir+"-before"
	if err := os.Rename(current, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		_ = fsx.RemoveOwn(dir)
		return
	}
	_ = os.Rename(dir, current)
	_ = fsx.RemoveOwn(old)
}

// Discard deletes the copies that were set aside and not adopted. The caller calls it
// when it is done.
func (c *Cache) Discard() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for tree, dir := range c.kept {
		_ = fsx.RemoveOwn(dir)
		delete(c.kept, tree)
	}
}

// SweepCaches deletes, below caches, the directories of lanes that were idle for
// IdleTime. lock(lane) is the path of the lane's lock file; a lane whose lock is held,
// or that has no such file, is skipped.
func SweepCaches(caches string, now time.Time, lock func(lane string) string) {
	lanes, _ := os.ReadDir(caches)
	for _, lane := range lanes {
		dir := filepath.Join(caches, lane.Name())
		info, err := os.Lstat(dir)
		if err != nil || now.Sub(info.ModTime()) < IdleTime {
			continue
		}
		held, err := flock.TryExisting(lock(lane.Name()))
		if err != nil {
			continue
		}
		_ = fsx.RemoveOwn(dir)
		_ = held.Unlock()
	}
}
