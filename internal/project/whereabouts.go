package project

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/journal"
)

// A directory that is not at its path may have been moved, by itself or with a
// directory above it, or its drive may not be mounted. So Croft looks for it by its
// identity before it reports it as missing, and deletes nothing because it was not
// found.

const (
	// seekTime bounds the time of a search, because a network drive may not answer.
	seekTime = 2 * time.Second
	// seekEntries bounds how many entries a search looks at.
	seekEntries = 50_000
	// SeekWidth bounds how many entries of one directory a search looks at.
	SeekWidth = 5_000
	// seekUp is how many levels above a directory a search looks for a renamed
	// ancestor.
	seekUp = 4
)

// sought is a directory that is not at its last path, and is to be found.
type sought struct {
	identity fsx.Identity
	last     string
	hints    []string               // paths at which it may be
	near     []string               // directories that it may have been moved to, besides those above its last path
	isIt     func(path string) bool // confirms the find on file systems that record no time of birth
}

// seekDirectories looks for directories and returns their paths, in the order of list,
// with an empty one for each that was not found.
func seekDirectories(ctx context.Context, list []sought) []string {
	if len(list) == 0 {
		return nil
	}
	found := make(chan []string, 1)
	go func() { found <- newSeeker(list).seekAll() }()
	select {
	case got := <-found:
		return got
	case <-time.After(seekTime):
	case <-ctx.Done():
	}
	return make([]string, len(list))
}

// seeker is one search for several directories.
type seeker struct {
	list   []sought
	wanted map[fsx.Identity]int
	out    []string
	left   int // entries that may still be looked at
	open   int // directories that were not found yet
	names  map[string][]string
	moved  map[string]string // old to new paths of directories in which one was found
}

func newSeeker(list []sought) *seeker {
	s := &seeker{
		list: list, wanted: map[fsx.Identity]int{}, out: make([]string, len(list)), left: seekEntries,
		names: map[string][]string{}, moved: map[string]string{},
	}
	for i, want := range list {
		if want.identity != "" {
			s.wanted[want.identity] = i
			s.open++
		}
	}
	return s
}

func (s *seeker) seekAll() []string {
	for _, want := range s.list {
		for _, hint := range want.hints {
			s.compareAt(hint)
		}
	}
	areas := []string{}
	for _, want := range s.list {
		up := filepath.Dir(want.last)
		for _, dir := range append([]string{up, filepath.Dir(up)}, want.near...) {
			if !slices.Contains(areas, dir) && filepath.Dir(dir) != dir {
				areas = append(areas, dir)
			}
		}
	}
	var next []string
	for _, dir := range areas {
		for _, name := range s.entries(dir) {
			path := filepath.Join(dir, name)
			s.compareAt(path)
			next = append(next, path)
		}
	}
	for _, dir := range next {
		if s.open == 0 {
			break
		}
		for _, name := range s.entries(dir) {
			s.compareAt(filepath.Join(dir, name))
		}
	}
	for i := range s.list {
		s.lookAbove(i)
	}
	return s.out
}

// lookAbove looks for a directory whose ancestor was renamed: below the siblings of
// each of its ancestors, up to seekUp levels.
func (s *seeker) lookAbove(i int) {
	last := s.list[i].last
	if to := s.moved[filepath.Dir(last)]; to != "" {
		s.compareAt(filepath.Join(to, filepath.Base(last)))
	}
	rest := filepath.Base(last)
	for at, n := filepath.Dir(last), 0; n < seekUp && s.out[i] == "" && s.open > 0; n++ {
		up := filepath.Dir(at)
		if up == at {
			return
		}
		for _, name := range s.entries(up) {
			s.compareAt(filepath.Join(up, name, rest))
		}
		rest = filepath.Join(filepath.Base(at), rest)
		at = up
	}
}

// entries lists the entries of a directory. It reads each directory once.
func (s *seeker) entries(dir string) []string {
	if names, ok := s.names[dir]; ok || s.left <= 0 {
		return names
	}
	var names []string
	if d, err := fsx.OpenDir(dir); err == nil {
		names, _ = d.SomeNames(SeekWidth)
		_ = d.Close()
	}
	slices.Sort(names)
	s.names[dir] = names
	return names
}

// compareAt records the path if one of the wanted directories lies there.
func (s *seeker) compareAt(path string) {
	if s.left--; s.left < 0 || s.open == 0 || path == "" {
		return
	}
	now, err := fsx.IdentityOf(path)
	if err != nil {
		return
	}
	i, ok := s.wanted[now]
	if !ok || s.out[i] != "" {
		return
	}
	dir, err := fsx.OpenDirIs(path, now) // through no link
	if err != nil {
		return
	}
	_ = dir.Close()
	if want := s.list[i]; now.HasBirth() || want.isIt(path) {
		s.out[i] = path
		s.open--
		s.moved[filepath.Dir(want.last)] = filepath.Dir(path)
	}
}

