package index

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// MaxSize bounds the size of an index: that of a million files has 100 MB.
const MaxSize = 512 << 20

// ReadFile reads an index file, and returns its stat data. One that is too large fails with ErrUnreadable.
func ReadFile(path string) ([]byte, os.FileInfo, error) { return ReadFileUpTo(path, MaxSize) }

// ReadFileUpTo is ReadFile with another bound of the size.
func ReadFileUpTo(path string, most int64) ([]byte, os.FileInfo, error) {
	f, err := fsx.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return readOpen(f, path, most)
}

func readOpen(f *os.File, path string, most int64) ([]byte, os.FileInfo, error) {
	info, err := f.Stat() // of the open file: another may be renamed to its path
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > most {
		return nil, nil, &os.PathError{Op: "read", Path: path, Err: errors.Join(ErrUnreadable, fsx.ErrTooLarge)}
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // it became shorter
		err = nil
	}
	return data[:n], info, err
}

// CheckSize fails with ErrUnreadable if an index has much more to it than its file, for whoever reads it: one that is too large,
// or of version 4, in which each path may repeat a long one before it. A few megabytes of those take
// git all memory that there is, so one of that version whose entries cannot be followed to their end fails, too. What is small, and
// what cannot be opened, is left to the reader.
func CheckSize(path string, hashLen int) error {
	const small = 128 << 10
	info, err := os.Lstat(path)
	if err != nil || info.Size() <= small || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() > MaxSize {
		return &os.PathError{Op: "read", Path: path, Err: errors.Join(ErrUnreadable, fsx.ErrTooLarge)}
	}
	f, err := fsx.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var head [8]byte
	if _, err := f.ReadAt(head[:], 0); err != nil || binary.BigEndian.Uint32(head[4:]) != 4 {
		return nil
	}
	if _, err := scanIndex(f, hashLen, func(rawEntry) {}); err != nil {
		return &os.PathError{Op: "read", Path: path, Err: err}
	}
	return nil
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
	data, info, err := readOpen(f, f.Name(), MaxSize)
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
