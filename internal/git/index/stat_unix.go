//go:build unix

package index

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Lstat stats a path and does not follow a symbolic link.
func Lstat(path string) (FileStat, error) {
	var st unix.Stat_t
	if err := retryEINTR(func() error { return unix.Lstat(path, &st) }); err != nil {
		return FileStat{}, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return fileStat(&st), nil
}

// LstatAt stats an entry of an open directory and does not follow a symbolic link.
func LstatAt(dir int, name string) (FileStat, error) {
	var st unix.Stat_t
	err := FstatAt(dir, name, &st)
	return fileStat(&st), err
}

// FstatAt stats an entry of an open directory as the kernel does, and does not follow a symbolic link.
func FstatAt(dir int, name string, st *unix.Stat_t) error {
	for { // without a closure: this is called for every file of every checkout
		if err := unix.Fstatat(dir, name, st, unix.AT_SYMLINK_NOFOLLOW); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Fstat stats an open file as the kernel does.
func Fstat(fd int, st *unix.Stat_t) error {
	return retryEINTR(func() error { return unix.Fstat(fd, st) })
}

// ReadDir stats everything in a directory. The kernel looks up the directory once and not
// for every file, which takes half the time. Files that vanish meanwhile are left out.
func ReadDir(path string) ([]NamedStat, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	fd := int(f.Fd())
	list := make([]NamedStat, 0, len(names))
	for _, name := range names {
		var st unix.Stat_t
		err := retryEINTR(func() error { return unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "lstat", Path: path + "/" + name, Err: err}
		}
		list = append(list, NamedStat{name, fileStat(&st)})
	}
	return list, nil
}

func retryEINTR(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// StatOf returns the stat data that the kernel has given.
func StatOf(st *unix.Stat_t) FileStat { return fileStat(st) }

func fileStat(st *unix.Stat_t) FileStat {
	sec, nsec := st.Mtim.Unix()
	csec, cnsec := st.Ctim.Unix()
	return FileStat{
		Mode: fileMode(uint32(st.Mode)), Size: st.Size, ModTime: time.Unix(sec, nsec),
		IsShared: st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1,
		noted: [10]uint32{
			uint32(csec), uint32(cnsec), uint32(sec), uint32(nsec), 0,
			uint32(st.Ino), 0, st.Uid, st.Gid, uint32(st.Size),
		},
	}
}

// fileMode returns the permissions and the kind, as far as kinds matter here.
func fileMode(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	default:
		m |= fs.ModeIrregular
	}
	return m
}

// isSameStat compares all but the device, which git does not trust either, and the mode.
// It is stricter than git, which ignores fractions of seconds: if they differ, the
// content is compared.
func isSameStat(a, b [10]uint32) bool {
	a[4], a[6], b[4], b[6] = 0, 0, 0, 0
	return a == b
}

// isSameInSeconds compares what isSameStat does as git does, which ignores fractions of seconds.
func isSameInSeconds(a, b [10]uint32) bool {
	a[1], a[3], b[1], b[3] = 0, 0, 0, 0
	return isSameStat(a, b)
}

// isSameMode compares the part of a mode that git keeps.
func isSameMode(staged string, now fs.FileMode) bool {
	switch staged {
	case "100644", "100755":
		return now.IsRegular() && (staged == "100755") == (now&0o100 != 0)
	case "120000":
		return now.Type() == fs.ModeSymlink
	}
	return false
}
