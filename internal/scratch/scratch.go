// Package scratch copies directories that an agent has filled and may still be writing
// to. Whatever the agent puts there, no file outside is read or written: links are
// copied as links, and a link that appears in the place of a directory meanwhile is not
// followed.
package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
)

// Copy copies a directory to a new entry of another one: files, directories, and links
// as links. Sockets, pipes and devices are left out. No part of the path from may be a
// link. Every file gets the same time, so that times reveal nothing. A copy that fails
// is removed. Copy returns how many files and links it copied; if there are none, it
// does not make the entry.
func Copy(from string, into *fsx.Dir, name string, when time.Time) (n int, err error) {
	held, err := fsx.OpenDir(from)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fsx.ErrLink) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer held.Close()
	if err := into.Mkdir(name, 0o777); err != nil {
		return 0, err
	}
	n, err = copyHeld(held, into, name, when)
	if err != nil || n == 0 {
		err = errors.Join(err, into.RemoveAll(name))
	}
	return n, err
}

func copyHeld(held, into *fsx.Dir, name string, when time.Time) (int, error) {
	src, err := held.Root()
	if err != nil {
		return 0, err
	}
	defer src.Close()
	made, err := into.OpenDir(name)
	if err != nil {
		return 0, err
	}
	defer made.Close()
	dst, err := made.Root()
	if err != nil {
		return 0, err
	}
	defer dst.Close()
	return copyTree(src, dst, when)
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
	for i := len(dirs) - 1; err == nil && i >= 0; i-- { // children first, because making them changed the times of their parents
		err = dst.Chtimes(dirs[i], when, when)
	}
	return n, err
}

func copyFile(src, dst *os.Root, name string, when time.Time) error {
	in, err := src.OpenFile(name, os.O_RDONLY|fsx.NonBlocking, 0)
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
