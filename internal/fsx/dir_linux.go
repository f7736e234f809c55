package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openPlain opens a directory no part of whose path is a link.
func openPlain(path string) (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
			Flags: dirFlags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // an old kernel, or a sandbox that does not know the call
		fd, err = openByParts(path)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// openByParts opens one part of a path after the other. Those on the way need
// not be readable.
func openByParts(path string) (int, error) {
	if !filepath.IsAbs(path) {
		return -1, unix.EINVAL
	}
	at, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if err != nil {
			return -1, err
		}
		next := at
		if part != "" {
			next, err = unix.Openat(at, part, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			_ = unix.Close(at)
		}
		at = next
	}
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	return unix.Openat(at, ".", dirFlags, 0)
}

// IdentityOf returns the identity of an entry. A link is looked at itself.
func (d *Dir) IdentityOf(name string) (Identity, error) {
	if !isName(name) {
		return "", notAName("stat", name)
	}
	id, err := statx(d.fd(), name, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return "", &os.PathError{Op: "stat", Path: d.join(name), Err: err}
	}
	return id, nil
}

func identityOfOpen(f *os.File) (Identity, error) {
	return statx(int(f.Fd()), "", unix.AT_EMPTY_PATH)
}

func renameNew(from int, name string, to int, newName string) error {
	err := unix.Renameat2(from, name, to, newName, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return renameLooking(from, name, to, newName)
	}
	return err
}

// openOnMount opens an entry of a directory as a directory of the same mount.
func openOnMount(dir int, name string) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat2(dir, name, &unix.OpenHow{
			Flags: dirFlags, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_BENEATH,
		})
	})
	switch {
	case errors.Is(err, unix.EXDEV):
		return -1, ErrMount
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM):
		return openOnDevice(dir, name)
	}
	return fd, err
}

// openUp lets the owner of a directory read and change it. Only a directory is
// changed, never what a link leads to.
func openUp(dir int, name string) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The call that changes the mode of a descriptor does not take one of this
	// kind; its name in /proc leads to the directory that is held, whatever lies
	// at the path by now.
	return unix.Chmod(descriptorPath(fd), 0o700)
}