// IsAway reports whether the directory of a workspace is not at its path. It is false for
// a legacy workspace, and if the repository itself is gone.
func (r *Project) IsAway(rec journal.Record) bool {
	w := rec.Workspace
	if r.Git == nil || w.Mode == croft.ModeLegacy || fsx.Identity(rec.Identity).IsAt(w.Path) {
		return false
	}
	h := r.Trees.Health(SpecOf(rec))
	return h == checkout.Missing || h == checkout.Foreign || h == checkout.Replaced
}

// soughtOf describes the directory of a live workspace for a search.
func (r *Project) soughtOf(rec journal.Record) sought {
	w, tree := rec.Workspace, r.Trees.At(SpecOf(rec))
	hints := []string{tree.NamedPath(), PathAfterMove(w.Path, w.Repo, r.Path), PathAfterMove(w.Path, filepath.Dir(w.Repo), filepath.Dir(r.Path))}
	if made := r.TrashDirLedger().Find(string(w.ID)); made.Path != "" {
		hints = append(hints, filepath.Join(made.Path, "tree"))
	}
	return sought{
		identity: fsx.Identity(rec.Identity), last: w.Path, isIt: tree.Owns,
		hints: hints, near: []string{filepath.Dir(r.Path), r.Path},
	}
}

// FindMoved looks for the directories of the live workspaces that are not at their
// paths. The result has a path for each record, which is empty if the directory is at
// its path or was not found.
func (r *Project) FindMoved(ctx context.Context, records []journal.Record) []string {
	out := make([]string, len(records))
	var list []sought
	var of []int
	for i, rec := range records {
		if rec.Workspace.State != croft.Trashed && rec.Workspace.State != croft.Creating && r.IsAway(rec) {
			list, of = append(list, r.soughtOf(rec)), append(of, i)
		}
	}
	for k, path := range seekDirectories(ctx, list) {
		out[of[k]] = path
	}
	return out
}

// UpdateMovedPath looks for the directory of a workspace if it is not at its path, and
// records its new path. It returns the record as it is if the directory was not found.
func (p *Projects) UpdateMovedPath(ctx context.Context, r *Project, rec journal.Record) (journal.Record, error) {
	to := r.FindMoved(ctx, []journal.Record{rec})[0]
	if to == "" || IsTrashedAt(rec, to) {
		return rec, nil
	}
	err := p.UnderLock(ctx, r, func() error { return p.FollowTo(ctx, r, rec.Workspace.ID, to) })
	if err != nil {
		return rec, err
	}
	return p.Journal.Record(ctx, rec.Workspace.ID)
}

// IsTrashedAt reports whether a path is that of the workspace's checkout in a trash.
func IsTrashedAt(rec journal.Record, path string) bool {
	return filepath.Base(path) == "tree" && filepath.Base(filepath.Dir(path)) == string(rec.Workspace.ID)
}

// FollowTo records that the directory of a workspace is now at another path, and links it
// with its registration again. It fails if the directory there is another one, and does
// nothing for a removed workspace. The caller holds the repository's lock.
func (p *Projects) FollowTo(ctx context.Context, r *Project, id croft.ID, to string) error {
	rec, err := p.Journal.Record(ctx, id)
	if err != nil {
		return err
	}
	w := rec.Workspace
	if w.State == croft.Trashed || w.Path == to {
		return nil
	}
	dir, err := fsx.OpenDirIs(to, fsx.Identity(rec.Identity))
	if err != nil {
		return err
	}
	defer dir.Close()
	rec.BaseDir = baseDirAfterMove(rec, to)
	rec.Workspace.Path, rec.Workspace.Repo = to, r.Path
	tree := r.Trees.At(SpecOf(rec))
	if err := tree.Rejoin(); err != nil {
		return err
	}
	if err := r.Git.Made().Put(rec.Admin, fsx.Made{Path: to, Identity: fsx.Identity(rec.Identity)}); err != nil {
		return err
	}
	return p.SaveRecord(ctx, &rec, func(tx *journal.Tx) error { return tx.Emit(p.WorkspaceEvent(croft.EventWorkspaceMoved, rec)) })
}

// baseDirAfterMove returns the base directory of a workspace after the workspace was
// moved: the same if it exists, its new path if it was moved along, or the empty
// string.
func baseDirAfterMove(rec journal.Record, to string) string {
	if rec.BaseDir == "" || fsx.IsThere(rec.BaseDir) {
		return rec.BaseDir
	}
	rel, err := filepath.Rel(rec.BaseDir, rec.Workspace.Path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	if base, ok := strings.CutSuffix(to, string(os.PathSeparator)+rel); ok {
		return base
	}
	return ""
}
