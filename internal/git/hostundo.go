package git

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/odb"
)

// A checkout that goes along with its branch is written by git, file by file, and
// any of them may fail. So what is going to be changed is kept first, in the state
// directory: by a second name of the same file, which git replaces and does not
// write, or by a copy on another file system. If anything fails, the very files are
// put back.

// HostWriteError says that a checkout could not be written. It is as it was, but
// for what is left.
type HostWriteError struct {
	Path  string
	Err   error
	Needs int64    // how many bytes were to be written
	Left  []string // files that could not be put back
	Kept  string   // where they lie
}

func (e *HostWriteError) Error() string {
	if len(e.Left) > 0 {
		return fmt.Sprintf("%s could not be written, and %d files could not be put back, which lie in %s: %v", e.Path, len(e.Left), e.Kept, e.Err)
	}
	return fmt.Sprintf("%s could not be written: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *HostWriteError) Unwrap() error { return e.Err }

// hostUndo is what a checkout was.
type hostUndo struct {
	repo  *Repository
	work  *fsx.Dir // the checkout
	kept  *fsx.Dir // where the originals are
	drop  func()   // removes them
	files []keptFile
	dirs  map[string]os.FileMode // those on the way to the files that were there
	other map[string]bool        // what was there on the way and is no directory
}

// keptFile is what lay at one path.
type keptFile struct {
	path string
	name string // of the original among those that are kept; empty: nothing lay there, or a directory
	was  fsx.Entry
}

// keepHost keeps what changes are going to be made to.
func (r *Repository) keepHost(work string, changes []odb.Change) (*hostUndo, error) {
	u := &hostUndo{repo: r, dirs: map[string]os.FileMode{}, other: map[string]bool{}}
	dir, drop, err := r.TempDir()
	if err != nil {
		return nil, err
	}
	u.drop = drop
	if u.kept, err = fsx.OpenOwn(dir); err == nil {
		u.work, err = fsx.OpenDir(work)
	}
	for i, c := range changes {
		if err != nil {
			break
		}
		err = u.keepFile(c.Path, strconv.Itoa(i))
	}
	if err != nil {
		u.discard()
		return nil, err
	}
	slices.SortFunc(u.files, func(a, b keptFile) int { return comparePaths(a.path, b.path) })
	return u, nil
}

// comparePaths sorts directories before what is in them.
func comparePaths(a, b string) int { return slices.Compare(splitPath(a), splitPath(b)) }

func (u *hostUndo) discard() {
	for _, d := range []*fsx.Dir{u.work, u.kept} {
		if d != nil {
			_ = d.Close()
		}
	}
	u.drop()
}

// keepOriginals moves the originals to where nobody removes them, and returns where that
// is.
func (u *hostUndo) keepOriginals() string {
	dir := filepath.Join(u.repo.Dir, "unrestored", filepath.Base(u.kept.Path()))
	if errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.Rename(u.kept.Path(), dir)) != nil {
		u.drop = func() {} // at least as long as this process lives
		return u.kept.Path()
	}
	return dir
}

func (u *hostUndo) keepFile(file, name string) error {
	in, err := u.openDir(path.Dir(file))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, fsx.ErrLink) {
		u.files = append(u.files, keptFile{path: file})
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	was, err := in.Stat(path.Base(file))
	if errors.Is(err, os.ErrNotExist) {
		u.files = append(u.files, keptFile{path: file})
		return nil
	}
	if err != nil {
		return err
	}
	if was.Mode.IsDir() {
		u.dirs[file] = was.Mode
		u.files = append(u.files, keptFile{path: file, was: was})
		return nil
	}
	if err := in.LinkTo(path.Base(file), u.kept, name); err != nil {
		if err := in.CopyEntry(path.Base(file), u.kept, name, was); err != nil {
			return err
		}
	}
	u.files = append(u.files, keptFile{path: file, name: name, was: was})
	return nil
}

// openDir opens a directory of the checkout, and notes those on the way.
func (u *hostUndo) openDir(dir string) (*fsx.Dir, error) {
	at, err := u.work.OpenBelow(".")
	for i, part := range splitPath(dir) {
		if err != nil {
			return nil, err
		}
		name := path.Join(splitPath(dir)[:i+1]...)
		was, serr := at.Stat(part)
		next, oerr := at.OpenDir(part)
		_ = at.Close()
		if err = errors.Join(serr, oerr); err == nil {
			at, u.dirs[name] = next, was.Mode
			continue
		}
		if next != nil {
			_ = next.Close()
		}
		u.other[name] = serr == nil
	}
	return at, err
}

// splitPath is the parts of a slashed path; the top has none.
func splitPath(p string) []string {
	if p == "." || p == "" {
		return nil
	}
	parts := []string{}
	for p != "." {
		parts = append(parts, path.Base(p))
		p = path.Dir(p)
	}
	slices.Reverse(parts)
	return parts
}

// putAllBack puts everything back, and lists what could not be. It reports whether
// anything was not as it had been.
func (u *hostUndo) putAllBack() (touched bool, left []string) {
	for _, f := range slices.Backward(u.files) {
		if u.isAsItWas(f) {
			continue
		}
		touched = true
		u.inDirOf(f.path, func(in *fsx.Dir, name string) error { return in.Remove(name) })
	}
	for _, dir := range slices.SortedFunc(maps.Keys(u.dirs), comparePaths) {
		u.inDirOf(dir, func(in *fsx.Dir, name string) error {
			if in.Has(name) {
				return nil
			}
			touched = true
			return in.MakeDirAs(name, u.dirs[dir])
		})
	}
	for _, f := range u.files {
		if f.name != "" && !u.isAsItWas(f) && !u.inDirOf(f.path, func(in *fsx.Dir, name string) error { return u.putBack(f, in, name) }) {
			left = append(left, f.path)
		}
	}
	for _, dir := range u.madeDirs() {
		u.inDirOf(dir, func(in *fsx.Dir, name string) error { return in.Remove(name) })
	}
	return touched, left
}

// madeDirs are the directories on the way to the files that were not there, the
// deepest first.
func (u *hostUndo) madeDirs() []string {
	dirs := map[string]bool{}
	for _, f := range u.files {
		for dir := path.Dir(f.path); dir != "."; dir = path.Dir(dir) {
			if _, there := u.dirs[dir]; !there && !u.other[dir] && !slices.ContainsFunc(u.files, func(f keptFile) bool { return f.path == dir && f.name != "" }) {
				dirs[dir] = true
			}
		}
	}
	list := slices.SortedFunc(maps.Keys(dirs), comparePaths)
	slices.Reverse(list)
	return list
}

// putBack gives an original its place again.
func (u *hostUndo) putBack(f keptFile, in *fsx.Dir, name string) error {
	err := u.kept.MoveFile(f.name, in, name)
	if fsx.IsOtherDevice(err) {
		return u.kept.CopyEntry(f.name, in, name, f.was)
	}
	return err
}

// isAsItWas reports whether at a path lies what lay there.
func (u *hostUndo) isAsItWas(f keptFile) bool {
	same := f.was.Identity == ""
	u.inDirOf(f.path, func(in *fsx.Dir, name string) error {
		now, err := in.Stat(name)
		switch {
		case f.was.Identity == "":
			same = errors.Is(err, os.ErrNotExist)
		case f.was.Mode.IsDir(): // if it is gone, it is made again
			same = err != nil || now.Mode.IsDir()
		default:
			same = err == nil && now.Identity == f.was.Identity && now.ModTime.Equal(f.was.ModTime) && now.Mode == f.was.Mode && now.Size == f.was.Size
		}
		return nil
	})
	return same
}

// inDirOf does something in the directory of a path, if that is there.
func (u *hostUndo) inDirOf(file string, do func(in *fsx.Dir, name string) error) (done bool) {
	in, err := u.work.OpenBelow(filepath.FromSlash(path.Dir(file)))
	if err != nil {
		return false
	}
	defer in.Close()
	return do(in, path.Base(file)) == nil
}

// requireDeleted makes sure that what was to be deleted is gone: git only warns if it is not.
func (u *hostUndo) requireDeleted(changes []odb.Change) error {
	for _, c := range changes {
		if !c.Deletes() || c.OldMode == odb.LinkMode {
			continue
		}
		in, err := u.work.OpenBelow(filepath.FromSlash(path.Dir(c.Path)))
		if err != nil {
			continue // its directory is gone too
		}
		if now, serr := in.Stat(path.Base(c.Path)); serr == nil && !now.Mode.IsDir() {
			err = in.Remove(path.Base(c.Path))
		}
		_ = in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// indexUndo is what an index was.
type indexUndo struct {
	data []byte // nil: there was none
	time time.Time
}

// putBackIndex gives a git directory the index that it had.
func (c *indexCopy) putBackIndex(was indexUndo) error {
	if was.data == nil {
		return c.admin.Remove("index")
	}
	if err := c.admin.WriteFile("index", was.data, 0o644); err != nil {
		return err
	}
	return c.admin.Chtimes("index", was.time)
}
