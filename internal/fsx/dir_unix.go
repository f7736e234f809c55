//go:build unix

package fsx

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// dirError gives an error of the system its path, and a name of our own where
// the system says that something is a link.
func dirError(op, path string, err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EMLINK) {
		err = ErrLink
	}
	return pathError(op, path, err)
}

// pathError gives an error of the system its path; nil stays nil.
func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: path, Err: err}
}

// linkError gives an error of the system its two paths; nil stays nil.
func linkError(op, from, to string, err error) error {
	if err == nil {
		return nil
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}

func (d *Dir) fd() int { return int(d.file.Fd()) }

// OpenDir opens an entry that is a directory.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	if !isName(name) {
		return nil, nameError("open", name)
	}
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd(), name, dirFlags, 0) })
	if err != nil {
		return nil, dirError("open", d.join(name), err)
	}
	return &Dir{os.NewFile(uintptr(fd), d.join(name)), d.join(name)}, nil
}

// reopen opens the directory once more, to read it from its beginning.
func (d *Dir) reopen() (*os.File, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd(), ".", dirFlags, 0) })
	if err != nil {
		return nil, dirError("open", d.path, err)
	}
	return os.NewFile(uintptr(fd), d.path), nil
}

// Mkdir makes a directory.
func (d *Dir) Mkdir(name string, perm os.FileMode) error {
	if !isName(name) {
		return nameError("mkdir", name)
	}
	return dirError("mkdir", d.join(name), unix.Mkdirat(d.fd(), name, uint32(perm.Perm())))
}

// Symlink makes a link.
func (d *Dir) Symlink(target, name string) error {
	if !isName(name) {
		return nameError("symlink", name)
	}
	return linkError("symlink", target, d.join(name), unix.Symlinkat(target, d.fd(), name))
}

func (d *Dir) openFile(name string, flags int, perm os.FileMode) (*os.File, error) {
	if !isName(name) {
		return nil, nameError("open", name)
	}
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd(), name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, uint32(perm.Perm()))
	})
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EMLINK) {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: d.join(name), Err: err}
	}
	return os.NewFile(uintptr(fd), d.join(name)), nil
}

// Remove deletes an entry that is a file, a link or an empty directory.
func (d *Dir) Remove(name string) error {
	if !isName(name) {
		return nameError("remove", name)
	}
	return pathError("remove", d.join(name), unlinkOnce(d.fd(), name))
}

// Chtimes sets when an entry was last changed. A link is not followed.
func (d *Dir) Chtimes(name string, when time.Time) error {
	if !isName(name) {
		return nameError("chtimes", name)
	}
	spec := unix.NsecToTimespec(when.UnixNano())
	return pathError("chtimes", d.join(name), unix.UtimesNanoAt(d.fd(), name, []unix.Timespec{spec, spec}, unix.AT_SYMLINK_NOFOLLOW))
}

// Replace renames an entry over another.
func (d *Dir) Replace(name, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("rename", newName)
	}
	return pathError("rename", d.join(newName), unix.Renameat(d.fd(), name, d.fd(), newName))
}

// LinkNew gives a file a second name that nothing has; [os.ErrExist] says that
// something has it. On a file system without second names the file loses its
// first one.
func (d *Dir) LinkNew(name, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("link", newName)
	}
	err := unix.Linkat(d.fd(), name, d.fd(), newName, 0)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		err = renameNew(d.fd(), name, d.fd(), newName)
	}
	return linkError("link", d.join(name), d.join(newName), err)
}

// LinkTo gives a file, or a link, a second name in another directory.
func (d *Dir) LinkTo(name string, to *Dir, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("link", newName)
	}
	return linkError("link", d.join(name), to.join(newName), unix.Linkat(d.fd(), name, to.fd(), newName, 0))
}

// Readlink returns what a link says.
func (d *Dir) Readlink(name string) (string, error) {
	if !isName(name) {
		return "", nameError("readlink", name)
	}
	buf := make([]byte, 4096) // more than a path may have
	n, err := unix.Readlinkat(d.fd(), name, buf)
	if err != nil {
		return "", &os.PathError{Op: "readlink", Path: d.join(name), Err: err}
	}
	return string(buf[:n]), nil
}

// Stat says what an entry is. A link is looked at itself.
func (d *Dir) Stat(name string) (Entry, error) {
	id, err := d.IdentityOf(name)
	if err != nil {
		return Entry{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Entry{}, &os.PathError{Op: "stat", Path: d.join(name), Err: err}
	}
	e := Entry{Identity: id, Mode: os.FileMode(st.Mode & 0o777), Size: st.Size, ModTime: time.Unix(st.Mtim.Unix())}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		e.Mode |= os.ModeDir
	case unix.S_IFLNK:
		e.Mode |= os.ModeSymlink
	case unix.S_IFIFO:
		e.Mode |= os.ModeNamedPipe
	case unix.S_IFSOCK:
		e.Mode |= os.ModeSocket
	default:
		e.Mode |= os.ModeDevice
	}
	if st.Mode&unix.S_ISGID != 0 {
		e.Mode |= os.ModeSetgid
	}
	if st.Mode&unix.S_ISVTX != 0 {
		e.Mode |= os.ModeSticky
	}
	return e, nil
}

// renameOver moves an entry to another directory, over what has its name there.
func (d *Dir) renameOver(name string, to *Dir) error {
	return linkError("rename", d.join(name), to.join(name), unix.Renameat(d.fd(), name, to.fd(), name))
}

// rename renames an entry to a name that nothing has.
func (d *Dir) rename(name string, to *Dir, newName string) error {
	if !isName(name) || !isName(newName) {
		return nameError("rename", name)
	}
	return linkError("rename", d.join(name), to.join(newName), renameNew(d.fd(), name, to.fd(), newName))
}

// renameLooking looks before it renames, for systems and file systems that
// cannot do both in one step.
func renameLooking(from int, name string, to int, newName string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(to, newName, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(from, name, to, newName)
}

// LinkCount is by how many names a file can be reached.
func LinkCount(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink)
	}
	return 1
}

// retry repeats a call that a signal interrupted.
func retry[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}
