package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/odb"
)

// checkoutAt is a git directory and its working tree.
type checkoutAt struct {
	gitDir, work string
	inherit      []*os.File
}

// status lists the differences of a checkout from HEAD. A submodule with changes of its
// own counts as modified.
//
// Git would run itself in each submodule, with the configuration of that repository. So
// git is told to compare only their commits, and Croft compares their files with a
// repository and a host directory for each.
func (r *Repository) status(ctx context.Context, at checkoutAt, untracked Untracked, refresh Refresh) ([]odb.StatusEntry, error) {
	entries, _, err := r.statusIgnoring(ctx, at, untracked, refresh, nil, r.overlookedIn(ctx, at))
	return entries, err
}

// statusIgnoring is status with more options for git. It also returns the paths that git is told to
// list as ignored; those of directories end in a slash. overlooked are the entries of files that git takes for
// unchanged without reason.
func (r *Repository) statusIgnoring(ctx context.Context, at checkoutAt, untracked Untracked, refresh Refresh, options []string, overlooked []index.Entry) (entries []odb.StatusEntry, ignored []string, err error) {
	out, err := r.Git.Run(ctx, gitcmd.Target{Repo: r.Core(), GitDir: at.gitDir, Work: at.work}, gitcmd.Call{
		Args:  append([]string{"status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=" + string(untracked), "--ignore-submodules=dirty"}, options...),
		Locks: refresh == RefreshIndex, Inherit: at.inherit,
	})
	if err != nil {
		return nil, nil, err
	}
	if len(options) > 0 {
		for _, field := range gitdir.SplitNUL(out) {
			if path, isIgnored := strings.CutPrefix(field, "! "); isIgnored {
				ignored = append(ignored, path)
			}
		}
	}
	if entries, err = r.withSpecial(ctx, at, untracked, out); err == nil {
		entries, err = r.withOverlooked(ctx, at, entries, overlooked)
	}
	return entries, ignored, err
}

// withSpecial returns what git listed, and what it does not list of submodules and hidden files.
func (r *Repository) withSpecial(ctx context.Context, at checkoutAt, untracked Untracked, out []byte) ([]odb.StatusEntry, error) {
	var entries []odb.StatusEntry
	for e, err := range odb.ParseStatus(bytes.NewReader(out)) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	special, err := r.readSpecialEntries(ctx, at)
	if err != nil {
		return nil, err
	}
	if len(special.Links)+len(special.Hidden) == 0 {
		return entries, nil
	}
	known := map[string]int{}
	for i, e := range entries {
		known[e.Path] = i
	}
	edits, err := r.hiddenEdits(ctx, at, special)
	if err != nil {
		return nil, err
	}
	for _, e := range edits {
		// In a sparse checkout git itself compares files that should not exist.
		if i, listed := known[e.Path]; !listed || entries[i].Work == '.' {
			known[e.Path] = len(entries)
			entries = append(entries, e)
		}
	}
	for _, path := range special.Links {
		i, listed := known[path]
		if listed && entries[i].Work != '.' {
			continue
		}
		dirty, err := r.isSubmoduleDirty(ctx, at, path, untracked)
		switch {
		case err != nil:
			return nil, err
		case dirty && listed:
			entries[i].Work = 'M'
		case dirty:
			entries = append(entries, odb.StatusEntry{Path: path, Index: '.', Work: 'M', Submodule: true})
		}
	}
	return entries, nil
}

// isSubmoduleDirty reports whether a submodule has uncommitted changes. One that cannot be
// read counts as dirty.
func (r *Repository) isSubmoduleDirty(ctx context.Context, at checkoutAt, path string, untracked Untracked) (bool, error) {
	top, err := filepath.EvalSymlinks(at.work)
	if err != nil {
		return false, err
	}
	dir := filepath.Join(top, filepath.FromSlash(path))
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return false, nil // absent, or a symbolic link: git lists that itself
	}
	if parts := gitcmd.PartsAt(dir); len(parts) > 0 {
		if err := r.Git.CheckOwnerOf(ctx, dir, parts); err != nil {
			return true, ctx.Err() // Croft reads nothing that another user owns
		}
	}
	place, err := gitdir.PlaceIn(dir)
	if errors.Is(err, gitdir.ErrNoRepository) {
		return false, nil // not populated
	}
	if err != nil || place.WorkDir == "" {
		return true, nil
	}
	if untracked == UntrackedAll {
		untracked = UntrackedNormal // one untracked file is enough
	}
	host, remove, err := r.TempDir()
	if err != nil {
		return false, err
	}
	defer remove()
	sub := At(r.Git, place, host)
	sub.Format.Partial = false // objects must not be fetched from a server that the agent names
	entries, err := sub.status(ctx, checkoutAt{place.GitDir, dir, at.inherit}, untracked, RefreshNothing)
	if ctx.Err() != nil {
		return false, err
	}
	return err != nil || len(entries) > 0, nil
}
