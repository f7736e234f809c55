package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// checkoutAt is a git directory and the files that belong to it.
type checkoutAt struct {
	gitDir, work string
	inherit      []*os.File
}

// status lists what differs from HEAD in a checkout. A submodule with changes
// of its own counts as modified.
//
// Git would look into submodules by running itself in each of them, with the
// configuration of that repository. So git is told to look at their commits
// only, and their files are looked at here, through a door and a host directory
// of their own.
func (r *Repository) status(ctx context.Context, at checkoutAt, untracked Untracked, refresh Refresh) ([]StatusEntry, error) {
	out, err := r.git.run(ctx, door{repo: r, gitDir: at.gitDir, work: at.work}, call{
		args:  []string{"status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=" + string(untracked), "--ignore-submodules=dirty"},
		locks: refresh == RefreshIndex, inherit: at.inherit,
	})
	if err != nil {
		return nil, err
	}
	var entries []StatusEntry
	for e, err := range ParseStatus(bytes.NewReader(out)) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	links, err := r.gitlinks(ctx, at)
	if err != nil || len(links) == 0 {
		return entries, err
	}
	known := map[string]int{}
	for i, e := range entries {
		known[e.Path] = i
	}
	for _, path := range links {
		i, listed := known[path]
		if listed && entries[i].Work != '.' {
			continue
		}
		dirty, err := r.submoduleDirty(ctx, at, path, untracked)
		switch {
		case err != nil:
			return nil, err
		case dirty && listed:
			entries[i].Work = 'M'
		case dirty:
			entries = append(entries, StatusEntry{Path: path, Index: '.', Work: 'M', Submodule: true})
		}
	}
	return entries, nil
}

// submoduleDirty reports whether there is anything uncommitted in a submodule.
// One that cannot be read counts as dirty: nobody knows what is in it.
func (r *Repository) submoduleDirty(ctx context.Context, at checkoutAt, path string, untracked Untracked) (bool, error) {
	top, err := filepath.EvalSymlinks(at.work)
	if err != nil {
		return false, err
	}
	dir := filepath.Join(top, filepath.FromSlash(path))
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return false, nil // not there, or a link that leads elsewhere: git lists that itself
	}
	if parts := partsAt(dir); len(parts) > 0 {
		if err := r.git.checkOwner(ctx, dir, parts); err != nil {
			return true, ctx.Err() // nothing is read of what belongs to somebody else
		}
	}
	place, err := placeAt(dir)
	if errors.Is(err, ErrNoRepository) {
		return false, nil // not populated
	}
	if err != nil || place.WorkDir == "" {
		return true, nil
	}
	if untracked == UntrackedAll {
		untracked = UntrackedNormal // one is enough
	}
	host, remove, err := r.TempDir()
	if err != nil {
		return false, err
	}
	defer remove()
	sub := r.git.At(place, host)
	sub.format.partial = false // an agent names no server that objects are fetched from
	entries, err := sub.status(ctx, checkoutAt{place.GitDir, dir, at.inherit}, untracked, RefreshNothing)
	if ctx.Err() != nil {
		return false, err
	}
	return err != nil || len(entries) > 0, nil
}

// gitlinks lists the submodules that an index holds. The index is read here,
// which saves a process for the many repositories without one.
func (r *Repository) gitlinks(ctx context.Context, at checkoutAt) ([]string, error) {
	f, err := fsx.Open(filepath.Join(at.gitDir, "index"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	links, err := readGitlinks(f, r.oidLen()/2)
	if err == nil {
		return links, nil
	}
	out, err := r.git.run(ctx, door{repo: r, gitDir: at.gitDir, work: at.work}, call{args: []string{"ls-files", "--stage", "-z"}})
	if err != nil {
		return nil, err
	}
	links = nil
	for _, line := range splitNUL(out) {
		if meta, path, ok := strings.Cut(line, "\t"); ok && strings.HasPrefix(meta, "160000 ") {
			links = append(links, path)
		}
	}
	return links, nil
}

// readGitlinks reads the submodules from an index.
func readGitlinks(f io.Reader, hashLen int) ([]string, error) {
	var links []string
	r, err := scanIndex(f, hashLen, func(e rawEntry) {
		if e.mode() == gitlinkMode {
			links = append(links, string(e.name))
		}
	})
	if err != nil {
		return nil, err
	}
	// An index that is split keeps the rest of its entries in another file.
	if ext, err := r.Peek(4); err != nil || string(ext) == "link" {
		return nil, errIndex
	}
	return links, nil
}
