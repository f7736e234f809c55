package engine

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
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

// deleteAway deletes a directory that was renamed away, or what is left of it.
func deleteAway(ctx context.Context, dir string) error {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	d := &deletion{ctx: ctx, began: time.Now()}
	return d.remove(parent, filepath.Base(dir))
}

// remove deletes an entry with all below it. Links are not followed.
func (d *deletion) remove(parent *os.Root, name string) error {
	info, err := parent.Lstat(name)
	if err == nil && info.IsDir() {
		if err := d.empty(parent, name); err != nil {
			return err
		}
	}
	if err := d.rest(); err != nil {
		return err
	}
	err = parent.Remove(name)
	if errors.Is(err, os.ErrPermission) && parent.Chmod(".", 0o700) == nil {
		err = parent.Remove(name)
	}
	if errors.Is(err, os.ErrNotExist) { // somebody else is at it, too
		err = nil
	}
	if err == nil && info != nil && info.IsDir() {
		err = failpoint.Hit("trash.deleted")
	}
	return err
}

// empty deletes what is in a directory.
func (d *deletion) empty(parent *os.Root, name string) error {
	dir, err := parent.OpenRoot(name)
	if errors.Is(err, os.ErrPermission) && parent.Chmod(name, 0o700) == nil {
		dir, err = parent.OpenRoot(name)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		names, err := someNames(dir)
		if err != nil || len(names) == 0 {
			return err
		}
		for _, n := range names {
			if err := d.remove(dir, n); err != nil {
				return err
			}
		}
	}
}

// someNames reads the first names in a directory.
func someNames(dir *os.Root) ([]string, error) {
	f, err := dir.Open(".")
	if errors.Is(err, os.ErrPermission) && dir.Chmod(".", 0o700) == nil {
		f, err = dir.Open(".")
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(portion)
	if len(names) > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

// rest pauses after every portion.
func (d *deletion) rest() error {
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

// isDeleting reports whether a name in a trash is one that Croft gave to what it
// deletes.
func isDeleting(name string) bool {
	rest, ok := strings.CutSuffix(name, deletingSuffix)
	id, random, cut := strings.Cut(rest, ".")
	return ok && cut && isID(id) && isID(random)
}

// finishDeletions deletes what others had begun to delete.
func finishDeletions(ctx context.Context, dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // there is no such trash, or none that can be read
		}
		for _, entry := range entries {
			if isDeleting(entry.Name()) {
				errs = append(errs, deleteAway(ctx, filepath.Join(dir, entry.Name())))
			}
		}
		_ = os.Remove(dir) // once it is empty
	}
	return errors.Join(errs...)
}
