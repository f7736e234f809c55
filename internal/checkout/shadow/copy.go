package shadow

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/fsx"
)

// copyTree copies everything below a directory into another one, which exists: files
// with their permissions and times, as clones where the file system can, links as
// links, empty directories. Other kinds of files are skipped, and so are the
// directories in skip.
func copyTree(ctx context.Context, from, to string, workers int, skip []string) error {
	c := &copying{from: from, to: to, skip: skip}
	c.files.SetLimit(max(workers, 1))
	err := c.copyDir(ctx, ".")
	return errors.Join(err, c.files.Wait(), c.stamp())
}

type copying struct {
	from, to string
	skip     []string
	files    errgroup.Group
	dirs     []stamped
}

// stamped is a directory whose permissions and times are set at the end.
type stamped struct {
	path string
	info fs.FileInfo
}

func (c *copying) copyDir(ctx context.Context, rel string) error {
	entries, err := os.ReadDir(filepath.Join(c.from, rel))
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if rel == "." && e.Name() == ".git" {
			continue
		}
		if !e.IsDir() {
			names = append(names, e.Name())
			continue
		}
		sub := filepath.Join(rel, e.Name())
		if slices.Contains(c.skip, filepath.Join(c.from, sub)) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // it was deleted meanwhile
		}
		path := filepath.Join(c.to, sub)
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		c.dirs = append(c.dirs, stamped{path, info})
		if err := c.copyDir(ctx, sub); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		c.files.Go(func() error { return c.copyFiles(ctx, rel, names) })
	}
	return nil
}

func (c *copying) copyFiles(ctx context.Context, rel string, names []string) error {
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := copyEntry(filepath.Join(c.from, rel, name), filepath.Join(c.to, rel, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, fsx.ErrNotRegular) { // it was deleted meanwhile, or is no regular file any more
			return err
		}
	}
	return nil
}

func copyEntry(from, to string) error {
	info, err := os.Lstat(from)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case !info.Mode().IsRegular():
		return nil
	}
	if err := fsx.Copy(from, to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// stamp sets the permissions and times of directories, the innermost first.
func (c *copying) stamp() error {
	for _, d := range slices.Backward(c.dirs) {
		if err := errors.Join(os.Chtimes(d.path, d.info.ModTime(), d.info.ModTime()), os.Chmod(d.path, d.info.Mode().Perm()|0o700)); err != nil {
			return err
		}
	}
	return nil
}
