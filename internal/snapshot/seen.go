package snapshot

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
)

// Seen is the state of the files of a worktree when Save read them. With it a rewind
// knows, when it moves a file out, whether the file still is as it was saved.
type Seen struct {
	began  time.Time
	files  map[string]index.FileStat // all entries that are neither directories nor in nested repositories
	nested map[string]Listing        // the content of nested repositories
	saved  map[string]content
}

// content is the content that a snapshot has for a file.
type content struct {
	mode   string
	oid    string // empty: unknown, because git converts the file
	secret string // the path of the copy, for a private file
}

// noteSeen notes the state of the files that a walk saw, if a rewind follows: it moves these
// files out of the checkout.
func (s *saver) noteSeen(seen []index.NamedStat) {
	if s.sel.Before == "" {
		return
	}
	s.saved.Seen = &Seen{began: s.began, files: make(map[string]index.FileStat, len(seen)), nested: map[string]Listing{}}
	for _, f := range seen {
		s.saved.Seen.files[f.Name] = f.FileStat
	}
}

// listNested notes the content of nested repositories before they are stored.
func (s *saver) listNested(nested [][]byte) error {
	if s.saved.Seen == nil {
		return nil
	}
	for _, p := range nested {
		held, err := ListBelow(filepath.Join(s.root, string(p)))
		if err != nil {
			return err
		}
		s.saved.Seen.nested[string(p)] = held
	}
	return nil
}

// Listing is the state of all entries below a directory, except directories.
type Listing map[string]index.FileStat

// ListBelow returns the state of all entries below a directory, except directories.
func ListBelow(top string) (Listing, error) {
	held := Listing{}
	var dir func(string) error
	dir = func(rel string) error {
		entries, err := index.ReadDir(filepath.Join(top, rel))
		if err != nil {
			return err
		}
		for _, e := range entries {
			path := filepath.Join(rel, e.Name)
			if !e.Mode.IsDir() {
				held[path] = e.FileStat
			} else if err := dir(path); err != nil {
				return err
			}
		}
		return nil
	}
	return held, dir("")
}

// Equal reports whether two listings of a directory are equal.
func (l Listing) Equal(other Listing) bool { return maps.EqualFunc(l, other, index.FileStat.IsSame) }

// noteContents notes the content that the snapshot has for each file.
func (s *saver) noteContents() {
	seen := s.saved.Seen
	if seen == nil {
		return
	}
	seen.saved = make(map[string]content, len(s.plain)+len(s.stored))
	for path, i := range s.plain {
		e := s.index.Entries[i]
		seen.saved[path] = content{mode: e.Mode, oid: e.OID}
	}
	for path := range s.convertible {
		seen.saved[path] = content{mode: seen.saved[path].mode}
	}
	for _, e := range s.stored {
		seen.saved[filepath.FromSlash(flatPath(e.Name))] = content{mode: e.Mode, oid: e.OID}
	}
	for name, path := range s.meta.Secrets {
		seen.saved[filepath.FromSlash(string(path))] = content{mode: "100644", secret: filepath.Join(s.sel.SecretsDir, name)}
	}
}

// Contents is the content that some snapshots have for each file. It is read at the
// first use.
type Contents struct {
	repo    *git.Repository
	commits []string
	all     []map[string]content
}

// ContentsOf returns the content that snapshots have for each file.
func ContentsOf(r *git.Repository, commits ...string) *Contents {
	return &Contents{repo: r, commits: commits}
}

// Has reports whether one of the snapshots has the content that the file of a path has
// now, at full. It may be false for a file that git converts: then the object differs
// from the file on disk.
func (c *Contents) Has(ctx context.Context, path, full string, now index.FileStat) bool {
	for _, commit := range c.commits[len(c.all):] {
		all := map[string]content{}
		for _, dir := range []string{"staged", "files"} { // files overrides staged
			entries, err := readDir(ctx, c.repo, commit, dir)
			if err != nil {
				return false
			}
			for _, e := range entries {
				all[e.Name] = content{mode: e.Mode, oid: e.OID}
			}
		}
		c.all = append(c.all, all)
	}
	return slices.ContainsFunc(c.all, func(all map[string]content) bool { return all[path].isIn(c.repo, full, now) })
}

// isIn reports whether a file has this content.
func (c content) isIn(r *git.Repository, full string, now index.FileStat) bool {
	want, err := c.oid, error(nil)
	if c.secret != "" {
		want, err = hashFile(r, c.secret)
	}
	if want == "" || err != nil {
		return false
	}
	if now.Mode&os.ModeSymlink != 0 {
		target, err := os.Readlink(full)
		if err != nil || c.mode != "120000" {
			return false
		}
		oid, err := r.HashBlob(strings.NewReader(target), int64(len(target)))
		return err == nil && oid == want
	}
	if !now.Mode.IsRegular() || c.mode == "120000" || c.secret == "" && (c.mode == "100755") != (now.Mode&0o100 != 0) {
		return false
	}
	oid, err := hashFile(r, full)
	return err == nil && oid == want
}

// Has reports whether a file that was moved out is as it was saved. before is its state
// before the move, when its change time still counts; after is its state after the
// move, when no process can reach it by its path.
func (s *Seen) Has(r *git.Repository, path, full string, before, after index.FileStat) bool {
	if s == nil {
		return false
	}
	c, isSaved := s.saved[path]
	was, isSeen := s.files[path]
	if isSaved && isSeen && before.IsSame(was) && after.IsSameMoved(was) && (was.IsSettled(s.began) || c == content{mode: c.mode}) {
		return true
	}
	return isSaved && c.isIn(r, full, after)
}

// HasNested reports whether a nested repository still is as it was saved.
func (s *Seen) HasNested(path string, held Listing) bool { return s.nested[path].Equal(held) }

// hashFile returns the name that the content of a file has as a blob.
func hashFile(r *git.Repository, full string) (string, error) {
	f, err := fsx.Open(full)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return r.HashBlob(f, info.Size())
}
