package snapshot

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git"
)

// dir is a directory of a tree in the making.
type dir struct {
	files []git.TreeEntry
	dirs  map[string]*dir
}

// add puts an entry at a path with slashes.
func (d *dir) add(path string, e git.TreeEntry) {
	for {
		first, rest, ok := strings.Cut(path, "/")
		if !ok {
			e.Name = path
			d.files = append(d.files, e)
			return
		}
		if d.dirs == nil {
			d.dirs = map[string]*dir{}
		}
		if d.dirs[first] == nil {
			d.dirs[first] = &dir{}
		}
		d, path = d.dirs[first], rest
	}
}

// write stores the directory and all below it.
func (d *dir) write(r *git.Repository) (string, error) {
	entries := d.files
	for name, sub := range d.dirs {
		oid, err := sub.write(r)
		if err != nil {
			return "", err
		}
		entries = append(entries, git.TreeEntry{Mode: "40000", Name: name, OID: oid})
	}
	return r.WriteTree(entries)
}

// addTree adds a file or a directory with all below it to an archive. Links
// are stored as links; times and owners are not.
func addTree(t *tar.Writer, root, name string) error {
	return filepath.WalkDir(filepath.Join(root, name), func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(rel), Mode: int64(info.Mode().Perm()), Format: tar.FormatPAX}
		switch {
		case info.IsDir():
			h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		case info.Mode()&fs.ModeSymlink != 0:
			h.Typeflag = tar.TypeSymlink
			if h.Linkname, err = os.Readlink(full); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			return addFile(t, h, full, info.Size())
		default:
			return nil
		}
		return t.WriteHeader(h)
	})
}

func addFile(t *tar.Writer, h *tar.Header, full string, size int64) error {
	f, err := os.Open(full)
	if err != nil {
		return err
	}
	defer f.Close()
	h.Typeflag, h.Size = tar.TypeReg, size
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.CopyN(t, f, size)
	return err
}

// extract unpacks an archive below a directory. Nothing is written outside it.
// Directories get their modes at the end, so that a read-only one can be
// filled.
func extract(in io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	type pending struct {
		name string
		mode fs.FileMode
	}
	var dirs []pending
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
		mode := fs.FileMode(h.Mode).Perm()
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o700)
			dirs = append(dirs, pending{name, mode})
		case tar.TypeSymlink:
			err = root.Symlink(h.Linkname, name)
		case tar.TypeReg:
			err = extractFile(root, name, mode, t)
		}
		if err != nil {
			return err
		}
	}
	for _, d := range slices.Backward(dirs) {
		if err := root.Chmod(d.name, d.mode); err != nil {
			return err
		}
	}
	return nil
}

func extractFile(root *os.Root, name string, mode fs.FileMode, in io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	if err == nil {
		err = f.Chmod(mode)
	}
	return errors.Join(err, f.Close())
}

// fileInTar reads one file of an archive.
func fileInTar(in io.Reader, name string) ([]byte, error) {
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if err != nil {
			return nil, err
		}
		if h.Name == name {
			return io.ReadAll(t)
		}
	}
}
