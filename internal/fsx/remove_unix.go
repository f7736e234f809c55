//go:build unix

package fsx

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// mostHeld is how many levels of a tree are held open at once. What lies
	// deeper is moved to the top of the tree and comes later.
	mostHeld = 16
	// atOnce is how many names are read at once.
	atOnce = 256
	// mostPasses bounds how often a directory is read that does not become
	// empty, because a process writes there.
	mostPasses = 64
)

// removal deletes one tree.
type removal struct {
	top   *os.File
	step  func() error // between two entries
	moved int          // subtrees that were moved to the top
}

// RemoveTree deletes an entry that is the directory that was recorded, with all
// that is in it, and fails with [ErrOther] if it is not. Links are deleted, not
// followed, directories that cannot be read are opened up, and the deletion ends
// with [ErrMount] at what another file system is mounted on. A name that is not there is
// [os.ErrNotExist]. Neither depth nor width nor
// the length of paths matter: at most about twenty descriptors are open.
//
// Before every entry step is called, if there is one; its error is returned and ends the
// deletion, which can be begun again.
func (d *Dir) RemoveTree(name string, want Identity, step func() error) error {
	if !isName(name) {
		return nameError("remove", name)
	}
	if err := d.checkEntry(name, want); err != nil {
		return err
	}
	fd, err := openForRemoval(d.fd(), name)
	if err != nil {
		return dirError("remove", d.join(name), err)
	}
	top := &Dir{os.NewFile(uintptr(fd), d.join(name)), d.join(name)}
	defer top.Close()
	if err := top.checkIdentity(want); err != nil {
		return err
	}
	r := &removal{top: top.file, step: step}
	if err := r.emptyDir(top.file, 0); err != nil {
		return fmt.Errorf("remove %s: %w", d.join(name), err)
	}
	if err := d.checkEntry(name, want); err != nil {
		return err // another process moved or removed it
	}
	return d.Remove(name)
}

// RemoveAll deletes an entry of whatever kind, if there is one, under the
// conditions of [Dir.RemoveTree]. It is for directories in which only Croft
// makes entries.
func (d *Dir) RemoveAll(name string) error {
	err := d.Remove(name)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if !isNotEmpty(err) && !errors.Is(err, os.ErrPermission) {
		return err
	}
	id, err := d.IdentityOf(name)
	if err == nil {
		err = d.RemoveTree(name, id, nil)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// emptyDir deletes the entries of a directory. Depth counts from the top.
func (r *removal) emptyDir(dir *os.File, depth int) error {
	for passes := 0; passes < mostPasses; passes++ {
		moved, seen := r.moved, 0
		for {
			names, err := dir.Readdirnames(atOnce)
			for _, name := range names {
				seen++
				if err := r.removeEntry(dir, name, depth); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) || err == nil && len(names) == 0 {
				break
			}
			if err != nil {
				return err
			}
		}
		if seen == 0 {
			return nil
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if depth == 0 && r.moved > moved {
			passes = 0 // what was moved here is new, and was expected
		}
	}
	return fmt.Errorf("%s does not become empty: another process writes there", dir.Name())
}

// removeEntry deletes one entry with all that is in it.
func (r *removal) removeEntry(dir *os.File, name string, depth int) error {
	if r.step != nil {
		if err := r.step(); err != nil {
			return err
		}
	}
	const tries = 3 // it may be exchanged for something of another kind at any moment
	var err error
	for range tries {
		err = r.removeOnce(dir, name, depth)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EXDEV) {
			err = ErrMount
		}
		if !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) && !isNotEmpty(err) {
			break
		}
	}
	return &os.PathError{Op: "remove", Path: name, Err: err}
}

func (r *removal) removeOnce(dir *os.File, name string, depth int) error {
	err := unlink(dir, name)
	if !isNotEmpty(err) {
		return err
	}
	if depth+1 >= mostHeld {
		return r.moveUp(dir, name)
	}
	fd, err := openForRemoval(int(dir.Fd()), name)
	if err != nil {
		return err
	}
	sub := os.NewFile(uintptr(fd), name)
	err = r.emptyDir(sub, depth+1)
	_ = sub.Close()
	if err != nil {
		return err
	}
	return unlink(dir, name)
}

// moveUp moves a deep directory to the top of the tree.
func (r *removal) moveUp(dir *os.File, name string) error {
	newName := ".croft-" + randomName()
	err := renameNew(int(dir.Fd()), name, int(r.top.Fd()), newName)
	if errors.Is(err, unix.EACCES) { // its entry for what it lies in has to be written
		if err := makeAccessible(int(dir.Fd()), name); err != nil {
			return err
		}
		err = renameNew(int(dir.Fd()), name, int(r.top.Fd()), newName)
	}
	if err == nil {
		r.moved++
	}
	return err
}

// unlink deletes a file, a link or an empty directory.
func unlink(dir *os.File, name string) error {
	fd := int(dir.Fd())
	err := unlinkOnce(fd, name)
	if errors.Is(err, unix.EACCES) && unix.Fchmod(fd, 0o700) == nil {
		err = unlinkOnce(fd, name)
	}
	return err
}

func unlinkOnce(fd int, name string) error {
	err := unix.Unlinkat(fd, name, 0)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		if rerr := unix.Unlinkat(fd, name, unix.AT_REMOVEDIR); !errors.Is(rerr, unix.ENOTDIR) {
			return rerr
		}
	}
	return err
}

// openForRemoval opens a directory of the same mount, also one that its owner
// may not read.
func openForRemoval(dir int, name string) (int, error) {
	fd, err := openOnMount(dir, name)
	if errors.Is(err, unix.EACCES) {
		if err := makeAccessible(dir, name); err != nil {
			return -1, err
		}
		fd, err = openOnMount(dir, name)
	}
	return fd, err
}

// openOnDevice opens a directory of the same device.
func openOnDevice(dir int, name string) (int, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(dir, name, dirFlags, 0) })
	if err != nil {
		return -1, err
	}
	var here, there unix.Stat_t
	if err = errors.Join(unix.Fstat(dir, &here), unix.Fstat(fd, &there)); err == nil && here.Dev != there.Dev {
		err = ErrMount
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func isNotEmpty(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }
