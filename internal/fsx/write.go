package fsx

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"
)

// ReplaceFile writes a file whole or not at all. A link at the path is replaced,
// not followed; the directories on the way may be links.
func ReplaceFile(path string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".croft-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// ReplaceIfChanged is [ReplaceFile] with mode 0644, unless a file with the text is there
// already. It follows no link and waits for no pipe.
func ReplaceIfChanged(path, text string) error {
	if old, err := ReadFile(path, int64(len(text))); err == nil && string(old) == text {
		return nil
	}
	return ReplaceFile(path, []byte(text), 0o644)
}

// WriteDurable replaces a file whole or not at all, with mode 0644, and makes that durable,
// with the two directories above it.
func WriteDurable(path string, data []byte) error {
	if err := ReplaceFile(path, data, 0o644); err != nil {
		return err
	}
	if err := SyncFile(path); err != nil {
		return err
	}
	return SyncAll(filepath.Dir(path), filepath.Dir(filepath.Dir(path)))
}

// ErrExists is the error of [RenameNew] if something has the new name. Methods of [Dir]
// fail with [os.ErrExist] instead.
var ErrExists = errors.New("already exists")

// renameChecked renames a file or directory unless something has the new name. Check and
// rename are two steps; it is for systems that have no call for both.
func renameChecked(from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fmt.Errorf("%s: %w", to, ErrExists)
	}
	return os.Rename(from, to)
}

// Syncers is how many files are synced at once where there are many; file systems
// write their journal once for those that wait together.
const Syncers = 32

// SyncAll syncs files and directories, each once and all at the same time: a
// file system with a journal writes it once for many. A path that does not
// exist any more is passed over. The paths are sorted in place.
func SyncAll(paths ...string) error {
	slices.Sort(paths)
	var g errgroup.Group
	for _, path := range slices.Compact(paths) {
		g.Go(func() error {
			err := SyncFile(path)
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return err
		})
	}
	return g.Wait()
}

// SyncFile syncs a file or a directory at a path.
func SyncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|NonBlocking, 0) // an agent may have put a pipe there
	if err != nil {
		return err
	}
	defer f.Close()
	return SyncOpen(f)
}
