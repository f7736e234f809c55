package index

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// MaxSize bounds the size of an index: that of a million files has 100 MB.
const MaxSize = 2 << 30

// ReadFile reads an index file, and returns its stat data.
func ReadFile(path string) ([]byte, os.FileInfo, error) {
	f, err := fsx.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return readOpen(f, path)
}

func readOpen(f *os.File, path string) ([]byte, os.FileInfo, error) {
	info, err := f.Stat() // of the open file: another may be renamed to its path
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > MaxSize {
		return nil, nil, &os.PathError{Op: "read", Path: path, Err: fsx.ErrTooLarge}
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize))
	return data, info, err
}

// CopyFile copies an index with its mtime. Git compares the mtime of the index with those
// of files to know which may have changed in the second in which they were read: a younger
// copy would hide such a change.
func CopyFile(from, to string) error {
	data, info, err := ReadFile(from)
	if err != nil {
		return err
	}
	return writeCopy(to, data, info)
}

func writeCopy(to string, data []byte, was os.FileInfo) error {
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, was.ModTime(), was.ModTime())
}

// CopyFrom copies an index, or the shared part of a split one, from an open directory to a
// file of Croft's own, with its mtime.
func CopyFrom(from *fsx.Dir, name, to string) error {
	f, err := from.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, info, err := readOpen(f, f.Name())
	if err != nil {
		return err
	}
	return writeCopy(to, data, info)
}

// Count returns the number of entries in the header of the index in a git directory; zero
// if there is none.
func Count(gitDir string) int {
	f, err := fsx.Open(filepath.Join(gitDir, "index"))
	if err != nil {
		return 0
	}
	defer f.Close()
	var h [12]byte
	if _, err := io.ReadFull(f, h[:]); err != nil || string(h[:4]) != "DIRC" {
		return 0
	}
	return int(binary.BigEndian.Uint32(h[8:]))
}
