package fsx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// CopyLimits bound a copy, so that a tree that an agent made without end is refused.
type CopyLimits struct {
	Entries int
	Depth   int
}

// ErrTooMuch says that there is more to copy than the limits allow.
var ErrTooMuch = errors.New("more files or levels than may be copied")

// CopyTree copies a file or a directory from one root to another, under the same
// path, which must not be there yet. Nothing of the copy is shared with the
// original but blocks that the file system itself shares. Links are copied as
// they are and never followed; what is neither a file, a directory nor a link is
// left out. Modes and times of files are kept.
func CopyTree(from, to *os.Root, name string, limits CopyLimits) error {
	name = filepath.ToSlash(name)
	if dir := path.Dir(name); dir != "." {
		if err := to.MkdirAll(filepath.FromSlash(dir), 0o777); err != nil {
			return err
		}
	}
	info, err := from.Lstat(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	if !info.IsDir() { // a walk would begin behind a link
		return copyEntry(from, to, filepath.FromSlash(name), fs.FileInfoToDirEntry(info))
	}
	left := limits.Entries
	return fs.WalkDir(from.FS(), name, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if left--; left < 0 || strings.Count(p, "/") > limits.Depth {
			return fmt.Errorf("%s: %w", name, ErrTooMuch)
		}
		return copyEntry(from, to, filepath.FromSlash(p), d)
	})
}

func copyEntry(from, to *os.Root, name string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return to.Mkdir(name, 0o777)
	case d.Type()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(target, name)
	case d.Type().IsRegular():
		return copyRegular(from, to, name)
	}
	return nil
}

// copyRegular copies a regular file. On Linux the kernel copies, and shares blocks
// where the file system can.
func copyRegular(from, to *os.Root, name string) error {
	in, err := from.OpenFile(name, os.O_RDONLY|NonBlocking, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close()); err != nil {
		return err
	}
	return to.Chtimes(name, time.Time{}, info.ModTime())
}
