package fsx

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNotPlain says that something else than a file lies in the place of a file
// of git's, where git would wait for it or be led elsewhere.
var ErrNotPlain = fmt.Errorf("%w, as git has it", ErrNotRegular)

// LinkError says that something else lies where git keeps a file or a directory
// of its own: a link, a pipe, a device. Nothing is written through it.
type LinkError struct {
	Path string
	Mode os.FileMode
}

// Unwrap makes it an [ErrNotPlain].
func (e *LinkError) Unwrap() error { return ErrNotPlain }

func (e *LinkError) Error() string {
	what := "is not a regular file"
	switch {
	case e.Mode&os.ModeSymlink != 0:
		what = "is a symbolic link"
	case e.Mode&os.ModeNamedPipe != 0:
		what = "is a pipe"
	case e.Mode.IsRegular():
		what = "has a second name elsewhere (a hard link)"
	}
	return e.Path + " " + what + ", and nothing is written through it"
}

// Tree reaches the files below a directory that agents can write too, such as the
// refs and objects of a repository. No part of a name may be a link: every
// directory is opened by itself, from the one above, and must be one. Other than
// a [Dir] it keeps the directories open that it went through, and directories
// that it makes, and files of CreateShared, have the permissions of a repository that several users share. It is not for
// several goroutines at a time.
type Tree struct {
	root  string
	dirs  map[string]*TreeDir // open ones, by their slashed paths
	held  *os.Root            // the directory itself; nil: it is opened by its path
	stage string              // see StageIn
}

// TreeDir is a directory that is held open.
type TreeDir struct {
	*os.Root
	mode os.FileMode
	self *os.File // the directory itself, once it was needed
}

// Close closes the directory.
func (d *TreeDir) Close() error {
	if d.self != nil {
		_ = d.self.Close()
	}
	return d.Root.Close()
}

// file returns the directory as an open file, which is closed with it.
func (d *TreeDir) file() (*os.File, error) {
	if d.self != nil {
		return d.self, nil
	}
	self, err := d.Open(".")
	if err == nil {
		d.self = self
	}
	return self, err
}

// openDirs bounds the directories that are held open at a time.
const openDirs = 64

// OpenTree returns the tree below a directory. Nothing is opened yet.
func OpenTree(root string) *Tree {
	return &Tree{root: root, dirs: map[string]*TreeDir{}}
}

// Close closes the directories that are open. The tree can still be used.
func (f *Tree) Close() {
	for path, d := range f.dirs {
		_ = d.Close()
		delete(f.dirs, path)
	}
}

// Path is the name of a file for messages.
func (f *Tree) Path(name string) string { return filepath.Join(f.root, filepath.FromSlash(name)) }

// Dir opens a directory. One that it returned before may be closed afterwards.
func (f *Tree) Dir(path string) (*TreeDir, error) { return f.openDir(path, false) }

// MakeDir opens a directory, and makes it and those above it if there are none.
func (f *Tree) MakeDir(path string) (*TreeDir, error) { return f.openDir(path, true) }

func (f *Tree) openDir(path string, isMade bool) (*TreeDir, error) {
	if d := f.dirs[path]; d != nil {
		return d, nil
	}
	if path == "" {
		root, err := f.openRoot()
		if err != nil {
			return nil, err
		}
		info, err := root.Stat(".")
		if err != nil {
			return nil, errors.Join(err, root.Close())
		}
		return f.keepDir(path, &TreeDir{Root: root, mode: info.Mode()}), nil
	}
	above, err := f.openDir(parentOf(path), isMade)
	if err != nil {
		return nil, err
	}
	name := path[len(parentOf(path)):]
	if name[0] == '/' {
		name = name[1:]
	}
	info, err := above.Lstat(name)
	if errors.Is(err, os.ErrNotExist) && isMade {
		if err = above.mkdir(name); err == nil {
			info, err = above.Lstat(name)
		}
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if info.Mode().IsRegular() {
			return nil, &os.PathError{Op: "open", Path: f.Path(path), Err: syscall.ENOTDIR}
		}
		return nil, &LinkError{f.Path(path), info.Mode()}
	}
	root, err := above.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// Between the look and the opening a link may have come, to elsewhere in the
	// same repository.
	if now, err := root.Stat("."); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(&LinkError{f.Path(path), os.ModeSymlink}, err, root.Close())
	}
	return f.keepDir(path, &TreeDir{Root: root, mode: info.Mode()}), nil
}

func (f *Tree) openRoot() (*os.Root, error) {
	if f.held != nil {
		return f.held.OpenRoot(".")
	}
	return os.OpenRoot(f.root)
}

