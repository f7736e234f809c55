//go:build unix

package fsx

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// NonBlocking is the flag for those who open files by other means than this
// package's: a pipe is then not waited for.
const NonBlocking = syscall.O_NONBLOCK

func openNoFollow(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	return f, err
}

func openDirectory(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

// ReadSmall reads a file that holds a line or two. A listing
// reads thousands of them, so it asks the kernel for no more than it has to:
// os.ReadFile makes twice the calls. It follows no link, waits for no writer, and
// takes nothing but a regular file.
func ReadSmall(path string) ([]byte, error) {
	var st unix.Stat_t
	return readSmallAt(unix.AT_FDCWD, path, &st)
}

// readSmallAt reads a small file by its path from an open directory. st becomes what the file was before it was read.
func readSmallAt(dir int, path string, st *unix.Stat_t) ([]byte, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	})
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) { // a link, or a socket
		err = ErrNotRegular
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	if err := unix.Fstat(fd, st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return nil, &os.PathError{Op: "read", Path: path, Err: ErrNotRegular}
	}
	var first [512]byte // on the stack: what most files hold is a tenth of it
	buf, n := first[:], 0
	for {
		m, err := syscall.Read(fd, buf[n:])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n += m; m == 0 || n < len(buf) {
			return bytes.Clone(buf[:n]), nil
		}
		if n >= MaxSmall {
			return nil, &os.PathError{Op: "read", Path: path, Err: ErrTooLarge}
		}
		buf = append(buf, make([]byte, len(buf))...)
	}
}

// ReadSmall reads a file as the function of this name does, by its path from the directory.
func (l *Listing) ReadSmall(path string) ([]byte, error) {
	var st unix.Stat_t
	return l.ReadSmallStat(path, &st)
}

// ReadSmallStat is ReadSmall that also stats the file, before it reads it.
func (l *Listing) ReadSmallStat(path string, st *unix.Stat_t) ([]byte, error) {
	return readSmallAt(l.fd, path, st)
}

// Lstat stats an entry by its path from the directory, and follows no link at its end.
func (l *Listing) Lstat(path string, st *unix.Stat_t) error {
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(l.fd, path, st, unix.AT_SYMLINK_NOFOLLOW) })
	return err
}

// KeepsTimes is [KeepsTimes] of the file system of the directory.
func (l *Listing) KeepsTimes() bool { return KeepsTimes(l.fd) }

// SyncOpen syncs a file or a directory. A file system that cannot sync a
// directory keeps it by other means.
func SyncOpen(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// SyncReadOnly waits until the contents of a file, which may be read-only, are on
// disk.
func SyncReadOnly(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// IsOtherDevice reports whether a rename failed because it would have led to another
// file system.
func IsOtherDevice(err error) bool { return errors.Is(err, unix.EXDEV) }

// IsMountPoint reports whether another file system, or another part of the same one, is
// mounted on a directory.
func IsMountPoint(path string) bool {
	above, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer above.Close()
	fd, err := openOnMount(above.fd(), filepath.Base(path))
	if err == nil {
		_ = unix.Close(fd)
	}
	return errors.Is(err, ErrMount)
}

// InheritAs lets what is made in a directory get the group, and the rules of access, that
// it would get in another one. What the system does not allow is left out.
func (d *Dir) InheritAs(like *Dir) {
	var want, now unix.Stat_t
	if unix.Fstat(like.fd(), &want) != nil || unix.Fstat(d.fd(), &now) != nil {
		return
	}
	// Elsewhere than on Linux a new file always has the group of its directory.
	isSet := want.Mode&unix.S_ISGID != 0
	if (isSet || runtime.GOOS != "linux") && want.Gid != now.Gid && unix.Fchown(d.fd(), -1, int(want.Gid)) != nil {
		return
	}
	if isSet {
		_ = unix.Fchmod(d.fd(), uint32(now.Mode)&0o777|unix.S_ISGID)
	}
	inheritRules(d.fd(), like.fd())
}

// rmdir removes a directory that is empty, and nothing that is no directory.
func (d *TreeDir) rmdir(name string) error {
	err := d.control(func(fd int) error { return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR) })
	if err != nil {
		return &os.PathError{Op: "rmdir", Path: name, Err: err}
	}
	return nil
}

// IsOthers reports whether a directory, or the one that a link leads to, belongs to another user,
// who is not root. Root, to whom everything is open, is not told so.
func IsOthers(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && os.Geteuid() != 0 && int(stat.Uid) != os.Geteuid()
}
