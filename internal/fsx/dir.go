package fsx

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrOther says that something lies at a place, but not what was recorded when
// the place was made.
var ErrOther = errors.New("not the directory that was made there")

// ErrLink says that a part of a path that has to be a directory is a link, or something
// else.
var ErrLink = errors.New("a link, or something else that is no directory")

// ErrMount says that another file system is mounted in a tree.
var ErrMount = errors.New("another file system is mounted there")

// Dir is a directory that is held open. Its methods, except Root, act in this directory,
// also if it was moved, or something else was put at its path. All
// names that its methods take are those of entries: they have no separators,
// and a link that has such a name is never followed.
type Dir struct {
	file *os.File
	path string // where it was opened, for messages and for systems that have no calls below a held directory
}

// OpenDir opens a directory no part of whose path is a link; otherwise it fails with
// [ErrLink], also if a part is a file. The path has to be absolute, which is not checked.
func OpenDir(path string) (*Dir, error) {
	path = filepath.Clean(path)
	f, err := openPlain(path)
	if err != nil {
		return nil, dirError("open", path, err)
	}
	return &Dir{f, path}, nil
}

// OpenDirIs opens a directory as [OpenDir] does, and fails with [ErrOther] if it
// is not the one that was recorded.
func OpenDirIs(path string, want Identity) (*Dir, error) {
	d, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	return d.closeOnError(d.checkIdentity(want))
}

// MakeDir opens a directory as [OpenDir] does, after making those of its parts
// that are not there.
func MakeDir(path string, perm os.FileMode) (*Dir, error) {
	d, err := OpenDir(path)
	if !errors.Is(err, os.ErrNotExist) {
		return d, err
	}
	up, name := filepath.Split(filepath.Clean(path))
	if name == "" || filepath.Clean(up) == filepath.Clean(path) {
		return nil, err
	}
	parent, err := MakeDir(up, perm)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	return parent.makeDir(name, perm)
}

// Close closes the directory.
func (d *Dir) Close() error { return d.file.Close() }

