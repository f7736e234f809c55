//go:build !unix

package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Where there are no calls below a held directory, each call looks first and
// acts then: this stops links that lie there, not those that are exchanged at
// the same moment.

func dirError(_, _ string, err error) error { return err }

func openPlain(path string) (*os.File, error) {
	if real, err := filepath.EvalSymlinks(path); err != nil {
		return nil, err
	} else if real != path {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrLink}
	}
	return os.Open(path)
}

// OpenDir opens an entry that is a directory.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	if !isName(name) {
		return nil, nameError("open", name)
	}
	if info, err := os.Lstat(d.join(name)); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, &os.PathError{Op: "open", Path: d.join(name), Err: ErrLink}
	}
	f, err := os.Open(d.join(name))
	if err != nil {
		return nil, err
	}
	return &Dir{f, d.join(name)}, nil
}

func (d *Dir) reopen() (*os.File, error) { return os.Open(d.path) }

// Mkdir makes a directory.
func (d *Dir) Mkdir(name string, perm os.FileMode) error {
	if !isName(name) {
		return nameError("mkdir", name)
	}
	return os.Mkdir(d.join(name), perm)
}

// Symlink makes a link.
func (d *Dir) Symlink(target, name string) error {
	if !isName(name) {
		return nameError("symlink", name)
	}
	return os.Symlink(target, d.join(name))
}

func (d *Dir) openFile(name string, flags int, perm os.FileMode) (*os.File, error) {
	if !isName(name) {
		return nil, nameError("open", name)
	}
	if info, err := os.Lstat(d.join(name)); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &os.PathError{Op: "open", Path: d.join(name), Err: ErrNotRegular}
	}
	return os.OpenFile(d.join(name), flags, perm)
}

// Remove deletes an entry that is a file, a link or an empty directory.
func (d *Dir) Remove(name string) error {
	if !isName(name) {
		return nameError("remove", name)
	}
	return os.Remove(d.join(name))
}

// Chtimes sets when an entry was last changed.
func (d *Dir) Chtimes(name string, when time.Time) error {
	if !isName(name) {
		return nameError("chtimes", name)
	}
	return os.Chtimes(d.join(name), when, when)
}

// Replace renames an entry over another.
func (d *Dir) Replace(name, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("rename", newName)
	}
	return os.Rename(d.join(name), d.join(newName))
}

// LinkNew gives a file a second name that nothing has; [os.ErrExist] says that
// something has it. On a file system without second names the file loses its
// first one.
func (d *Dir) LinkNew(name, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("link", newName)
	}
	err := os.Link(d.join(name), d.join(newName))
	if err != nil && !errors.Is(err, os.ErrExist) && !IsThere(d.join(newName)) {
		err = d.rename(name, d, newName)
	}
	return err
}

// LinkTo gives a file a second name in another directory.
func (d *Dir) LinkTo(name string, to *Dir, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("link", newName)
	}
	return os.Link(d.join(name), to.join(newName))
}

// Readlink returns what a link says.
func (d *Dir) Readlink(name string) (string, error) {
	if !isName(name) {
		return "", nameError("readlink", name)
	}
	return os.Readlink(d.join(name))
}

// Stat says what an entry is. A link is looked at itself.
func (d *Dir) Stat(name string) (Entry, error) {
	id, err := d.IdentityOf(name)
	if err != nil {
		return Entry{}, err
	}
	info, err := os.Lstat(d.join(name))
	if err != nil {
		return Entry{}, err
	}
	return Entry{Identity: id, Mode: info.Mode(), Size: info.Size(), ModTime: info.ModTime()}, nil
}

func (d *Dir) renameOver(name string, to *Dir) error { return os.Rename(d.join(name), to.join(name)) }

func (d *Dir) rename(name string, to *Dir, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("rename", name)
	}
	if IsThere(to.join(newName)) {
		return &os.LinkError{Op: "rename", Old: d.join(name), New: to.join(newName), Err: os.ErrExist}
	}
	return os.Rename(d.join(name), to.join(newName))
}

// IdentityOf returns the identity of an entry. A link is looked at itself.
func (d *Dir) IdentityOf(name string) (Identity, error) {
	if !isName(name) {
		return "", nameError("stat", name)
	}
	return IdentityOf(d.join(name))
}

func identityOfOpen(f *os.File) (Identity, error) { return IdentityOf(f.Name()) }

// RemoveTree deletes an entry that is the directory that was recorded, with all
// that is in it. Before it deletes anything it calls step, if there is one.
func (d *Dir) RemoveTree(name string, want Identity, step func() error) error {
	if step != nil {
		if err := step(); err != nil {
			return err
		}
	}
	if err := d.checkEntry(name, want); err != nil {
		return err
	}
	return os.RemoveAll(d.join(name))
}

// RemoveAll deletes an entry of whatever kind, if there is one.
func (d *Dir) RemoveAll(name string) error {
	id, err := d.IdentityOf(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return d.RemoveTree(name, id, nil)
}

// LinkCount is by how many names a file can be reached, as far as it can be told.
func LinkCount(os.FileInfo) uint64 { return 1 }
