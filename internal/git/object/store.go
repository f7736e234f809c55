package object

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// Store is the object directory of a repository, into which batches write.
type Store struct {
	CommonDir string // of the repository: its objects are below
	Format    Format

	// Has fails if the repository does not have an object, in whatever file.
	Has func(ctx context.Context, oid string) error
	// Packed, if not nil, is told after a batch that has added a pack.
	Packed func()
}

// LoosePath is where an object lies that has a file of its own.
func (s Store) LoosePath(oid string) string {
	return filepath.Join(s.CommonDir, "objects", oid[:2], oid[2:])
}

// freshen reports whether the object is there already, and makes it young
// again if it is: a gc deletes old objects that nothing names yet.
func (s Store) freshen(oid string) bool {
	path, now := s.LoosePath(oid), time.Now()
	info, err := os.Lstat(path)
	// A power cut leaves empty files, which are no objects.
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && os.Chtimes(path, now, now) == nil
}
