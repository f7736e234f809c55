package restore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/snapshot"
)

// moveIn moves the new files into the checkout. It moves a directory whole if the
// checkout has none of that name.
func (m *rewinder) moveIn(context.Context) error {
	fresh, err := m.aside.OpenDir(newDir)
	if err != nil {
		return err
	}
	defer fresh.Close()
	return m.moveInto(fresh, m.work, "")
}

func (m *rewinder) moveInto(from, to *fsx.Dir, dir string) error {
	names, err := from.Names()
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		path := filepath.Join(dir, name)
		err := moveWritable(from, to, name)
		if err == nil {
			m.in = append(m.in, path)
			err = failpoint.Hit("snapshot.moved")
		} else if errors.Is(err, fs.ErrExist) {
			err = inBothDirs(from, to, name, func(from, to *fsx.Dir) error { return m.moveInto(from, to, path) })
			if errors.Is(err, fsx.ErrLink) {
				err = fmt.Errorf("%q: %w", path, ErrInTheWay)
			}
		}
		if err != nil {
			return mountedError(err)
		}
	}
	return nil
}

// inBothDirs opens the directories of one name in a and b and calls act with them. It
// fails with fsx.ErrLink if one of the two is not a directory.
func inBothDirs(a, b *fsx.Dir, name string, act func(a, b *fsx.Dir) error) error {
	a, err := a.OpenDir(name)
	if err != nil {
		return err
	}
	defer a.Close()
	if b, err = b.OpenDir(name); err != nil {
		return err
	}
	defer b.Close()
	return act(a, b)
}

// moveWritable moves an entry. It makes a read-only directory writable for the move,
// because the kernel refuses it otherwise.
func moveWritable(from, to *fsx.Dir, name string) error {
	err := from.RenameNew(name, to, name)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	e, serr := from.Stat(name)
	if serr != nil || !e.Mode.IsDir() || e.Mode&0o200 != 0 {
		return err
	}
	root, rerr := from.Root()
	if rerr != nil {
		return err
	}
	defer root.Close()
	if root.Chmod(name, e.Mode&modeBits|0o700) != nil {
		return err
	}
	if err := from.RenameNew(name, to, name); err != nil {
		return errors.Join(err, root.Chmod(name, e.Mode&modeBits))
	}
	moved, err := to.Root()
	if err != nil {
		return err
	}
	defer moved.Close()
	return moved.Chmod(name, e.Mode&modeBits)
}

// putBack undoes the steps of an exchange that were taken.
func (m *rewinder) putBack(ctx context.Context) error {
	if err := m.undoMoveIn(); err != nil {
		return err
	}
	if err := m.undoMoveOut(); err != nil {
		return err
	}
	for _, d := range slices.Backward(slices.Concat(m.dirs, m.others)) {
		if err := m.root.Chmod(d.path, d.mode); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if !m.isSwapped {
		return nil
	}
	return swapAdmin(ctx, m.Worktree, m.Now)
}

// undoMoveIn moves the new files out of the checkout again.
func (m *rewinder) undoMoveIn() error {
	dirs := slices.Clone(m.dirs)
	m.unlockDirs()
	m.dirs = dirs // their earlier modes are noted already
	fresh, err := m.aside.OpenDir(newDir)
	if err != nil {
		return err
	}
	defer fresh.Close()
	return moveAll(m.work, fresh, m.in)
}

// undoMoveOut moves the old files into the checkout again. A file whose path another
// process has taken stays beside the checkout.
func (m *rewinder) undoMoveOut() error {
	for _, d := range slices.Backward(m.dirs) { // parents come first
		dir, err := makeBelow(m.work, d.path)
		if err != nil && !errors.Is(err, fsx.ErrLink) {
			return err
		}
		if err == nil {
			_ = dir.Close()
		}
	}
	out, err := m.aside.OpenDir(m.outDir)
	if err != nil {
		return err
	}
	defer out.Close()
	var paths []string
	for _, f := range m.out {
		paths = append(paths, f.path)
	}
	return moveAll(out, m.work, paths, fs.ErrExist, fsx.ErrLink)
}

// keepUnsaved keeps the files that no snapshot has, of those that are left beside the
// checkout after all was put back. It moves new files that a process has made or written to
// back into the checkout, or to keptDir if their paths are taken, and old files whose paths
// were taken to keptDir. It deletes the others.
func (m *rewinder) keepUnsaved() error {
	left, err := snapshot.ListBelow(filepath.Join(m.Aside, newDir))
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		now, was := left[path], m.built[path]
		now.Mode = was.Mode // the rewind sets the mode itself
		if now.IsSameMoved(was) || m.saved.Has(context.Background(), path, filepath.Join(m.Aside, newDir, path), left[path]) {
			continue
		}
		if err := m.moveFileBack(path); err != nil {
			return err
		}
	}
	for _, f := range m.out {
		full := filepath.Join(m.Aside, m.outDir, f.path)
		now, err := index.Lstat(full)
		if err != nil || f.nested == nil && m.saved.Has(context.Background(), f.path, full, now) {
			continue
		}
		if err := keepFile(m.aside, m.outDir, f.path); err != nil {
			return err
		}
	}
	return errors.Join(m.removeAside(newDir), m.removeAside(m.outDir), nameKept(m.aside))
}

// moveFileBack moves a file that a process made in the checkout, or wrote to, during the
// rewind back into the checkout, or to keptDir if its path is taken.
func (m *rewinder) moveFileBack(path string) error {
	fresh, err := m.aside.OpenDir(newDir)
	if err != nil {
		return err
	}
	defer fresh.Close()
	err = moveAll(fresh, m.work, []string{path})
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fsx.ErrLink) {
		return keepFile(m.aside, newDir, path)
	}
	return err
}

// keepFile moves a file that no snapshot has from a part of the aside directory to
// keptDir.
func keepFile(aside *fsx.Dir, part, path string) error {
	from, err := aside.OpenDir(part)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := aside.MakeBelow(keptDir, 0o777)
	if err != nil {
		return err
	}
	defer to.Close()
	return moveAll(from, to, []string{path})
}

// keptName begins the names of directories that are left for the user to examine.
const keptName = keptDir + "-"

// IsKept reports whether a directory beside a checkout is one that a KeptError names.
func IsKept(name string) bool { return strings.HasPrefix(name, keptName) }

// nameKept renames keptDir to a name that no other rewind uses, and returns a KeptError
// with the new path. If no file was kept it returns nil.
func nameKept(aside *fsx.Dir) error {
	if !aside.Has(keptDir) {
		return nil
	}
	name := keptName + rand.Text()[:8]
	if err := aside.Replace(keptDir, name); err != nil {
		return err
	}
	return &KeptError{Dir: filepath.Join(aside.Path(), name)}
}
