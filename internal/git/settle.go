package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/index"
)

// Settle compares the files of a linked worktree that git has just written with its index, by their content, makes them some
// seconds older, and writes the index with their stat data: then neither the first status nor any later one has to read
// files that were written in the same second as the index ([index.Flat.Settle]). It fails with [ErrUnsettled] where that is
// not all that git compares, as with submodules, sparse checkouts, filters and attributes, and where a file differs; the
// checkout is then as good as before, and git has to compare it. Nobody else writes in it meanwhile.
func (w *Worktree) Settle(ctx context.Context) error {
	err := w.settle(ctx)
	for _, reason := range []error{errAskGit, index.ErrDiffers, index.ErrUnreadable, errors.ErrUnsupported} {
		if errors.Is(err, reason) {
			return fmt.Errorf("%w: %w", ErrUnsettled, err)
		}
	}
	return err
}

// ErrUnsettled says that only git can compare a checkout with its index.
var ErrUnsettled = errors.New("the checkout is not settled")

func (w *Worktree) settle(ctx context.Context) error {
	if isText, err := w.textOutside(ctx); err != nil {
		return err
	} else if isText {
		return errAskGit
	}
	return w.ChangeHeld(ctx, func(w *Worktree) error {
		data, _, err := index.ReadFile(filepath.Join(w.Admin, "index"))
		if err != nil {
			return err
		}
		x, err := index.ParseFlat(data, w.Repo.ObjectFormat().NewHash())
		if err != nil {
			return err
		}
		top, err := fsx.OpenDir(w.Path)
		if err != nil {
			return err
		}
		defer top.Close()
		if !x.IsPlain() || x.HasHidden() || converts(top, x) {
			return errAskGit
		}
		stats, differs := x.Settle(int(top.File().Fd()), w.Repo.ObjectFormat())
		if stats == nil {
			return differs
		}
		if data, err = index.Restat(data, w.Repo.ObjectFormat(), stats); err != nil {
			return errors.Join(differs, err)
		}
		notSynced := func(*os.File) error { return nil } // nor are its files, yet
		return errors.Join(differs, replaceIndex(w.Hold.Dir, data, notSynced))
	})
}

// converts reports whether a file of attributes in a checkout may have git compare files other than byte for byte.
func converts(top *fsx.Dir, x *index.Flat) bool {
	for i := range x.Len() {
		name := x.Path(i)
		if path.Base(name) != ".gitattributes" {
			continue
		}
		dir, err := top.OpenBelow(path.Dir(name))
		if err != nil {
			return true
		}
		text, err := dir.ReadFile(".gitattributes", gitconfig.MaxSize)
		_ = dir.Close()
		if err != nil || attributesMatter(text) || mentionsText(text) {
			return true
		}
	}
	return false
}
