package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/odb"
)

// Resume is Prepare for a fast-forward that was interrupted while it wrote files: files
// that git had written in part are completed first. Such a file has the beginning of its
// new content, so no byte of it changes, whether git or the user wrote it.
func (h *BranchCheckout) Resume(ctx context.Context, old, now string) (*FastForward, error) {
	return h.prepare(ctx, old, now, (*FastForward).completeInterrupted)
}

// completeInterrupted completes the files that an interrupted fast-forward has written in
// part, or deleted to write them anew.
func (a *FastForward) completeInterrupted(ctx context.Context) error {
	changes, err := a.repo.Diff(ctx, a.old, a.now)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if c.NewMode != "100644" && c.NewMode != "100755" || !a.isInCheckout(c.Path) {
			continue
		}
		if err := a.completeFile(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// isInCheckout reports whether all parents of a path are directories of the checkout, and
// none a symbolic link.
func (a *FastForward) isInCheckout(path string) bool {
	for dir := gitdir.ParentDir(path); dir != ""; dir = gitdir.ParentDir(dir) {
		if info, err := os.Lstat(filepath.Join(a.at.work, filepath.FromSlash(dir))); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

func (a *FastForward) completeFile(ctx context.Context, c odb.Change) error {
	path := filepath.Join(a.at.work, filepath.FromSlash(c.Path))
	info, err := os.Lstat(path)
	missing := errors.Is(err, os.ErrNotExist)
	if missing && c.Adds() || !missing && (err != nil || !info.Mode().IsRegular()) {
		return nil // not begun, or of another kind
	}
	becomes, err := a.repo.Read(ctx, c.NewOID)
	if err != nil {
		return err
	}
	if !missing {
		has, err := fsx.ReadFile(path, becomes.Size)
		if err != nil || len(has) >= len(becomes.Data) || !bytes.HasPrefix(becomes.Data, has) {
			return nil // complete, or the user's own content
		}
		if was, err := a.repo.Read(ctx, c.OldOID); !c.Adds() && (err != nil || bytes.Equal(was.Data, has)) {
			return err // not begun
		}
	}
	mode := os.FileMode(0o666)
	if c.NewMode == "100755" {
		mode = 0o777
	}
	return fsx.ReplaceFile(path, becomes.Data, mode&^a.umask())
}

// umask guesses the umask of the checkout's user from the modes of the checkout.
func (a *FastForward) umask() os.FileMode {
	info, err := os.Stat(a.at.work)
	if err != nil {
		return 0o022
	}
	return ^info.Mode().Perm() & 0o077
}
