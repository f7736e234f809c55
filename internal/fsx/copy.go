package fsx

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Copy makes a new file with the contents of a regular file, which shares its
// blocks where the file system can do that, and never its inode. What is to be
// copied is opened under the conditions of [ReadFile]. Nothing is left of a copy
// that fails.
func Copy(from, to string, perm os.FileMode) error {
	in, err := Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if cloneTo(in, to) == nil {
		return os.Chmod(to, perm)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if cloneInto(in, out) != nil {
		_, err = io.Copy(out, in)
	}
	if err = errors.Join(err, out.Chmod(perm), out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}

// mostLevels bounds how deep a copy goes.
const mostLevels = 64

// CopyInto copies what is in a directory to another one: regular files and
// directories. Links, pipes and devices are left out, and so are the entries of
// the directory itself, not of those below it, that skip names. It fails with
// [ErrTooLarge] if there is more than limit bytes, or more than 64 levels.
func (d *Dir) CopyInto(to *Dir, limit int64, skip func(name string) bool) error {
	return d.copyInto(to, &limit, skip, mostLevels)
}

// CopyOver is [Dir.CopyInto] that replaces what the other directory has of the
// same name: a file at once, a directory after deleting it.
func (d *Dir) CopyOver(to *Dir, limit int64) error {
	tmp := ".croft-" + randomName()
	if err := to.Mkdir(tmp, 0o777); err != nil {
		return err
	}
	stage, err := to.OpenDir(tmp)
	if err != nil {
		return err
	}
	defer stage.Close()
	names, err := d.Names()
	if err == nil {
		err = d.CopyInto(stage, limit, nil)
	}
	for _, name := range names {
		if err != nil {
			break
		}
		err = stage.moveOver(name, to)
	}
	return errors.Join(err, to.RemoveAll(tmp))
}

// moveOver moves an entry to another directory instead of what has its name
// there.
func (d *Dir) moveOver(name string, to *Dir) error {
	if !d.Has(name) {
		return nil
	}
	if d.isDir(name) || to.isDir(name) {
		if err := to.RemoveAll(name); err != nil {
			return err
		}
	}
	return d.renameOver(name, to)
}

// isDir reports whether an entry is a directory that can be opened.
func (d *Dir) isDir(name string) bool {
	sub, err := d.OpenDir(name)
	if err == nil {
		_ = sub.Close()
	}
	return err == nil
}

func (d *Dir) copyInto(to *Dir, left *int64, skip func(string) bool, levels int) error {
	if levels == 0 {
		return fmt.Errorf("%s: %w: too many levels", d.path, ErrTooLarge)
	}
	names, err := d.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if skip != nil && skip(name) {
			continue
		}
		f, err := d.Open(name)
		switch {
		case err == nil:
			err = copyFile(f, to, name, left)
		case errors.Is(err, ErrNotRegular):
			err = d.copyDir(name, to, left, levels)
		case errors.Is(err, os.ErrNotExist):
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Dir) copyDir(name string, to *Dir, left *int64, levels int) error {
	sub, err := d.OpenDir(name)
	if errors.Is(err, ErrLink) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	if err := to.Mkdir(name, 0o777); err != nil {
		return err
	}
	into, err := to.OpenDir(name)
	if err != nil {
		return err
	}
	defer into.Close()
	return sub.copyInto(into, left, nil, levels-1)
}

func copyFile(from *os.File, to *Dir, name string, left *int64) error {
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if info.Size() > *left { // before anything is written: a file may be long and take no room
		return &os.PathError{Op: "copy", Path: from.Name(), Err: ErrTooLarge}
	}
	out, err := to.Create(name, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(from, *left+1))
	if *left -= n; err == nil && *left < 0 {
		err = &os.PathError{Op: "copy", Path: from.Name(), Err: ErrTooLarge}
	}
	return errors.Join(err, out.Close())
}

// RequireOnlyFiles fails unless the directory holds nothing but regular files and
// directories, at most so many entries, and no file larger than the limit.
func (d *Dir) RequireOnlyFiles(entries int, limit int64) error {
	return d.requireOnlyFiles(&entries, limit, mostLevels)
}

func (d *Dir) requireOnlyFiles(left *int, limit int64, levels int) error {
	names, err := d.Names()
	if err != nil {
		return err
	}
	if *left -= len(names); *left < 0 || levels == 0 {
		return &os.PathError{Op: "look", Path: d.path, Err: ErrTooLarge}
	}
	for _, name := range names {
		if err := d.requireFile(name, left, limit, levels); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dir) requireFile(name string, left *int, limit int64, levels int) error {
	f, err := d.Open(name)
	if errors.Is(err, ErrNotRegular) {
		sub, err := d.OpenDir(name)
		if err != nil {
			return err
		}
		defer sub.Close()
		return sub.requireOnlyFiles(left, limit, levels-1)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > limit {
		return errors.Join(err, &os.PathError{Op: "look", Path: d.join(name), Err: ErrTooLarge})
	}
	return nil
}
