package fsx

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// addUnnamed makes a file without a name in the directory, and gives it one when fill has filled it. It fails with
// errNoUnnamed where that is not possible.
func (d *TreeDir) addUnnamed(name string, fill func(*os.File) error) error {
	return d.control(func(dir int) error {
		fd, err := retry(func() (int, error) { return unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600) })
		if isOneOf(err, unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOSYS) { // a file system that cannot
			return errNoUnnamed
		}
		if err != nil {
			return pathError("create", name, err)
		}
		out := os.NewFile(uintptr(fd), name)
		defer out.Close()
		if err := fill(out); err != nil {
			return err
		}
		err = unix.Linkat(unix.AT_FDCWD, descriptorPath(fd), dir, name, unix.AT_SYMLINK_FOLLOW)
		if err != nil && !isOneOf(err, unix.EEXIST, unix.ENOSPC, unix.EDQUOT) {
			return errors.Join(errNoUnnamed, err) // there is no /proc, or it may not be used
		}
		return linkError("link", name, name, err)
	})
}

func exchangeAt(from int, name string, to int, other string) error {
	return unix.Renameat2(from, name, to, other, unix.RENAME_EXCHANGE)
}

// IsWritten reports whether a process has a file open for writing, as far as the system tells. The file is open for
// reading only.
func IsWritten(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK) // nobody gets one while another writes
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}
