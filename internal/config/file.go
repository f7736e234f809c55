package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
)

// maxFileSize is far more than any configuration needs and little enough to
// read at every start.
const maxFileSize = 1 << 20

// readFile returns nil, nil where there is no file. The user's own file may be
// a link, as programs that keep dotfiles make it; the repository's may not,
// since it could point at anything that the user can read.
func readFile(at Source) ([]byte, error) {
	flags := openPlain
	if at.Kind == KindRepo {
		flags = openNoLink
		info, err := os.Lstat(at.Name)
		if err != nil {
			return nil, readError(at, err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, configError(at, "is a symbolic link, which is not followed")
		}
	}
	file, err := os.OpenFile(at.Name, flags, 0)
	if err != nil {
		return nil, readError(at, err)
	}
	defer func() { _ = file.Close() }()

	info, err := file.Stat()
	if err != nil {
		return nil, unreadableError(at, err)
	}
	if !info.Mode().IsRegular() {
		return nil, configError(at, "is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err != nil {
		return nil, unreadableError(at, err)
	}
	return data, sizeError(at, data)
}

func sizeError(at Source, data []byte) error {
	if len(data) > maxFileSize {
		return configError(at, fmt.Sprintf("is larger than %d bytes", maxFileSize))
	}
	return nil
}

func readError(at Source, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return unreadableError(at, err)
}

func unreadableError(at Source, err error) *croft.Error {
	refusal := configError(at, "cannot be read")
	if pathError, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathError.Err // the message names the path already
	}
	refusal.Err = err
	return refusal
}

// Stamp tells two states of a repository's croft.toml apart. It is of what the
// file says: times and sizes stay the same over two writes in one moment.
type Stamp struct {
	sum     [sha256.Size]byte
	problem string // why the file cannot be read
}

// StampOf reads the stamp of the file in a repository's root.
func StampOf(root string) Stamp {
	if root == "" {
		return Stamp{}
	}
	data, err := readFile(Source{Kind: KindRepo, Name: filepath.Join(root, "croft.toml")})
	switch {
	case err != nil:
		return Stamp{problem: err.Error()}
	case data == nil:
		return Stamp{}
	}
	return Stamp{sum: sha256.Sum256(data)}
}
