package snapshot

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// flatName makes one name of a path. One directory for all files needs one
// object, and no name in it means anything to git, as .gitmodules would.
func flatName(path string) string {
	return "=" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(path)
}

// flatPath undoes flatName.
func flatPath(name string) string {
	return strings.NewReplacer("%25", "%", "%2F", "/").Replace(strings.TrimPrefix(name, "="))
}

// tarSize is how long the archive of some names is going to be.
func tarSize(root string, names [][]byte) (int64, error) {
	var n counter
	err := writeTar(&n, root, names, func(w io.Writer, _ string, size int64) error {
		_, err := io.CopyN(w, zeros{}, size)
		return err
	})
	return int64(n), err
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

// writeTar writes a tar archive of what lies below a directory: the named files, and
// directories with all below them. Links are stored as links; times and owners are not.
// A file's contents are written by fill.
func writeTar(to io.Writer, root string, names [][]byte, fill func(w io.Writer, full string, size int64) error) error {
	w := tar.NewWriter(to)
	for _, name := range names {
		err := filepath.WalkDir(filepath.Join(root, string(name)), func(full string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			h, err := tarHeader(root, full, d)
			if err != nil || h == nil {
				return err
			}
			if err := w.WriteHeader(h); err != nil || h.Size == 0 {
				return err
			}
			return fill(w, full, h.Size)
		})
		if err != nil {
			return err
		}
	}
	return w.Close()
}

// tarHeader describes an entry of a directory; nil means that an archive does not have it.
func tarHeader(root, full string, d fs.DirEntry) (*tar.Header, error) {
	rel, err := filepath.Rel(root, full)
	if err != nil {
		return nil, err
	}
	info, err := d.Info()
	if err != nil {
		return nil, err
	}
	h := &tar.Header{Name: filepath.ToSlash(rel), Mode: int64(info.Mode().Perm()), Format: tar.FormatPAX}
	switch {
	case info.IsDir():
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
	case info.Mode()&fs.ModeSymlink != 0:
		h.Typeflag = tar.TypeSymlink
		h.Linkname, err = os.Readlink(full)
	case info.Mode().IsRegular():
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
	case info.Mode()&fs.ModeNamedPipe != 0:
		h.Typeflag = tar.TypeFifo
	default:
		return nil, nil
	}
	return h, err
}

// copyFile writes a file's contents. One that has another size now, or that
// changes meanwhile, is an error.
func copyFile(w io.Writer, full string, size int64) error {
	f, err := fsx.Open(full)
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
