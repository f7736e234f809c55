package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/git/object"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/snapshot"
)

// lacks says of a workspace that it cannot be saved because what is staged there is
// nowhere. Other errors are returned as they are.
func lacks(w croft.Workspace, err error) error {
	missing, ok := errors.AsType[*object.MissingError](err)
	if !ok {
		return err
	}
	return &croft.Error{
		Code: croft.ObjectMissing, Workspace: w.Name,
		Message: fmt.Sprintf("the object of %q, which the index names, cannot be read, and the file is another one or gone; the workspace cannot be saved", missing.Path),
		Details: missing.OID + " is missing or damaged; no file of the workspace was changed",
		Hint:    "git -C " + shellWord(w.Path) + " --literal-pathspecs add -- " + shellWord(missing.Path) + ", which stages the file as it is now",
	}
}

// stowedLacks is lacks for a directory in the trash, which stays there.
func stowedLacks(rec journal.Record, err error) error {
	missing, ok := errors.AsType[*object.MissingError](err)
	if !ok {
		return err
	}
	return unkept{&croft.Error{
		Code: croft.ObjectMissing, Workspace: rec.Workspace.Name,
		Message: fmt.Sprintf("its directory stays in the trash, because the object of %q, which its index names, cannot be read, and the file is another one or gone", missing.Path),
		Details: missing.OID + " is missing or damaged",
		Hint:    "croft restore " + string(rec.Workspace.ID) + ", and git add the file there; or, to delete it for good: rm -rf " + shellWord(rec.Trash.Dir),
	}}
}

// mendStowed makes sure that the project has what the index of a directory in the
// trash names, as far as its files have it.
func (e *Engine) mendStowed(ctx context.Context, r *repo, rec journal.Record) error {
	if info, err := os.Lstat(filepath.Join(rec.Trash.Dir, "tree")); err != nil || !info.IsDir() {
		return nil // it was gone, or a link lay in its place
	}
	p, err := e.peek(ctx, r, rec)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	return snapshot.Mend(ctx, p.Worktree)
}
