package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
)

const (
	// portion is how many entries are deleted at a stretch.
	portion = 256
	// longestPause bounds the pause after a portion.
	longestPause = 25 * time.Millisecond
)

// deletion deletes directories gently: in small portions, each followed by a
// pause as long as it took, so that others get at the disk. It can be broken off
// at any point and begun again.
type deletion struct {
	ctx   context.Context
	count int
	began time.Time
}

// deleting is the ledger of what is being deleted in the trashes of a
// repository, by the names that it has there. It is written before anything is
// renamed to such a name: nothing is deleted because of a name alone.
func (r *repo) deleting() fsx.Ledger { return fsx.Ledger{Dir: filepath.Join(r.dir, "deleting")} }

// doom notes that an entry of a directory is going to be deleted, and renames it
// to a name beside the directory of the trash that it was in, or is.
func (r *repo) doom(from *fsx.Dir, name string, want fsx.Identity, trash *fsx.Dir, id string) (string, error) {
	away := id + "." + string(newID()) + deletingSuffix
	if err := r.deleting().Put(away, fsx.Made{Path: filepath.Join(trash.Path(), away), Identity: want}); err != nil {
		return "", err
	}
	if err := failpoint.Hit("trash.doomed"); err != nil {
		return "", err
	}
	if err := from.Move(name, want, trash, away); err != nil {
		return "", errors.Join(err, r.deleting().Drop(away))
	}
	return away, nil
}

// deleteAway deletes a directory that was renamed away, or what is left of it.
func (r *repo) deleteAway(ctx context.Context, name string) error {
	doomed := r.deleting().Find(name)
	if doomed.Path == "" {
		return nil
	}
	trash, err := fsx.OpenDir(filepath.Dir(doomed.Path))
	if err == nil {
		defer trash.Close()
		d := &deletion{ctx: ctx, began: time.Now()}
		err = trash.RemoveTree(filepath.Base(doomed.Path), doomed.Identity, d.rest)
	}
	switch {
	case errors.Is(err, os.ErrNotExist): // it is gone, or was never renamed
	case errors.Is(err, fsx.ErrOther):
		err = notOurs(doomed.Path)
	case err != nil:
		return err
	}
	if dropped := r.deleting().Drop(name); err == nil || errors.Is(err, os.ErrNotExist) {
		err = dropped
	}
	return err
}

// rest pauses after every portion.
func (d *deletion) rest() error {
	if err := failpoint.Hit("trash.deleted"); err != nil {
		return err
	}
	if d.count++; d.count%portion != 0 {
		return d.ctx.Err()
	}
	select {
	case <-d.ctx.Done():
		return d.ctx.Err()
	case <-time.After(min(time.Since(d.began), longestPause)):
	}
	d.began = time.Now()
	return nil
}

// finishDeletions deletes what others had begun to delete, and directories that
// are empty then.
func (r *repo) finishDeletions(ctx context.Context, dirs []string) error {
	names, err := r.deleting().Names()
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, r.deleteAway(ctx, name))
	}
	for _, dir := range dirs {
		removeEmpty(dir)
	}
	return errors.Join(errs...)
}
