package snapshot

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/croft-sh/croft/internal/git"
)

// survey finds out what has to be stored.
func (s *saver) survey(ctx context.Context) error {
	var err error
	if s.index, err = s.w.Index(ctx); err != nil {
		return err
	}
	s.files, s.deleted, s.nested, s.linked = map[string]string{}, map[string]struct{}{}, map[string]struct{}{}, map[string]bool{}
	s.gitlinks = map[string]bool{}
	if err := s.surveyIndex(); err != nil {
		return err
	}
	var changed []git.StatusEntry
	var conversions map[string]git.Conversion
	err = together(
		func() (err error) { changed, err = s.status(ctx); return err },
		func() (err error) { conversions, err = s.w.Conversions(ctx, s.plain()); return err },
	)
	if err != nil {
		return err
	}
	for _, e := range changed {
		if err := s.addChange(e); err != nil {
			return err
		}
	}
	ignored, err := s.w.Ignored(ctx, s.sel.Ignored)
	if err != nil {
		return err
	}
	for _, p := range ignored {
		if err := s.addChange(git.StatusEntry{Path: p, Index: '?', Work: '?'}); err != nil {
			return err
		}
	}
	if err := s.surveyConverted(conversions); err != nil {
		return err
	}
	for _, p := range slices.Sorted(maps.Keys(s.deleted)) {
		s.meta.Deleted = append(s.meta.Deleted, []byte(p))
	}
	return s.walk()
}

func (s *saver) status(ctx context.Context) ([]git.StatusEntry, error) {
	var list []git.StatusEntry
	for e, err := range s.w.Status(ctx, git.UntrackedAll, git.RefreshNothing) {
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// together does several things at once and returns what failed.
func together(steps ...func() error) error {
	errs := make([]error, len(steps))
	var wg sync.WaitGroup
	for i, step := range steps {
		wg.Go(func() { errs[i] = step() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// surveyIndex notes what a status does not tell: submodules, files that git
// does not look at, and conflicts.
func (s *saver) surveyIndex() error {
	for _, e := range s.index {
		var err error
		switch {
		case e.Stage > 0:
			if n := len(s.conflicted); n == 0 || s.conflicted[n-1] != e.Path { // they are sorted
				s.conflicted = append(s.conflicted, e.Path)
			}
			err = s.addFile(e.Path)
		case e.Mode == "160000":
			s.gitlinks[e.Path] = true
			err = s.addSubmodule(e.Path)
		case e.Hidden():
			err = s.addFile(e.Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addSubmodule notes the directory of a submodule: a repository, or gone, or
// something else altogether.
func (s *saver) addSubmodule(path string) error {
	info, err := s.lstat(path)
	if err != nil || info == nil || !info.IsDir() {
		return errors.Join(err, s.addFile(path))
	}
	if s.isRepository(path) {
		s.nested[path] = struct{}{}
	}
	return nil // else what it holds is untracked, or it is empty
}

// addChange notes what a status says of one path.
func (s *saver) addChange(e git.StatusEntry) error {
	if dir, ok := strings.CutSuffix(e.Path, "/"); ok { // a repository that git does not enter
		s.nested[dir] = struct{}{}
		return nil
	}
	s.intended = s.intended || e.Work == 'A'
	if _, repository := s.nested[e.Path]; e.Work == '.' || repository {
		return nil
	}
	return s.addFile(e.Path)
}

// addFile notes a path whose bytes are stored, or that there is no file.
func (s *saver) addFile(path string) error {
	info, err := s.lstat(path)
	switch {
	case err != nil:
		return err
	case info != nil && info.IsDir() && s.gitlinks[path]:
	case info == nil || info.IsDir():
		s.deleted[path] = struct{}{}
		if info != nil && s.isRepository(path) {
			s.nested[path] = struct{}{}
		}
	default:
		s.files[path] = ""
	}
	return nil
}

// lstat looks at a path; nil means that there is nothing. What lies behind a
// link is not in the worktree.
func (s *saver) lstat(path string) (fs.FileInfo, error) {
	if s.behindLink(filepath.Dir(path)) {
		return nil, nil
	}
	info, err := os.Lstat(filepath.Join(s.root, path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// behindLink reports whether a path that should be a directory, or one above
// it, is something else.
func (s *saver) behindLink(dir string) bool {
	if dir == "." {
		return false
	}
	known, ok := s.linked[dir]
	if !ok {
		info, err := os.Lstat(filepath.Join(s.root, dir))
		known = err == nil && !info.IsDir() || s.behindLink(filepath.Dir(dir))
		s.linked[dir] = known
	}
	return known
}

// walk finds what git does not tell: modes, empty directories, named pipes, and
// repositories in directories that hold tracked files.
func (s *saver) walk() error {
	tracked := map[string]bool{".": true}
	for _, e := range s.index {
		for d := filepath.Dir(e.Path); !tracked[d]; d = filepath.Dir(d) {
			tracked[d] = true
		}
	}
	return s.walkDir(".", tracked)
}

func (s *saver) walkDir(dir string, tracked map[string]bool) error {
	entries, err := os.ReadDir(filepath.Join(s.root, dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) == 0 && dir != "." {
		s.meta.Empty = append(s.meta.Empty, []byte(dir))
	}
	for _, d := range entries {
		path := filepath.Join(dir, d.Name())
		if path == ".git" {
			continue
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		s.note(path, info)
		if !d.IsDir() {
			continue
		}
		if _, ok := s.nested[path]; !ok && tracked[path] && s.isRepository(path) {
			s.nested[path] = struct{}{}
		}
		if _, ok := s.nested[path]; ok {
			continue
		}
		if err := s.walkDir(path, tracked); err != nil {
			return err
		}
	}
	return nil
}

func (s *saver) isRepository(path string) bool {
	_, err := os.Lstat(filepath.Join(s.root, path, ".git"))
	return err == nil
}

func (s *saver) note(path string, info fs.FileInfo) {
	perm := uint32(info.Mode().Perm())
	switch {
	case info.IsDir():
		if perm != 0o755 {
			s.meta.Modes = append(s.meta.Modes, mode{[]byte(path), perm})
		}
	case info.Mode().IsRegular():
		if perm != 0o644 && perm != 0o755 {
			s.meta.Modes = append(s.meta.Modes, mode{[]byte(path), perm})
		}
	case info.Mode()&fs.ModeNamedPipe != 0:
		delete(s.files, path)
		s.meta.Special = append(s.meta.Special, mode{[]byte(path), perm})
	}
}
