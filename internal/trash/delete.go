package trash

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/project"
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

// renameToDelete notes that an entry of a directory is going to be deleted, and renames it
// to a name beside the directory of the trash that it was in, or is.
func renameToDelete(r *project.Project, from *fsx.Dir, name string, want fsx.Identity, trash *fsx.Dir, id string) (string, error) {
	away := id + "." + string(project.NewID()) + deletingSuffix
	if err := r.DeletingLedger().Put(away, fsx.Made{Path: filepath.Join(trash.Path(), away), Identity: want}); err != nil {
		return "", err
	}
	if err := failpoint.Hit("trash.doomed"); err != nil {
		return "", err
	}
	if err := from.Move(name, want, trash, away); err != nil {
		return "", errors.Join(err, r.DeletingLedger().Drop(away))
	}
	return away, nil
}

// deleteAway deletes a directory that was renamed away, or what is left of it.
func deleteAway(ctx context.Context, r *project.Project, name string) error {
	doomed := r.DeletingLedger().Find(name)
	if doomed.Path == "" {
		return nil
	}
	trash, err := fsx.OpenDir(filepath.Dir(doomed.Path))
	if err == nil {
		defer trash.Close()
		d := &deletion{ctx: ctx, began: time.Now()}
		err = trash.RemoveTree(filepath.Base(doomed.Path), doomed.Identity, d.pauseAfterPortion)
	}
	switch {
	case errors.Is(err, os.ErrNotExist): // it is gone, or was never renamed
	case errors.Is(err, fsx.ErrOther):
		err = project.NotOurs(doomed.Path)
	case err != nil:
		return err
	}
	if dropped := r.DeletingLedger().Drop(name); err == nil || errors.Is(err, os.ErrNotExist) {
		err = dropped
	}
	return err
}

// pauseAfterPortion pauses after every portion.
func (d *deletion) pauseAfterPortion() error {
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
func finishDeletions(ctx context.Context, r *project.Project, dirs []string) error {
	names, err := r.DeletingLedger().Names()
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, deleteAway(ctx, r, name))
	}
	for _, dir := range dirs {
		project.RemoveEmpty(dir)
	}
	return errors.Join(errs...)
}
