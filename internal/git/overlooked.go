package git

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/walk"
)

// overlookedIn returns the entries of a checkout's index whose files git takes for unchanged without reason; none if the index cannot
// be read.
func (r *Repository) overlookedIn(ctx context.Context, at checkoutAt) []index.Entry {
	data, _, err := index.ReadFile(filepath.Join(at.gitDir, "index"))
	if err != nil {
		return nil
	}
	x, err := index.ParseFlat(data, r.ObjectFormat().NewHash())
	if err == nil {
		return x.Overlooked(at.work)
	}
	whole, err := r.wholeIndex(ctx, at) // it may be split
	if err != nil {
		return nil
	}
	return whole.Overlooked(at.work)
}

// overlookedOf returns those of a checkout that was walked.
func overlookedOf(seen *walk.Seen) []index.Entry {
	var list []index.Entry
	for _, c := range seen.Changed {
		if !c.Gone && c.Entry.IsOverlooked(c.Now) {
			list = append(list, c.Entry.Forgotten())
		}
	}
	return list
}

// differing returns the entries whose files do not have the staged bytes. Only git knows whether it would stage others.
func (r *Repository) differing(at checkoutAt, entries []index.Entry) []index.Entry {
	top, err := fsx.OpenDir(at.work)
	if err != nil {
		return entries
	}
	defer top.Close()
	return slices.DeleteFunc(entries, func(e index.Entry) bool {
		in, err := top.OpenBelow(filepath.FromSlash(path.Dir(e.Path)))
		if err != nil {
			return false
		}
		defer in.Close()
		name := path.Base(e.Path)
		now, err := index.Lstat(filepath.Join(at.work, filepath.FromSlash(e.Path)))
		if err != nil {
			return false
		}
		oid, err := r.hashFile(in, name, now)
		return err == nil && oid == e.OID
	})
}

// withOverlooked returns a status with those of the overlooked files that differ.
func (r *Repository) withOverlooked(ctx context.Context, at checkoutAt, entries []odb.StatusEntry, overlooked []index.Entry) ([]odb.StatusEntry, error) {
	if overlooked = r.differing(at, overlooked); len(overlooked) == 0 {
		return entries, nil
	}
	edits, err := r.compareOnly(ctx, at, overlooked, time.Unix(1, 0))
	for _, edit := range edits {
		edit.Hidden = false
		i := slices.IndexFunc(entries, func(e odb.StatusEntry) bool { return e.Path == edit.Path })
		switch {
		case i < 0:
			entries = append(entries, edit)
		case entries[i].Work == '.':
			entries[i].Work = edit.Work
		}
	}
	return entries, err
}
