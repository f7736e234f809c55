package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/snapshot"
)

// pair is a directory of the checkout and its counterpart beside the checkout. Both
// stay open while files of the directory are moved.
type pair struct {
	dir      string
	from, to *fsx.Dir
}

func (p *pair) close() {
	for _, d := range []*fsx.Dir{p.from, p.to} {
		if d != nil {
			_ = d.Close()
		}
	}
	*p = pair{}
}

// open opens the directory dir below from, and makes and opens its counterpart below
// to. If from has no such directory, p.from is nil and there is no error.
func (p *pair) open(dir string, from, to *fsx.Dir) (err error) {
	if p.dir == dir {
		return nil
	}
	p.close()
	p.dir = dir
	p.from, err = from.OpenBelow(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fsx.ErrLink) { // it is not the directory that a snapshot names
		p.from = nil
		return nil
	}
	if err != nil {
		return err
	}
	if p.to, err = makeBelow(to, dir); err != nil {
		p.close()
	}
	return err
}

// moveAll moves files from a directory to another, the last first. A file that does not
// exist, or whose move fails with one of the errors in stay, is skipped.
func moveAll(from, to *fsx.Dir, paths []string, stay ...error) error {
	var p pair
	defer p.close()
	for _, path := range slices.Backward(paths) {
		err := p.open(filepath.Dir(path), from, to)
		if err == nil && p.from != nil {
			err = moveWritable(p.from, p.to, filepath.Base(path))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !slices.ContainsFunc(stay, func(is error) bool { return errors.Is(err, is) }) {
			return err
		}
	}
	return nil
}

func makeBelow(d *fsx.Dir, dir string) (*fsx.Dir, error) {
	if dir == "." {
		return d.OpenBelow(dir)
	}
	return d.MakeBelow(dir, 0o777)
}

// moveOut moves the old files out of the checkout, and the directories that this leaves
// empty.
func (m *rewinder) moveOut(ctx context.Context) error {
	m.unlockDirs()
	was, err := m.aside.OpenDir(wasDir)
	if err != nil {
		return err
	}
	defer was.Close()
	var p pair
	defer p.close()
	left := map[string]bool{} // directories that a file was moved out of
	for i, list := range [][]string{m.known.Nested, m.known.Files} {
		for _, path := range list {
			if err := p.open(filepath.Dir(path), m.work, was); err != nil {
				return err
			}
			if p.from == nil {
				left[filepath.Dir(path)] = true
				continue
			}
			if err := m.moveOne(ctx, &p, path, i == 0); err != nil {
				return fmt.Errorf("%q: %w", path, err)
			}
			left[p.dir] = true
		}
	}
	p.close()
	m.pruneEmptyDirs(left)
	return nil
}

// unlockDirs makes the directories that snapshots name writable.
func (m *rewinder) unlockDirs() {
	for _, path := range m.known.Modes { // parents come first
		if isBehindLink(m.root, path) {
			continue
		}
		info, err := m.root.Lstat(path)
		if err != nil || !info.IsDir() || info.Mode()&0o700 == 0o700 {
			continue
		}
		if m.root.Chmod(path, info.Mode()&modeBits|0o700) == nil {
			m.dirs = append(m.dirs, dirMode{path, info.Mode() & modeBits})
		}
	}
}

// moveOne moves a file, or a nested repository, out of the checkout.
func (m *rewinder) moveOne(ctx context.Context, p *pair, path string, isNested bool) error {
	name := filepath.Base(path)
	full := filepath.Join(p.from.Path(), name)
	before, err := index.Lstat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if before.Mode.IsDir() != isNested || name == ".git" && p.dir == "." {
		return nil // the snapshot has a file here, and this is a directory, or the other way round
	}
	if isNested && before.Mode&0o200 == 0 { // the kernel moves a directory only if it is writable
		if err := m.root.Chmod(path, before.Mode&modeBits|0o700); err == nil {
			m.others = append(m.others, dirMode{path, before.Mode & modeBits})
		}
	}
	if err := p.from.RenameNew(name, p.to, name); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return mountedError(err)
	}
	moved := movedOut{path: path}
	full = filepath.Join(p.to.Path(), name)
	if isNested {
		moved.nested, err = snapshot.ListBelow(full)
	} else {
		moved.stat, err = index.Lstat(full)
	}
	m.out = append(m.out, moved)
	if err != nil {
		return err
	}
	if err := failpoint.Hit("snapshot.removed"); err != nil {
		return err
	}
	switch {
	case m.isSaved(ctx, full, before, moved):
	case m.Seen == nil:
		m.unsaved = append(m.unsaved, path)
	case m.isLeft[path]:
		m.out = m.out[:len(m.out)-1]
		return p.to.RenameNew(name, p.from, name)
	default:
		return ErrWritten
	}
	return nil
}

// isSaved reports whether a snapshot has the file or repository that was moved out. Without
// m.Seen every repository counts as saved.
func (m *rewinder) isSaved(ctx context.Context, full string, before index.FileStat, f movedOut) bool {
	switch {
	case f.nested != nil:
		return m.Seen == nil || m.Seen.HasNested(f.path, f.nested)
	case !f.stat.Mode.IsRegular() && f.stat.Mode&fs.ModeSymlink == 0:
		return true // a pipe, which has no content
	}
	return m.Seen.Has(m.Worktree.Repo, f.path, full, before, f.stat) || m.saved.Has(ctx, f.path, full, f.stat)
}

// mountedError adds fsx.ErrMount to the error of a move between file systems: one is
// mounted in the checkout.
func mountedError(err error) error {
	if errors.Is(err, syscall.EXDEV) {
		return errors.Join(fsx.ErrMount, err)
	}
	return err
}

// pruneEmptyDirs removes, the deepest first, those directories that are empty of left, of the
// directories that were empty already, and of the parents of both. It records their modes in
// m.dirs.
func (m *rewinder) pruneEmptyDirs(left map[string]bool) {
	for _, p := range m.known.Empty {
		left[p] = true
	}
	for dir := range left {
		for d := filepath.Dir(dir); !left[d]; d = filepath.Dir(d) {
			left[d] = true
		}
	}
	delete(left, ".")
	for _, dir := range slices.Backward(slices.Sorted(maps.Keys(left))) {
		if isBehindLink(m.root, dir) {
			continue
		}
		if info, err := m.root.Lstat(dir); err == nil && info.IsDir() && m.root.Remove(dir) == nil {
			m.dirs = append(m.dirs, dirMode{dir, info.Mode() & modeBits})
		}
	}
}
