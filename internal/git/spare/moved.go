package spare

import (
	"context"
	"os"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/walk"
)

// CompareMoved is [Tree.Compare] after [Tree.MoveTo], for a spare that was settled before, in which nothing else was written
// since. It hashes what git has written, in process, and leaves an index that proves each file. Where only git can
// compare, or a file differs, git does.
func (t *Tree) CompareMoved(ctx context.Context) error {
	if err := t.settleMoved(ctx); err != nil {
		return t.Compare(ctx)
	}
	return nil
}

func (t *Tree) settleMoved(ctx context.Context) error {
	rules, err := t.Repo.FileRules(ctx)
	if err != nil {
		return err
	}
	format := t.Repo.ObjectFormat()
	before, err := index.ParseFlat(t.before, format.NewHash())
	if err != nil {
		return err
	}
	x, data, err := t.readFlat()
	if err != nil {
		return err
	}
	if !before.IsPlain() || !x.IsPlain() || x.HasHidden() {
		return index.ErrUnreadable
	}
	dir, err := fsx.OpenDirIs(t.Path, t.Identity)
	if err != nil {
		return err
	}
	defer dir.Close()
	// Git writes some files as they are committed, and stages them otherwise: one with a foreign $Id$, or of another encoding.
	if rules.HasAttributes || !walk.KeepsBytes(dir, x) {
		return ErrAttributes
	}
	stats, err := x.SettleSince(before, int(dir.File().Fd()), format)
	if err != nil {
		return err
	}
	if data, err = index.Restat(data, format, stats); err != nil {
		return err
	}
	if err := os.WriteFile(t.Index, data, 0o666); err != nil {
		return err
	}
	seen, err := walk.Look(walk.Request{Work: t.Path, Index: t.Index, Format: format, Memory: walk.Forgotten})
	if err == nil && (!seen.IsWhole || len(seen.Changed) > 0 || len(seen.Unknown) > 0) {
		err = ErrDiffers
	}
	return err
}
