package snapshot

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git/object"
)

// dir is a directory of a tree in the making.
type dir struct {
	files []object.TreeEntry
	dirs  map[string]*dir
}

// flatName makes one name of a path. One directory for all files needs one
// object, and no name in it means anything to git, as .gitmodules would.
func flatName(path string) string {
	return "=" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(path)
}

// flatPath undoes flatName.
func flatPath(name string) string {
	return strings.NewReplacer("%25", "%", "%2F", "/").Replace(strings.TrimPrefix(name, "="))
}

// add puts an entry at a path with slashes.
func (d *dir) add(path string, e object.TreeEntry) {
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
func (d *dir) write(b *object.Batch) (string, error) {
	entries := d.files
	for name, sub := range d.dirs {
		oid, err := sub.write(b)
		if err != nil {
			return "", err
		}
		entries = append(entries, object.TreeEntry{Mode: "40000", Name: name, OID: oid})
	}
	return b.WriteTree(entries)
}

// archive is a tar archive in the making, of what lies below a directory.
// Links are stored as links; times and owners are not.
type archive struct {
	*tar.Writer
	root string
	fill func(w io.Writer, full string, size int64) error // writes a file's contents
}

// tarSize is how long the archive of some names is going to be.
func tarSize(root string, names [][]byte) (int64, error) {
	var n counter
	err := pack(archive{tar.NewWriter(&n), root, func(w io.Writer, _ string, size int64) error {
		_, err := io.CopyN(w, zeros{}, size)
		return err
	}}, names)
	return int64(n), err
}

// writeTar writes a tar archive of the named files below root to w.
func writeTar(w io.Writer, root string, names [][]byte) error {
	return pack(archive{tar.NewWriter(w), root, copyFile}, names)
}

func pack(a archive, names [][]byte) error {
	for _, name := range names {
		if err := a.add(string(name)); err != nil {
			return err
		}
	}
	return a.Close()
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// add adds a file or a directory with all below it.
func (a archive) add(name string) error {
	return filepath.WalkDir(filepath.Join(a.root, name), func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(a.root, full)
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
			h.Typeflag, h.Size = tar.TypeReg, info.Size()
		case info.Mode()&fs.ModeNamedPipe != 0:
			h.Typeflag = tar.TypeFifo
		default:
			return nil
		}
		if err := a.WriteHeader(h); err != nil || h.Size == 0 {
			return err
		}
		return a.fill(a.Writer, full, h.Size)
	})
}

// copyFile writes a file's contents. One that has another size now, or that
// changes meanwhile, is an error.
func copyFile(w io.Writer, full string, size int64) error {
	f, err := openFile(full)
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err = io.CopyN(w, f, size); errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	after, serr := f.Stat()
	if err == nil && serr == nil && (after.Size() != size || !after.ModTime().Equal(before.ModTime())) {
		serr = ErrChanging
	}
	return errors.Join(err, serr)
}

// extractArchive unpacks an archive below a directory. Nothing is written outside it.
// Directories get their modes at the end, so that a read-only one can be
// filled.
func extractArchive(in io.Reader, dir string) error {
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
		if isSparse(h) {
			return fmt.Errorf("%w: %s is a file with holes", ErrFormat, h.Name)
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
		case tar.TypeFifo:
			err = extractPipe(root, name, uint32(mode))
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

// isSparse reports whether a file is longer than what the archive has of it.
// Croft writes none.
func isSparse(h *tar.Header) bool {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return h.Typeflag == tar.TypeGNUSparse
}

func extractFile(root *os.Root, name string, mode fs.FileMode, in io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	// What an archive has twice is not opened: it may be a pipe.
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	if err == nil {
		err = f.Chmod(mode)
	}
	return errors.Join(err, f.Close())
}

// extractPipe makes a named pipe, in a directory that is one.
func extractPipe(root *os.Root, name string, mode uint32) error {
	parent, err := root.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	return makePipe(filepath.Join(parent.Name(), filepath.Base(name)), mode)
}
