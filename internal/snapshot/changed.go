package snapshot

import (
	"context"
	"path/filepath"

	"github.com/croft-sh/croft/internal/git/object"
)

// surveyStaged notes which paths are staged otherwise than HEAD has them. A tree that
// cannot be read is no reason not to save the files.
func (s *saver) surveyStaged(ctx context.Context, tree string) {
	s.staged = map[string]struct{}{}
	if s.meta.Head.OID == "" { // there is no commit yet
		for _, e := range s.index.Entries {
			s.staged[e.Path] = struct{}{}
		}
		return
	}
	changes, err := s.w.Repo.Diff(ctx, s.meta.Head.OID+"^{tree}", tree)
	if err != nil {
		return
	}
	for _, c := range changes {
		s.staged[c.Path] = struct{}{}
	}
}

// countChanged counts the paths at which the worktree is not as its commit: staged,
// modified, deleted and untracked ones, each once. A file that git does not look at is
// stored in any case, and counts if it is there and not what is staged: in a sparse
// checkout most are not there.
func (s *saver) countChanged() int {
	changed := make(map[string]object.TreeEntry, len(s.stored)+len(s.deleted))
	for _, e := range s.stored {
		changed[flatPath(e.Name)] = e
	}
	for path := range s.deleted {
		changed[filepath.ToSlash(path)] = object.TreeEntry{}
	}
	for path := range s.nested {
		if !s.gitlinks[path] {
			changed[filepath.ToSlash(path)] = object.TreeEntry{}
		}
	}
	for path := range changed {
		if s.sel.Placed != nil && s.sel.Placed(path) {
			delete(changed, path)
		}
	}
	for _, e := range s.index.Entries {
		is := changed[e.Path]
		if e.Hidden && (is.OID == "" || is.OID == e.OID && is.Mode == e.Mode) {
			delete(changed, e.Path)
		}
	}
	for path := range s.staged {
		changed[path] = object.TreeEntry{}
	}
	return len(changed)
}
