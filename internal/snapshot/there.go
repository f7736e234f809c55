package snapshot

import (
	"fmt"
	"maps"
	"slices"

	"github.com/croft-sh/croft/internal/fsx"
)

// A worktree that is moved away, or whose file system is unmounted, while it is
// read looks as if everything in it was deleted. It is only absent, and a snapshot
// that says otherwise does not count.

// noteIdentity notes which directory is saved.
func (s *saver) noteIdentity() (err error) {
	if s.is = s.sel.Identity; s.is == "" {
		s.is, err = fsx.IdentityOf(s.root)
	}
	return err
}

// checkThere fails if the directory is not at its place after everything was read,
// or was not while something was. The latter shows in what was not there then, is
// there now, and was not made in between.
func (s *saver) checkThere() error {
	if !s.is.IsAt(s.root) {
		return fmt.Errorf("%s is not at its place any more: %w", s.root, ErrChanging)
	}
	clear(s.linked)
	for _, path := range slices.AppendSeq(s.vanished, maps.Keys(s.deleted)) {
		_, isFile := s.deleted[path]
		isFile = isFile && !s.gitlinks[path]
		now, err := s.lstat(path)
		if err != nil {
			return err
		}
		if now != nil && now.Mode.IsDir() != isFile && now.IsSince(s.began) {
			return fmt.Errorf("%s was not at its place for a while: %w", s.root, ErrChanging)
		}
	}
	return nil
}
