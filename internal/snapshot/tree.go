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

// flatName encodes a path as one name. With one directory for all files a snapshot
// needs one tree object, and no name in it means anything to git, as .gitmodules would.
func flatName(path string) string {
	return "=" + strings.NewReplacer("%", "%25", "/", "%2F").Replace(path)
}

// flatPath decodes a name that flatName encoded.
func flatPath(name string) string {
	return strings.NewReplacer("%25", "%", "%2F", "/").Replace(strings.TrimPrefix(name, "="))
}

// archived are entries of a directory that an archive has.
type archived struct {
	root  string
	names [][]byte
}

// tarSize returns the size of the archive of some entries.
func tarSize(from []archived) (int64, error) {
	var n counter
	err := writeTar(&n, from, func(w io.Writer, _ string, size int64) error {
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

// writeTar writes a tar archive of entries of directories, with everything below them.
// Links are stored as links; times and owners are not stored. fill writes the contents
// of a file.
func writeTar(to io.Writer, from []archived, fill func(w io.Writer, full string, size int64) error) error {
	w := tar.NewWriter(to)
	for _, a := range from {
		for _, name := range a.names {
			err := filepath.WalkDir(filepath.Join(a.root, string(name)), func(full string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				h, err := tarHeader(a.root, full, d)
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
	}
	return w.Close()
}

// tarHeader returns the header of an entry, or nil if an archive leaves it out.
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

// copyFile writes a file's contents. It fails if the file no longer has the size, or
// changes meanwhile.
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
