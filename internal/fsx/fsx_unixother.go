//go:build unix && !linux

package fsx

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openPlain opens a directory no part of whose path is a link.
func openPlain(path string) (*os.File, error) {
	if real, err := filepath.EvalSymlinks(path); err != nil {
		return nil, err
	} else if real != path {
		return nil, ErrLink
	}
	before, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	fd, err := retry(func() (int, error) { return unix.Open(path, dirFlags, 0) })
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		_ = f.Close()
		return nil, ErrOther
	}
	return f, nil
}

// IdentityOf returns the identity of an entry. A link is looked at itself.
func (d *Dir) IdentityOf(name string) (Identity, error) {
	if !isName(name) {
		return "", nameError("stat", name)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", &os.PathError{Op: "stat", Path: d.join(name), Err: err}
	}
	return identityOfStat(&st), nil
}

func identityOfOpen(f *os.File) (Identity, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", err
	}
	return identityOfStat(&st), nil
}

func renameNew(from int, name string, to int, newName string) error {
	return renameLooking(from, name, to, newName)
}

func openOnMount(dir int, name string) (int, error) { return openOnDevice(dir, name) }

// makeAccessible lets the owner of a directory read and change it. Only a directory is
// changed, never what a link leads to.
func makeAccessible(dir int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return unix.ENOTDIR
	}
	return unix.Fchmodat(dir, name, 0o700, unix.AT_SYMLINK_NOFOLLOW)
}

func inheritRules(int, int) {}
