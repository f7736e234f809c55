package engine

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/flock"
	"github.com/croft-sh/croft/internal/fsx"
)

// secretsDir is where a snapshot keeps the files that only the user may read.
// The work of a removed workspace has the workspace's ID.
func (e *Engine) secretsDir(r *repo, id croft.ID) string {
	return filepath.Join(e.set.Config().StateDir, "secrets", string(r.id), string(id))
}

// secretsLock is held while a snapshot that no ref names yet is made.
func (e *Engine) secretsLock(id croft.ID) string { return e.ops.LockPath("snapshot-" + string(id)) }

// holdSecrets keeps others from sweeping the files of a snapshot in the making.
func (e *Engine) holdSecrets(id croft.ID) (*flock.Lock, error) {
	path := e.secretsLock(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return flock.Try(path)
}

// sweepSecrets removes the private files of snapshots that there are not: their
// process was killed before a ref named them, or the ref is gone.
func (e *Engine) sweepSecrets(ctx context.Context, r *repo) error {
	entries, err := os.ReadDir(e.secretsDir(r, ""))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	named, err := e.namedSnapshots(ctx, r)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if id := croft.ID(entry.Name()); !named[id] {
			if err := e.sweepSecret(ctx, r, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// namedSnapshots are those that are pinned.
func (e *Engine) namedSnapshots(ctx context.Context, r *repo) (map[croft.ID]bool, error) {
	named := map[croft.ID]bool{}
	kept, err := e.journal.Pins(ctx, r.id, archiveRefs)
	if err != nil {
		return nil, err
	}
	for _, p := range kept {
		id, _ := pinOwner(p.Ref, archiveRefs)
		named[id] = true
	}
	taken, err := e.journal.Pins(ctx, r.id, snapshotRefs)
	for _, p := range taken {
		named[croft.ID(path.Base(p.Ref))] = true
	}
	return named, err
}

func (e *Engine) sweepSecret(ctx context.Context, r *repo, id croft.ID) error {
	l, err := e.holdSecrets(id)
	if errors.Is(err, flock.ErrHeld) {
		return nil // it is being made
	}
	if err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(l.File().Name())
		_ = l.Unlock()
	}()
	// A ref may have been made until the lock was let go.
	if named, err := e.namedSnapshots(ctx, r); err != nil || named[id] {
		return err
	}
	return fsx.RemoveOwn(e.secretsDir(r, id))
}
