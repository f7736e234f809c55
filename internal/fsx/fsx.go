// Package fsx reads, writes and deletes files where an agent may write too.
//
// An agent can replace any file in a directory that it can write by a link, a
// pipe or a directory, at any moment. So what lies there is opened without
// following links and without waiting, read only if it is a regular file and
// only up to a limit, and deleted only below a directory that is held open and
// only if it is the very thing that was recorded when it was made.
//
// A thing is known by its [Identity]. Where a file system keeps no times of
// birth that is the inode alone, which another directory can have later; what
// tells them apart then is the place: a random name that Croft gave and that its
// state knows.
//
// A file is replaced whole or not at all, as far as processes die; only [WriteDurable] holds
// through a power cut, too. Of the rest, the caller syncs what its answer depends on, with
// [SyncAll].
//
// The package imports nothing of this module: it knows neither git nor
// workspaces.
//
// On Windows, and in parts on systems other than Linux, there are no calls for
// all of this; there the same is looked at before each act, which stops what
// lies there but not what is exchanged in between.
package fsx

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// ErrNotRegular says that something else than a regular file lies where one is
// expected: a link, a pipe, a device, a directory.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge says that a file is larger than anything that belongs there.
var ErrTooLarge = errors.New("the file is too large")

// MaxSmall is more than any file of a line or two has.
const MaxSmall = 1 << 20

// ReadFile reads a regular file of at most limit bytes. It follows no link in
// the last part of the path, and never waits for a writer.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path, limit)
}

// Open opens a regular file for reading, under the conditions of [ReadFile].
func Open(path string) (*os.File, error) {
	f, err := openNoFollow(path)
	if err != nil {
		return nil, err
	}
	return requireRegular(f, path)
}

// requireRegular returns a file if it is a regular one, and otherwise closes it and
// fails with ErrNotRegular.
func requireRegular(f *os.File, path string) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func readAll(f *os.File, path string, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		return nil, &os.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)}
	}
	return b, err
}

// Identity tells one file or directory from every other that was ever at its
// path: its inode and the moment of its birth. An inode alone comes back as
// soon as a directory is deleted and another one made. Kernels count such
// moments in steps of a few milliseconds, so two directories that were made one
// after the other within one step may have the same.
//
// The zero Identity is that of nothing. It is a string so that it can be
// recorded and compared.
type Identity string

// IdentityOf returns the identity of what lies at a path. A link is looked at
// itself. Where the file system keeps no times of birth, the identity is the
// inode alone; [Identity.HasBirth] tells.
func IdentityOf(path string) (Identity, error) {
	ino, birth, err := inodeAndBirth(path)
	if err != nil {
		return "", err
	}
	return identity(ino, birth), nil
}

func identity(ino uint64, birth int64) Identity {
	if birth == 0 {
		return Identity(fmt.Sprintf("%d", ino))
	}
	return Identity(fmt.Sprintf("%d@%d", ino, birth))
}

// HasBirth reports whether the identity includes a time of birth.
func (id Identity) HasBirth() bool { return strings.Contains(string(id), "@") }

// IsAt reports whether what lies at a path has this identity. Nothing has the
// zero identity.
func (id Identity) IsAt(path string) bool {
	now, err := IdentityOf(path)
	return err == nil && id != "" && now == id
}

// IsThere reports whether anything lies at a path.
func IsThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// NetworkFS names the network file system that a directory lies on, or returns
// "" if it lies on a local one, or on one that is not known. Locks of the kernel
// and SQLite's shared memory do not work across machines.
func NetworkFS(dir string) string { return networkFS(dir) }