// Root returns the directory as one that nothing leads out of. Links inside it
// are followed as far as they stay in it. It is opened by its path: Root fails if the
// directory was moved, with [ErrOther] if another one is there.
func (d *Dir) Root() (*os.Root, error) {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	now, err := root.Stat(".")
	held, herr := d.file.Stat()
	if err = errors.Join(err, herr); err == nil && !os.SameFile(now, held) {
		err = &os.PathError{Op: "open", Path: d.path, Err: ErrOther}
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}

// File is the open directory itself.
func (d *Dir) File() *os.File { return d.file }

// Path is where the directory was opened.
func (d *Dir) Path() string { return d.path }

// Identity returns the identity of the directory itself.
func (d *Dir) Identity() (Identity, error) { return identityOfOpen(d.file) }

// checkIdentity fails with ErrOther if the directory has another identity.
func (d *Dir) checkIdentity(want Identity) error {
	now, err := d.Identity()
	if err == nil && (want == "" || now != want) {
		err = &os.PathError{Op: "open", Path: d.path, Err: ErrOther}
	}
	return err
}

func (d *Dir) closeOnError(err error) (*Dir, error) {
	if err != nil {
		_ = d.Close()
		return nil, err
	}
	return d, nil
}

// OpenDirIs opens an entry as [Dir.OpenDir] does, and fails with [ErrOther] if
// it is not the directory that was recorded.
func (d *Dir) OpenDirIs(name string, want Identity) (*Dir, error) {
	sub, err := d.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return sub.closeOnError(sub.checkIdentity(want))
}

// OpenBelow opens a directory at a relative path, no part of which may be a
// link.
func (d *Dir) OpenBelow(path string) (*Dir, error) {
	if filepath.Clean(path) == "." {
		f, err := d.reopen()
		return &Dir{f, d.path}, err
	}
	return d.walk(path, (*Dir).OpenDir)
}

// MakeBelow is [Dir.OpenBelow] that makes those parts that are not there. "." is refused.
func (d *Dir) MakeBelow(path string, perm os.FileMode) (*Dir, error) {
	return d.walk(path, func(at *Dir, name string) (*Dir, error) { return at.makeDir(name, perm) })
}

// makeDir opens an entry that is a directory, and makes it if there is none.
func (d *Dir) makeDir(name string, perm os.FileMode) (*Dir, error) {
	if err := d.Mkdir(name, perm); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return d.OpenDir(name)
}

// walk opens the parts of a relative path one below the other, and holds only the last.
func (d *Dir) walk(path string, open func(at *Dir, name string) (*Dir, error)) (*Dir, error) {
	at := d
	for name := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(path)), "/") {
		next, err := open(at, name)
		if at != d {
			_ = at.Close()
		}
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// RemoveOwn deletes what lies at a path in a directory of the host's own, as
// [Dir.RemoveAll] does: of any depth, and with directories that were made
// read-only.
func RemoveOwn(path string) error {
	d, err := OpenOwn(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return d.RemoveAll(filepath.Base(path))
}

// Names lists the entries.
func (d *Dir) Names() ([]string, error) { return d.SomeNames(-1) }

// SomeNames lists at most n entries; a negative n is no limit.
func (d *Dir) SomeNames(n int) ([]string, error) {
	f, err := d.reopen()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// ReadFile reads an entry that is a regular file of at most limit bytes.
func (d *Dir) ReadFile(name string, limit int64) ([]byte, error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, d.join(name), limit)
}

// Open opens an entry that is a regular file for reading. It never waits.
func (d *Dir) Open(name string) (*os.File, error) {
	f, err := d.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return requireRegular(f, d.join(name))
}

// Create makes a file that is not there yet.
func (d *Dir) Create(name string, perm os.FileMode) (*os.File, error) {
	return d.openFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// The names of files that are to become others begin and end so.
const (
	tempPrefix = "."
	tempSuffix = ".tmp"
)

// RemoveTemp removes what [Dir.WriteFile] left because its process died, in a
// directory in which no other process writes.
func (d *Dir) RemoveTemp() error {
	names, err := d.Names()
	for _, name := range names {
		rest, isTemp := strings.CutPrefix(name, tempPrefix)
		if rest, ok := strings.CutSuffix(rest, tempSuffix); isTemp && ok && len(rest) == len(randomName()) {
			err = errors.Join(err, d.Remove(name))
		}
	}
	return err
}

// WriteFile replaces an entry by a file, whole or not at all. A link of that
// name is replaced, not written through.
func (d *Dir) WriteFile(name string, data []byte, perm os.FileMode) error {
	tmp := tempPrefix + randomName() + tempSuffix
	f, err := d.Create(tmp, perm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = d.Replace(tmp, name)
	}
	if err != nil {
		_ = d.Remove(tmp)
	}
	return err
}

// Entry is what an entry of a directory is.
type Entry struct {
	Identity Identity
	Mode     os.FileMode
	Size     int64
	ModTime  time.Time
}

// IsSame reports whether two looks found the same entry, and nothing of it changed.
func (e Entry) IsSame(as Entry) bool {
	return e.Identity == as.Identity && e.Mode == as.Mode && e.Size == as.Size && e.ModTime.Equal(as.ModTime)
}

// MakeDirAs makes a directory of exactly a mode.
func (d *Dir) MakeDirAs(name string, mode os.FileMode) error {
	if err := d.Mkdir(name, 0o700); err != nil {
		return err
	}
	sub, err := d.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(sub.file.Chmod(mode&(os.ModePerm|os.ModeSetgid|os.ModeSticky)), sub.Close())
}

// RenameNew renames an entry of any kind to a name in another directory. It fails with
// [os.ErrExist] if that name is taken.
func (d *Dir) RenameNew(name string, to *Dir, newName string) error {
	return d.rename(name, to, newName)
}

// Append adds to an entry that is a regular file without a second name, or makes
// it.
func (d *Dir) Append(name string, data []byte, perm os.FileMode) error {
	f, err := d.openFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) {
		f, err = d.Create(name, perm)
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || LinkCount(info) > 1) {
		err = &os.PathError{Op: "write", Path: d.join(name), Err: ErrNotRegular}
	}
	if err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, f.Close())
}

// Has reports whether there is an entry of a name, of whatever kind.
func (d *Dir) Has(name string) bool {
	_, err := d.IdentityOf(name)
	return err == nil
}

// IsEmpty reports whether nothing is in the directory.
func (d *Dir) IsEmpty() bool {
	names, err := d.SomeNames(1)
	return err == nil && len(names) == 0
}

// Move renames an entry that is the directory that was recorded, also to
// another directory. It fails with [ErrOther] if it is another directory, with [ErrLink]
// if it is none, and with [os.ErrExist] if the new name is taken. If the entry is exchanged at the
// very moment of the rename, what was put in its place does not stay: a directory is renamed back,
// if its old name is taken to one that begins with it, and a link is deleted.
func (d *Dir) Move(name string, want Identity, to *Dir, newName string) error {
	sub, err := d.OpenDirIs(name, want)
	if errors.Is(err, os.ErrPermission) { // one that cannot be read can be moved all the same
		err = d.checkEntry(name, want)
	}
	if err != nil {
		return err
	}
	if sub != nil {
		defer sub.Close()
	}
	if err := d.rename(name, to, newName); err != nil {
		return err
	}
	if err := to.checkEntry(newName, want); err != nil {
		return errors.Join(err, to.returnEntry(newName, d, name))
	}
	return nil
}

// returnEntry takes away what stands at a new name instead of the directory that was to go there:
// it came with the rename, or was put there right after it. A link is deleted, and never carried
// to where the directory came from; anything else is renamed to there, beside what has its name.
func (d *Dir) returnEntry(name string, from *Dir, oldName string) error {
	if _, err := d.Readlink(name); err == nil {
		return d.Remove(name)
	}
	err := d.rename(name, from, oldName)
	if errors.Is(err, os.ErrExist) {
		err = d.rename(name, from, oldName+".exchanged-"+randomName())
	}
	return err
}

// checkEntry fails with ErrOther if an entry is not what was recorded.
func (d *Dir) checkEntry(name string, want Identity) error {
	now, err := d.IdentityOf(name)
	if err == nil && (want == "" || now != want) {
		err = &os.PathError{Op: "stat", Path: d.join(name), Err: ErrOther}
	}
	return err
}

func (d *Dir) join(name string) string { return filepath.Join(d.path, name) }

// randomName returns a name that nothing has yet.
func randomName() string { return rand.Text() }

// isName reports whether a text is the name of an entry.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsRune(name, os.PathSeparator) && !strings.ContainsRune(name, '/')
}

// nameError returns the error for a string that cannot be the name of a directory entry.
func nameError(op, name string) error {
	return &os.PathError{Op: op, Path: name, Err: errors.New("not the name of an entry")}
}
