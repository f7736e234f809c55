package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/odb"
)

// Where files are not exchanged (see writeAside), git fast-forwards a checkout file by file, and
// each write may fail. So the files that are going to change are kept first, in the state directory: by a hard link, because git
// replaces files and does not overwrite them, or by a copy on another file system. If a
// write fails, the original files are restored.

// HostWriteError says that a checkout could not be written. Everything was restored,
// except the files in Left.
type HostWriteError struct {
	Path  string
	Err   error
	Needs int64    // how many bytes were to be written
	Left  []string // files that could not be restored
	Kept  string   // the directory of their originals
}

func (e *HostWriteError) Error() string {
	if len(e.Left) > 0 {
		return fmt.Sprintf("%s could not be written, and %d files could not be put back, which lie in %s: %v", e.Path, len(e.Left), e.Kept, e.Err)
	}
	return fmt.Sprintf("%s could not be written: %v", e.Path, e.Err)
}

// Unwrap returns the cause.
func (e *HostWriteError) Unwrap() error { return e.Err }

// hostUndo has the files of a checkout before a fast-forward.
type hostUndo struct {
	repo  *Repository
	work  *fsx.Dir // the checkout
	kept  *fsx.Dir // the directory of the originals
	drop  func()   // removes the originals
	files []keptFile
	dirs  map[string]os.FileMode // the modes of directories above the files
	other map[string]bool        // paths above the files that are not directories
}

// keptFile is the state of one path before the fast-forward.
type keptFile struct {
	path string
	name string // of the original in hostUndo.kept; empty: there was no file at the path
	was  fsx.Entry

	wanted string // the blob that git writes; empty: it writes none
}

// lookAtFiles notes the files that changes are going to replace or delete. Where git is to write them, linkFiles follows.
func (r *Repository) lookAtFiles(work string, changes []odb.Change) (*hostUndo, error) {
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
		if at := len(u.files) - 1; err == nil && !c.Deletes() && c.NewMode != odb.LinkMode {
			u.files[at].wanted = c.NewOID
		}
	}
	if err != nil {
		u.discard()
		return nil, err
	}
	slices.SortFunc(u.files, func(a, b keptFile) int { return comparePaths(a.path, b.path) })
	return u, nil
}

// comparePaths sorts a directory before the paths in it.
func comparePaths(a, b string) int { return slices.Compare(splitPath(a), splitPath(b)) }

func (u *hostUndo) discard() {
	for _, d := range []*fsx.Dir{u.work, u.kept} {
		if d != nil {
			_ = d.Close()
		}
	}
	u.drop()
}

// keepOriginals moves the originals to a directory that is not swept, and returns its
// path.
func (u *hostUndo) keepOriginals() string {
	dir := filepath.Join(u.repo.unrestored(), filepath.Base(u.kept.Path()))
	if errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.Rename(u.kept.Path(), dir)) != nil {
		u.drop = func() {} // they stay where they are, at least while this process lives
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
	u.files = append(u.files, keptFile{path: file, name: name, was: was})
	return nil
}

