// Package scratch copies directories that an agent has filled and may still be
// writing to. Whatever it puts there, nothing outside is read or written: links
// are copied as links, and what takes a link's place meanwhile leads nowhere.
package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Copy copies the directory from to the directory to, which is not there yet:
// files, directories, and links as links. Sockets, pipes and devices are left
// out. Every file gets the same time, so that times tell nothing. A copy that
// fails is removed. It returns how many files and links were copied; if there
// are none, to is not made.
func Copy(from, to string, when time.Time) (n int, err error) {
	if info, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	src, err := os.OpenRoot(from)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	if err := os.MkdirAll(to, 0o777); err != nil {
		return 0, err
	}
	dst, err := os.OpenRoot(to)
	if err != nil {
		return 0, err
	}
	defer dst.Close()
	n, err = copyTree(src, dst, when)
	if err != nil || n == 0 {
		err = errors.Join(err, os.RemoveAll(to))
	}
	return n, err
}

func copyTree(src, dst *os.Root, when time.Time) (n int, err error) {
	var dirs []string
	err = fs.WalkDir(src.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.FromSlash(path)
		switch {
		case d.IsDir():
			dirs = append(dirs, name)
			if path == "." {
				return nil
			}
			return dst.Mkdir(name, 0o777)
		case d.Type() == fs.ModeSymlink:
			link, err := src.Readlink(name)
			if err == nil {
				n++
				err = dst.Symlink(link, name)
			}
			return err
		case d.Type().IsRegular():
			n++
			return copyFile(src, dst, name, when)
		}
		return nil
	})
	for i := len(dirs) - 1; err == nil && i >= 0; i-- { // children first: making them changed their parents
		err = dst.Chtimes(dirs[i], when, when)
	}
	return n, err
}

func copyFile(src, dst *os.Root, name string, when time.Time) error {
	in, err := src.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s was replaced while it was copied", name)
	}
	out, err := dst.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return dst.Chtimes(name, when, when)
}