func (f *Tree) keepDir(path string, d *TreeDir) *TreeDir {
	if len(f.dirs) >= openDirs {
		f.Close()
	}
	f.dirs[path] = d
	return d
}

// closeDir closes a directory that may be gone.
func (f *Tree) closeDir(path string) {
	if d := f.dirs[path]; d != nil {
		_ = d.Close()
		delete(f.dirs, path)
	}
}

// mkdir makes a subdirectory with the permissions of d if d is writable by its group,
// as in a repository that several users share. An existing one is no error.
func (d *TreeDir) mkdir(name string) error {
	err := d.Mkdir(name, 0o777)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err == nil && d.mode.Perm()&0o020 != 0 {
		_ = d.Chmod(name, d.mode.Perm()|d.mode&os.ModeSetgid)
	}
	return err
}

// CreateShared makes a file that is not there yet, to be written.
func (d *TreeDir) CreateShared(name string) (*os.File, error) {
	file, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil && d.mode.Perm()&0o020 != 0 {
		_ = file.Chmod(0o660 | d.mode.Perm()&0o006)
	}
	return file, err
}

// CreateTemp makes a file under a name that no entry has.
func (d *TreeDir) CreateTemp(prefix string) (*os.File, error) {
	for {
		f, err := d.OpenFile(prefix+strings.ToLower(rand.Text()[:12]), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}

// AddFile writes a file where there is none.
func (d *TreeDir) AddFile(name string, data []byte) error {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// lstatRegular returns the FileInfo of a regular file. It fails with os.ErrNotExist if
// there is no file or a directory of that name, and with a *LinkError if it is a link, a
// pipe or a device.
func (f *Tree) lstatRegular(d *TreeDir, name string) (os.FileInfo, error) {
	info, err := d.Lstat(filepath.Base(name))
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, os.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, &LinkError{f.Path(name), info.Mode()}
	}
	return info, nil
}

// ReadFile reads a regular file of at most limit bytes.
func (f *Tree) ReadFile(name string, limit int64) ([]byte, error) {
	d, err := f.Dir(parentOf(name))
	if err != nil {
		return nil, err
	}
	file, _, err := f.OpenRegular(d, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, f.Path(name), limit)
}

// OpenRegular opens a regular file that is there, without waiting.
func (f *Tree) OpenRegular(d *TreeDir, name string, flag int) (*os.File, os.FileInfo, error) {
	info, err := f.lstatRegular(d, name)
	if err != nil {
		return nil, nil, err
	}
	file, err := d.OpenFile(filepath.Base(name), flag|NonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	now, err := file.Stat()
	if err != nil || !os.SameFile(info, now) {
		_ = file.Close()
		return nil, nil, errors.Join(&LinkError{f.Path(name), os.ModeSymlink}, err)
	}
	return file, now, nil
}

// RemoveEmptyUpwards removes directories that are empty, from one upwards, up to
// the first that is to be kept.
func (f *Tree) RemoveEmptyUpwards(path string, keep func(string) bool) {
	for ; path != "" && !keep(path); path = parentOf(path) {
		f.closeDir(path)
		above, err := f.Dir(parentOf(path))
		if err != nil || above.rmdir(filepath.Base(filepath.FromSlash(path))) != nil {
			return
		}
	}
}

// RemoveEmpty removes a directory that holds nothing but empty directories, of at most
// depth levels.
func (f *Tree) RemoveEmpty(path string, depth int) error {
	d, err := f.Dir(path)
	if err != nil {
		return err
	}
	list, err := d.Open(".")
	if err != nil {
		return err
	}
	entries, err := list.ReadDir(-1)
	_ = list.Close()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || depth == 0 {
			return &os.PathError{Op: "remove", Path: f.Path(path), Err: syscall.ENOTEMPTY}
		}
		if err := f.RemoveEmpty(path+"/"+e.Name(), depth-1); err != nil {
			return err
		}
	}
	f.closeDir(path)
	above, err := f.Dir(parentOf(path))
	if err != nil {
		return err
	}
	return above.rmdir(filepath.Base(filepath.FromSlash(path)))
}

// Rename renames a file in its directory.
func (f *Tree) Rename(from, to string) error {
	d, err := f.Dir(parentOf(from))
	if err != nil {
		return err
	}
	return d.Rename(filepath.Base(filepath.FromSlash(from)), filepath.Base(filepath.FromSlash(to)))
}

// Remove removes a file, or a link to one.
func (f *Tree) Remove(name string) error {
	d, err := f.Dir(parentOf(name))
	if err != nil {
		return err
	}
	return d.Remove(filepath.Base(filepath.FromSlash(name)))
}

// parentOf is the directory of a slashed path, or empty.
func parentOf(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)]
}
