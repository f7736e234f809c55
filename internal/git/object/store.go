package object

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// Store is the object directory of a repository, to which batches write.
type Store struct {
	CommonDir string // of the repository, with the directory objects
	Format    Format

	// Has fails if the repository does not have an object, loose or packed.
	Has func(ctx context.Context, oid string) error
	// Packed, if not nil, is called after a batch that has added a pack.
	Packed func()
}

// LoosePath is the path of a loose object.
func (s Store) LoosePath(oid string) string {
	return filepath.Join(s.CommonDir, "objects", oid[:2], oid[2:])
}

// freshen reports whether a loose object exists already, and updates its mtime if it does:
// a gc deletes old unreachable objects.
func (s Store) freshen(oid string) bool {
	path, now := s.LoosePath(oid), time.Now()
	info, err := os.Lstat(path)
	// A power cut leaves empty files, which are not objects.
	return err == nil && info.Mode().IsRegular() && info.Size() > 0 && os.Chtimes(path, now, now) == nil
}
