package git

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/croft-sh/croft/internal/fsx"
)

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

// refFiles reaches git's files below a repository's common directory. Whoever
// works in a worktree can write there, so that no part of a name may be a link:
// every directory is opened by itself, from the one above, and must be one.
type refFiles struct {
	common string
	dirs   map[string]*refDir // open ones, by their slashed paths
}

// refDir is a directory that is held open.
type refDir struct {
	*os.Root
	mode os.FileMode
}

// openDirs bounds the directories that are held open at a time.
const openDirs = 64

func openRefFiles(common string) *refFiles {
	return &refFiles{common: common, dirs: map[string]*refDir{}}
}

func (f *refFiles) close() {
	for path, d := range f.dirs {
		_ = d.Close()
		delete(f.dirs, path)
	}
}

// path is the name of a file for messages.
func (f *refFiles) path(name string) string { return filepath.Join(f.common, filepath.FromSlash(name)) }

// dir opens a directory. One that it returned before may be closed afterwards.
func (f *refFiles) dir(path string) (*refDir, error) { return f.open(path, false) }

// makeDir opens a directory, and makes it and those above it if there are none.
func (f *refFiles) makeDir(path string) (*refDir, error) { return f.open(path, true) }

func (f *refFiles) open(path string, isMade bool) (*refDir, error) {
	if d := f.dirs[path]; d != nil {
		return d, nil
	}
	if path == "" {
		root, err := os.OpenRoot(f.common)
		if err != nil {
			return nil, err
		}
		info, err := root.Stat(".")
		if err != nil {
			return nil, errors.Join(err, root.Close())
		}
		return f.keep(path, &refDir{root, info.Mode()}), nil
	}
	above, err := f.open(parent(path), isMade)
	if err != nil {
		return nil, err
	}
	name := path[len(parent(path)):]
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
			return nil, &os.PathError{Op: "open", Path: f.path(path), Err: syscall.ENOTDIR}
		}
		return nil, &LinkError{f.path(path), info.Mode()}
	}
	root, err := above.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// Between the look and the opening a link may have come, to elsewhere in the
	// same repository.
	if now, err := root.Stat("."); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(&LinkError{f.path(path), os.ModeSymlink}, err, root.Close())
	}
	return f.keep(path, &refDir{root, info.Mode()}), nil
}

func (f *refFiles) keep(path string, d *refDir) *refDir {
	if len(f.dirs) >= openDirs {
		f.close()
	}
	f.dirs[path] = d
	return d
}

// forget closes a directory that may be gone.
func (f *refFiles) forget(path string) {
	if d := f.dirs[path]; d != nil {
		_ = d.Close()
		delete(f.dirs, path)
	}
}

// mkdir makes a directory that those may write who may write this one, as in a
// repository that several users share.
func (d *refDir) mkdir(name string) error {
	err := d.Mkdir(name, 0o777)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err == nil && d.mode.Perm()&0o020 != 0 {
		_ = d.Chmod(name, d.mode.Perm()|d.mode&os.ModeSetgid)
	}
	return err
}

// create makes a file that is not there yet, to be written.
func (d *refDir) create(name string) (*os.File, error) {
	file, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil && d.mode.Perm()&0o020 != 0 {
		_ = file.Chmod(0o660 | d.mode.Perm()&0o006)
	}
	return file, err
}

// createTemp makes a file under a name that nobody has.
func (d *refDir) createTemp(prefix string) (*os.File, error) {
	for {
		f, err := d.OpenFile(prefix+strings.ToLower(rand.Text()[:12]), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
}

// addFile writes a file where there is none.
func (d *refDir) addFile(name string, data []byte) error {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// regular looks at a file. It returns os.ErrNotExist where there is none, or a
// directory, and a *LinkError where something else is.
func (f *refFiles) regular(d *refDir, name string) (os.FileInfo, error) {
	info, err := d.Lstat(filepath.Base(name))
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, os.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, &LinkError{f.path(name), info.Mode()}
	}
	return info, nil
}

// read reads a regular file of at most limit bytes.
func (f *refFiles) read(name string, limit int64) ([]byte, error) {
	d, err := f.dir(parent(name))
	if err != nil {
		return nil, err
	}
	file, _, err := f.openRegular(d, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", f.path(name), limit)
	}
	return b, err
}

// openRegular opens a regular file that is there, without waiting.
func (f *refFiles) openRegular(d *refDir, name string, flag int) (*os.File, os.FileInfo, error) {
	info, err := f.regular(d, name)
	if err != nil {
		return nil, nil, err
	}
	file, err := d.OpenFile(filepath.Base(name), flag|fsx.NonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	now, err := file.Stat()
	if err != nil || !os.SameFile(info, now) {
		_ = file.Close()
		return nil, nil, errors.Join(&LinkError{f.path(name), os.ModeSymlink}, err)
	}
	return file, now, nil
}

// tidy removes directories that are empty, from one upwards, but not those that
// git wants to be there.
func (f *refFiles) tidy(path string, keep func(string) bool) {
	for ; path != "" && !keep(path); path = parent(path) {
		f.forget(path)
		above, err := f.dir(parent(path))
		if err != nil || above.rmdir(filepath.Base(filepath.FromSlash(path))) != nil {
			return
		}
	}
}

// clear removes a directory that holds nothing but empty directories.
func (f *refFiles) clear(path string, depth int) error {
	d, err := f.dir(path)
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
			return &os.PathError{Op: "remove", Path: f.path(path), Err: syscall.ENOTEMPTY}
		}
		if err := f.clear(path+"/"+e.Name(), depth-1); err != nil {
			return err
		}
	}
	f.forget(path)
	above, err := f.dir(parent(path))
	if err != nil {
		return err
	}
	return above.rmdir(filepath.Base(filepath.FromSlash(path)))
}

// rename renames a file in its directory.
func (f *refFiles) rename(from, to string) error {
	d, err := f.dir(parent(from))
	if err != nil {
		return err
	}
	return d.Rename(filepath.Base(filepath.FromSlash(from)), filepath.Base(filepath.FromSlash(to)))
}

// remove removes a file, or a link to one.
func (f *refFiles) remove(name string) error {
	d, err := f.dir(parent(name))
	if err != nil {
		return err
	}
	return d.Remove(filepath.Base(filepath.FromSlash(name)))
}
