package worktree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
)

// Ready is a directory that has the files of a new worktree already, and an index for them. No agent has been there.
type Ready struct {
	Path     string       // on the file system of the worktree's path
	Identity fsx.Identity // of the directory
	Index    string       // in a directory of Croft's own
}

// ErrNotReady says that such a directory could not be used: it is gone, it is another one, or it cannot be moved. The
// worktree may be registered by then, and is discarded by the caller.
var ErrNotReady = errors.New("the directory with the files cannot be used")

// takeIndex moves the index to a new admin directory.
func (r *Ready) takeIndex(admin *fsx.Dir) error {
	from, err := fsx.OpenOwn(filepath.Dir(r.Index))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	defer from.Close()
	name := filepath.Base(r.Index)
	err = from.RenameNew(name, admin, "index")
	if fsx.IsOtherDevice(err) {
		var was fsx.Entry
		if was, err = from.Stat(name); err == nil {
			err = from.CopyEntry(name, admin, "index", was)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	return nil
}

// moveReady records the identity of a directory that has the files, calls fill and moves the directory to the
// worktree's path, in the open directory beside.
func (w *Worktree) moveReady(s AddSpec, beside *fsx.Dir, fill func(tree *fsx.Dir) error) error {
	from, err := fsx.OpenDir(filepath.Dir(s.Ready.Path))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	defer from.Close()
	name := filepath.Base(s.Ready.Path)
	tree, err := from.OpenDirIs(name, s.Ready.Identity)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
	defer tree.Close()
	if _, err := w.recordIdentity(tree); err != nil {
		return err
	}
	if err := failpoint.Hit("git.add.ready.recorded"); err != nil {
		return err
	}
	if err := fill(tree); err != nil {
		return err
	}
	if err := failpoint.Hit("git.add.ready.tree"); err != nil {
		return err
	}
	err = from.Move(name, s.Ready.Identity, beside, filepath.Base(s.Path))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%s: %w", s.Path, ErrExists)
	default:
		return fmt.Errorf("%w: %w", ErrNotReady, err)
	}
}
