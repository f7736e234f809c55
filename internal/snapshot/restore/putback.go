package restore

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/snapshot"
)

// PutBack undoes a rewind whose process died: it moves the files that the rewind had
// moved out back into the checkout. A file that one of the snapshots has is deleted
// instead if its path is taken by now, or if the rewind had marked it as saved. If the path
// of a file that no snapshot has is taken, the file replaces one that a snapshot has, or is
// kept, and a KeptError says where.
func PutBack(ctx context.Context, r *git.Repository, path, aside string, commits ...string) error {
	dir, err := fsx.OpenDir(aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	b := &backPutter{aside: dir, saved: snapshot.ContentsOf(r, commits...)}
	if dir.Has(wasDir) {
		if err := b.putAllBack(ctx, path); err != nil {
			return err
		}
	}
	if dir.Has(goneDir) {
		if err := b.keepUnsaved(ctx, dir, goneDir, ""); err != nil {
			return err
		}
	}
	kept := nameKept(dir)
	for _, part := range []string{wasDir, goneDir, newDir} {
		if err := dir.RemoveAll(part); err != nil {
			return err
		}
	}
	return kept
}

// backPutter is the state of one PutBack.
type backPutter struct {
	aside *fsx.Dir
	saved *snapshot.Contents
}

// putAllBack moves all files that were moved out back into the checkout.
func (b *backPutter) putAllBack(ctx context.Context, path string) error {
	work, err := fsx.OpenDir(path)
	if err != nil {
		return err
	}
	defer work.Close()
	was, err := b.aside.OpenDir(wasDir)
	if err != nil {
		return err
	}
	defer was.Close()
	return b.putDirBack(ctx, was, work, "")
}

func (b *backPutter) putDirBack(ctx context.Context, from, to *fsx.Dir, dir string) error {
	names, err := from.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		err := moveWritable(from, to, name)
		if errors.Is(err, fs.ErrExist) {
			err = fsx.ErrLink
			if e, serr := from.Stat(name); serr == nil && e.Mode.IsDir() && !isRepository(from, name) {
				err = inBothDirs(from, to, name, func(from, to *fsx.Dir) error { return b.putDirBack(ctx, from, to, path) })
			}
			if errors.Is(err, fsx.ErrLink) {
				err = b.settleFile(ctx, from, to, path)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keepUnsaved keeps the files below a directory that no snapshot has: a process may
// have written to one after it was moved out. dir is the directory's path in the
// checkout.
func (b *backPutter) keepUnsaved(ctx context.Context, above *fsx.Dir, name, dir string) error {
	d, err := above.OpenDir(name)
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		e, err := d.Stat(name)
		switch {
		case err != nil:
			return err
		case e.Mode.IsDir() && !isRepository(d, name):
			err = b.keepUnsaved(ctx, d, name, path)
		case e.Mode.IsDir(), (e.Mode.IsRegular() || e.Mode&fs.ModeSymlink != 0) && !b.isSaved(ctx, d, path):
			err = keepFile(b.aside, goneDir, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isRepository(d *fsx.Dir, name string) bool {
	sub, err := d.OpenDir(name)
	if err != nil {
		return false
	}
	defer sub.Close()
	return sub.Has(".git")
}

// settleFile settles a file that was moved out and whose path is taken by now. It
// deletes the file if a snapshot has it; otherwise it moves the file back if a snapshot
// has the one at its path, and keeps it aside if none does.
func (b *backPutter) settleFile(ctx context.Context, from, to *fsx.Dir, path string) error {
	name := filepath.Base(path)
	if b.isSaved(ctx, from, path) {
		return from.Remove(name)
	}
	if b.isSaved(ctx, to, path) {
		if err := to.Remove(name); err != nil {
			return err
		}
		return from.RenameNew(name, to, name)
	}
	return keepFile(b.aside, wasDir, path)
}

// isSaved reports whether a snapshot has, at path, the file that d has under the last
// name of path.
func (b *backPutter) isSaved(ctx context.Context, d *fsx.Dir, path string) bool {
	full := filepath.Join(d.Path(), filepath.Base(path))
	now, err := index.Lstat(full)
	return err == nil && !now.Mode.IsDir() && b.saved.Has(ctx, path, full, now)
}
