package fsx

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Syncers is how many files are synced at once where there are many; file systems
// write their journal once for those that wait together.
const Syncers = 32

// SyncAll syncs files and directories, each once and all at the same time: a
// file system with a journal writes it once for many. What is gone by now has
// nothing to keep.
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
