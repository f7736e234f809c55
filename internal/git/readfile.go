package git

import (
	"io"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
)

// What an agent can write is opened without following a link and without
// waiting, and read only if it is a regular file, up to a limit. A line or two
// are read by [fsx.ReadSmall].

const (
	// maxIndex is more than the index of any repository has: that of a million
	// files has 100 MB.
	maxIndex = 2 << 30
	// maxAdmin bounds the other files of an admin directory, of which the reflog
	// of HEAD and a list of what a rebase has left to do grow.
	maxAdmin = 64 << 20
)

// readIndexFile reads the index of a git directory, and tells when it was
// written.
func readIndexFile(path string) ([]byte, os.FileInfo, error) {
	f, err := fsx.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat() // of the file that is read: another may take its name
	if err != nil {
		return nil, nil, err
	}
	if info.Size() > maxIndex {
		return nil, nil, &os.PathError{Op: "read", Path: path, Err: fsx.ErrTooLarge}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxIndex))
	return data, info, err
}

// readAdmin reads a file of an admin directory that is not its index.
func readAdmin(gitDir, name string) ([]byte, error) {
	return fsx.ReadFile(filepath.Join(gitDir, filepath.FromSlash(name)), maxAdmin)
}
