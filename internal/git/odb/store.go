package odb

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
)

// packFile is a pack or one of its accompanying files, with its object directory.
type packFile struct{ objects, name string }

func (p packFile) path() string { return filepath.Join(p.objects, "pack", p.name) }

// PackFiles lists the packs, with their accompanying files, that a store is filled with,
// sorted by name. It leaves out files that are being written.
func (r *Repository) PackFiles() ([]packFile, error) {
	dirs, err := r.storeSources()
	if err != nil {
		return nil, err
	}
	var list []packFile
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(dir, "pack"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			switch filepath.Ext(e.Name()) {
			case ".pack", ".idx", ".rev":
				if strings.HasPrefix(e.Name(), "pack-") {
					list = append(list, packFile{dir, e.Name()})
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b packFile) int { return strings.Compare(a.name, b.name) })
	return slices.CompactFunc(list, func(a, b packFile) bool { return a.name == b.name }), nil
}

// storeSources returns the object directories that a store is filled from: the repository's
// own, and its alternates. A store of hard links names the alternates as its own instead.
func (r *Repository) storeSources() ([]string, error) {
	own := filepath.Join(r.CommonDir, "objects")
	if r.Git.Options.Lending == gitcmd.LendLinks {
		return []string{own}, nil
	}
	return gitdir.AlternatesOf(own)
}

// storeFill is the content that a store is getting. Copies are written under temporary
// names, and renamed when all of them are on disk: after a power cut a file of a store is
// complete or absent.
type storeFill struct {
	store string
	links bool
	made  []filled
	dirs  map[string]bool
	seen  map[string]int64 // the mtime of each directory of loose objects when it was last copied
}

type filled struct{ tmp, path string }

// fillStore adds the files to a store that it lacks. It fails with os.ErrNotExist if a
// concurrent gc deleted one of them.
func (r *Repository) fillStore(ctx context.Context, store string, packs []packFile) error {
	f := &storeFill{store: store, links: r.Git.Options.Lending == gitcmd.LendLinks, dirs: map[string]bool{}}
	seenFile := filepath.Join(r.looseRecordDir(), filepath.Base(store))
	f.seen = readSeen(seenFile)
	if err := os.RemoveAll(f.tmpDir()); err != nil {
		return err
	}
	for _, dir := range []string{"pack", "info", filepath.Base(f.tmpDir())} {
		if err := os.MkdirAll(filepath.Join(store, dir), 0o777); err != nil {
			return err
		}
	}
	if f.links {
		if err := r.writeStoreAlternates(store); err != nil {
			return err
		}
	}
	// An .idx file comes after its pack, so that no git sees it alone.
	inOrder := slices.SortedStableFunc(slices.Values(packs), func(a, b packFile) int {
		return cmp.Compare(filepath.Ext(b.name), filepath.Ext(a.name))
	})
	for _, p := range inOrder {
		if err := errors.Join(ctx.Err(), f.addFile(p.path(), filepath.Join(store, "pack", p.name))); err != nil {
			return err
		}
	}
	dirs, err := r.storeSources()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		for first := range 256 {
			if err := errors.Join(ctx.Err(), f.addLoose(dir, fmt.Sprintf("%02x", first))); err != nil {
				return err
			}
		}
	}
	if err := f.finish(); err != nil {
		return err
	}
	return writeSeen(seenFile, f.seen)
}

func (f *storeFill) tmpDir() string { return filepath.Join(f.store, "tmp") }

// addFile adds a file to the store unless it has it.
func (f *storeFill) addFile(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if f.links {
		err := os.Link(from, to)
		if err == nil || errors.Is(err, os.ErrExist) || errors.Is(err, os.ErrNotExist) {
			return ignoreExisting(err)
		}
	}
	tmp := filepath.Join(f.tmpDir(), strconv.Itoa(len(f.made)))
	if err := fsx.Copy(from, tmp, 0o444); err != nil {
		return err
	}
	f.made = append(f.made, filled{tmp, to})
	return nil
}

func ignoreExisting(err error) error {
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// addLoose adds the loose objects of one directory. It skips a directory whose mtime has
// not changed.
func (f *storeFill) addLoose(objects, name string) error {
	from, to := filepath.Join(objects, name), filepath.Join(f.store, name)
	now := time.Now()
	info, err := os.Stat(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil || f.seen[from] == info.ModTime().UnixNano() {
		return err
	}
	entries, err := os.ReadDir(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.Trim(e.Name(), "0123456789abcdef") != "" || !e.Type().IsRegular() {
			continue
		}
		if !f.dirs[to] {
			if err := os.MkdirAll(to, 0o777); err != nil {
				return err
			}
			f.dirs[to] = true
		}
		if err := f.addFile(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	// The mtime of a directory is coarse: only after a second is a later change sure to
	// get another one.
	if now.Sub(info.ModTime()) > time.Second {
		f.seen[from] = info.ModTime().UnixNano()
	}
	return nil
}

// syncsAtOnce is how many files are synced concurrently, so that the file system writes
// its journal once for many.
const syncsAtOnce = 64

// finish syncs the copies to disk and renames them.
func (f *storeFill) finish() error {
	if len(f.made) == 0 {
		return os.Remove(f.tmpDir())
	}
	var g errgroup.Group
	g.SetLimit(syncsAtOnce)
	for _, m := range f.made {
		g.Go(func() error { return fsx.SyncFile(m.tmp) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := failpoint.Hit("git.store.copied"); err != nil {
		return err
	}
	dirs := []string{f.store, filepath.Join(f.store, "pack"), filepath.Dir(f.store)}
	for _, m := range f.made {
		if err := os.Rename(m.tmp, m.path); err != nil {
			return err
		}
		if err := failpoint.Hit("git.store.named"); err != nil {
			return err
		}
		dirs = append(dirs, filepath.Dir(m.path))
	}
	return errors.Join(os.Remove(f.tmpDir()), fsx.SyncAll(dirs...))
}

// looseRecordDir has a file for each store that records which loose objects it has. It is apart
// from the stores, which agents may read.
func (r *Repository) looseRecordDir() string { return filepath.Join(r.Dir, "lent") }

func readSeen(path string) map[string]int64 {
	seen := map[string]int64{}
	if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &seen) != nil {
		return map[string]int64{}
	}
	return seen
}

func writeSeen(path string, seen map[string]int64) error {
	b, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return fsx.ReplaceIfChanged(path, string(b))
}

// writeStoreAlternates writes the repository's own alternates to a store of hard links.
func (r *Repository) writeStoreAlternates(store string) error {
	dirs, err := gitdir.ReadAlternates(filepath.Join(r.CommonDir, "objects"))
	if err != nil || len(dirs) == 0 {
		return err
	}
	var text strings.Builder
	for _, dir := range dirs {
		text.WriteString(gitdir.QuoteAlternate(dir) + "\n")
	}
	return fsx.ReplaceIfChanged(filepath.Join(store, "info", "alternates"), text.String())
}