// linkFiles keeps the files.
func (u *hostUndo) linkFiles() error {
	for _, f := range u.files {
		if f.name == "" {
			continue
		}
		in, err := u.work.OpenBelow(filepath.FromSlash(path.Dir(f.path)))
		if err != nil {
			return err
		}
		if err = in.LinkTo(path.Base(f.path), u.kept, f.name); err != nil {
			err = in.CopyEntry(path.Base(f.path), u.kept, f.name, f.was)
		}
		if err = errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// openDir opens a directory of the checkout, and records its parents in dirs.
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

// splitPath splits a path at its slashes; the top has no parts.
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

// restoreAll restores the files and directories of the checkout as they were before the
// fast-forward, and lists the files that it could not restore. touched reports whether git had
// changed any of them. What the user has written meanwhile stays; if git had written beside it, it is listed, too.
func (u *hostUndo) restoreAll() (touched bool, left []string) {
	theirs := map[string]bool{}
	for _, f := range slices.Backward(u.files) {
		if u.isUnchanged(f) {
			continue
		}
		if !u.isWritten(f) {
			theirs[f.path] = true
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
		if theirs[f.path] {
			if touched {
				left = append(left, f.path)
			}
			continue
		}
		if f.name != "" && !u.isUnchanged(f) && !u.inDirOf(f.path, func(in *fsx.Dir, name string) error { return u.restoreFile(f, in, name) }) {
			left = append(left, f.path)
		}
	}
	for _, dir := range u.newDirs() {
		u.inDirOf(dir, func(in *fsx.Dir, name string) error { return in.Remove(name) })
	}
	return touched, left
}

// newDirs returns the directories above the files that did not exist before, the deepest
// first.
func (u *hostUndo) newDirs() []string {
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

// restoreFile restores the original of one path.
func (u *hostUndo) restoreFile(f keptFile, in *fsx.Dir, name string) error {
	err := u.kept.RenameNew(f.name, in, name)
	if fsx.IsOtherDevice(err) {
		return u.kept.CopyEntry(f.name, in, name, f.was)
	}
	return err
}

// isUnchanged reports whether a path is unchanged.
func (u *hostUndo) isUnchanged(f keptFile) bool {
	same := f.was.Identity == ""
	u.inDirOf(f.path, func(in *fsx.Dir, name string) error {
		now, err := in.Stat(name)
		switch {
		case f.was.Identity == "":
			same = errors.Is(err, os.ErrNotExist)
		case f.was.Mode.IsDir(): // restored by restoreAll if it is gone
			same = err != nil || now.Mode.IsDir()
		default:
			same = err == nil && now.IsSame(f.was)
		}
		return nil
	})
	return same
}

// isWritten reports whether git has written what is at a path: the new file or its beginning, if the write failed, or a
// directory. Nothing is lost with that, and nothing where there is no file.
func (u *hostUndo) isWritten(f keptFile) bool {
	is := true
	u.inDirOf(f.path, func(in *fsx.Dir, name string) error {
		now, err := in.Stat(name)
		switch {
		case errors.Is(err, os.ErrNotExist) || err == nil && now.Mode.IsDir():
		case err != nil || f.wanted == "":
			is = false
		default:
			is = u.isBeginning(in, name, now, f.wanted)
		}
		return nil
	})
	return is
}

// isBeginning reports whether a file or a link has the content of a blob, or the beginning of it, whatever its lines end with.
func (u *hostUndo) isBeginning(in *fsx.Dir, name string, now fsx.Entry, blob string) bool {
	var content io.Reader
	switch {
	case now.Mode.Type() == os.ModeSymlink:
		to, err := in.Readlink(name)
		if err != nil {
			return false
		}
		content = strings.NewReader(to)
	case now.Mode.IsRegular():
		f, err := in.Open(name)
		if err != nil {
			return false
		}
		defer f.Close()
		content = f
	default:
		return false
	}
	c := &beginning{of: bufio.NewReader(content)}
	_, err := u.repo.Copy(context.Background(), c, blob)
	return err == nil && !c.differs && c.isAtEnd()
}

// beginning compares a text with what is written to it, but for carriage returns.
type beginning struct {
	of      *bufio.Reader
	ended   bool
	differs bool
}

func (c *beginning) Write(b []byte) (int, error) {
	for _, want := range b {
		if c.differs || c.ended {
			break
		}
		if want != '\r' {
			got := c.next()
			c.differs = !c.ended && got != want
		}
	}
	return len(b), nil
}

func (c *beginning) next() byte {
	for {
		b, err := c.of.ReadByte()
		if err != nil {
			c.ended, c.differs = true, c.differs || !errors.Is(err, io.EOF)
			return 0
		}
		if b != '\r' {
			return b
		}
	}
}

func (c *beginning) isAtEnd() bool {
	if !c.ended {
		c.next()
	}
	return c.ended && !c.differs
}

// writtenLate lists the files that a user has written in place after git had compared them, and which git has replaced by now:
// the originals have that.
func (u *hostUndo) writtenLate() (late []string) {
	for _, f := range u.files {
		if f.name == "" {
			continue
		}
		now, err := u.kept.Stat(f.name)
		if err == nil && now.Identity == f.was.Identity && (!now.ModTime.Equal(f.was.ModTime) || now.Size != f.was.Size) {
			late = append(late, f.path)
		}
	}
	return late
}

// inDirOf calls do in the directory of a path, if that exists.
func (u *hostUndo) inDirOf(file string, do func(in *fsx.Dir, name string) error) (done bool) {
	in, err := u.work.OpenBelow(filepath.FromSlash(path.Dir(file)))
	if err != nil {
		return false
	}
	defer in.Close()
	return do(in, path.Base(file)) == nil
}

// requireDeleted fails if a file that was to be deleted still exists: git only warns.
func (u *hostUndo) requireDeleted(changes []odb.Change) error {
	for _, c := range changes {
		if !c.Deletes() || c.OldMode == odb.LinkMode {
			continue
		}
		in, err := u.work.OpenBelow(filepath.FromSlash(path.Dir(c.Path)))
		if err != nil {
			continue // its directory is gone, too
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

// indexUndo is the index before a fast-forward.
type indexUndo struct {
	data []byte // nil: there was none
	time time.Time
}

// restoreIndex restores the index of a git directory.
func (c *indexCopy) restoreIndex(was indexUndo) error {
	if was.data == nil {
		return c.admin.Remove("index")
	}
	if err := c.admin.WriteFile("index", was.data, 0o644); err != nil {
		return err
	}
	return c.admin.Chtimes("index", was.time)
}
