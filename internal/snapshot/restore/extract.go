package restore

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/snapshot"
)

// extractArchive unpacks an archive below a directory, and writes nothing outside it.
// Directories get their modes at the end, so that read-only ones can be filled.
func extractArchive(in io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	var dirs []dirMode
	for t := tar.NewReader(in); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if isSparse(h) {
			return fmt.Errorf("%w: %s is a file with holes", snapshot.ErrFormat, h.Name)
		}
		name := filepath.FromSlash(strings.TrimSuffix(h.Name, "/"))
		mode := fs.FileMode(h.Mode).Perm()
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o700)
			dirs = append(dirs, dirMode{name, mode})
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
		if err := root.Chmod(d.path, d.mode); err != nil {
			return err
		}
	}
	return nil
}

// isSparse reports whether an entry is a sparse file, which is longer than its data in
// the archive. Croft writes none.
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
	// An archive may have a name twice. The earlier file is deleted, not opened: it may
	// be a pipe.
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return writeNew(root, name, mode, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// writeNew makes a file that does not exist.
func writeNew(root *os.Root, name string, mode fs.FileMode, contents func(io.Writer) error) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = contents(f); err == nil {
		err = f.Chmod(mode)
	}
	return errors.Join(err, f.Close())
}

// extractPipe makes a named pipe. Its parent must not lead out of root.
func extractPipe(root *os.Root, name string, mode uint32) error {
	parent, err := root.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer parent.Close()
	return makePipe(filepath.Join(parent.Name(), filepath.Base(name)), mode)
}

// extractObject unpacks the archive in an object below a directory while it is read.
func extractObject(ctx context.Context, r *git.Repository, name, dir string) error {
	return readArchive(ctx, r, name, func(in io.Reader) error { return extractArchive(in, dir) })
}

// readArchive calls read with the content of an object while it is read.
func readArchive(ctx context.Context, r *git.Repository, name string, read func(io.Reader) error) error {
	if _, err := r.Info(ctx, name); err != nil {
		return errors.Join(snapshot.ErrFormat, err)
	}
	in, out := io.Pipe()
	var cerr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, cerr = r.Copy(ctx, out, name)
		out.CloseWithError(cerr)
	}()
	err := read(in)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // the bytes after the end of the archive
	}
	_ = in.CloseWithError(err)
	<-done
	if err == nil {
		err = cerr
	}
	return err
}
