package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
)

// surveyIndex reads the index and notes the files that are stored in any case: those in
// conflict, those that git was told not to examine, and those of intent-to-add entries.
func (s *saver) surveyIndex(ctx context.Context) error {
	var err error
	if s.index, err = s.w.Index(ctx); err != nil {
		return err
	}
	if err := s.leaveOutFaults(); err != nil {
		return err
	}
	s.files, s.deleted, s.nested, s.linked = map[string]string{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	s.gitlinks, s.plain = map[string]bool{}, make(map[string]int, len(s.index.Entries))
	for i, e := range s.index.Entries {
		var err error
		s.intended = s.intended || e.Intended
		switch {
		case e.Stage == 0 && e.Mode == "160000":
			s.gitlinks[e.Path] = true
			err = s.addSubmodule(e.Path)
		case e.Stage > 0 || e.Hidden || e.Intended:
			err = s.addFile(e.Path)
		default:
			s.plain[e.Path] = i
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaveOutFaults notes the entries that git would not make, and goes on without them:
// neither could git be asked about the files, nor would the snapshot be restorable.
func (s *saver) leaveOutFaults() (err error) {
	faults := s.index.Faults
	if len(faults) > 0 {
		if s.w, s.removeCopy, err = s.w.WithSoundIndex(s.index); err != nil {
			return err
		}
	} else if s.sel.Trashed != nil {
		faults = s.sel.Trashed.Faults
	}
	s.saved.LeftOut = len(faults)
	for _, f := range faults[:min(len(faults), mostLeftOut)] {
		s.meta.LeftOut = append(s.meta.LeftOut, LeftOut{[]byte(f.Path), f.Why})
	}
	return nil
}

// mostLeftOut bounds the list of entries that a snapshot says it left out.
const mostLeftOut = 100

// surveyFiles finds the files that have to be stored, and stores the tracked ones. It
// does not run git status: a file whose time, size, inode and mode are those in the
// index is as it was staged, and any other is read. A checkout may still write such a
// file differently, because the attributes may have changed since it was staged. If its
// size is that of the staged object, git converted nothing, unless a filter keeps
// sizes.
func (s *saver) surveyFiles(ctx context.Context) error {
	w := s.newWalk()
	var found map[string]git.Conversion
	var sizes []int64
	var filters bool
	err := runTogether(
		w.run,
		func() (err error) {
			if sizes, err = s.stagedSizes(ctx); err == nil {
				err = s.rewriteLostObjects(sizes)
			}
			return err
		},
		func() (err error) {
			if found, err = s.w.Conversions(ctx, s.index); err == nil {
				filters, err = s.w.HasFilters(ctx)
			}
			return err
		},
	)
	if err != nil {
		return err
	}
	if err := s.addUnseen(w); err != nil {
		return err
	}
	for i, e := range s.index.Entries {
		if w.as[i] == asNoted && found[e.Path].Filter == "" && e.Mode != "120000" && (filters || sizes[i] != e.StatSize()) {
			w.noteToRead(e.Path, i)
		}
	}
	s.convertible = found
	filtered := func(p string) bool { return found[p].Filter != "" }
	err = runTogether(
		func() error { return s.storeChanged(slices.DeleteFunc(slices.Clone(w.suspects), filtered), found) },
		func() error { return s.surveyUntracked(ctx, w.untracked) },
	)
	if err == nil && slices.ContainsFunc(w.suspects, filtered) {
		err = s.addFilteredChanges(ctx, found)
	}
	if err == nil {
		err = s.surveyConverted(found, w)
	}
	if err != nil {
		return err
	}
	s.storeFound(w)
	return nil
}

// stagedSizes returns the sizes of the staged objects, by place in the index.
func (s *saver) stagedSizes(ctx context.Context) ([]int64, error) {
	oids := make([]string, len(s.index.Entries))
	for i, e := range s.index.Entries {
		oids[i] = e.OID
		if e.Mode == "160000" {
			oids[i] = s.w.Repo.ZeroOID() // the commit of a submodule is in another repository
		}
	}
	return s.w.Repo.BlobSizes(ctx, oids)
}

// addUnseen notes the tracked files that the walk did not see: they are deleted, or
// have a name in other case in a file system that ignores case.
func (s *saver) addUnseen(w *walk) error {
	for path, i := range s.plain {
		if w.as[i] != unseen {
			continue
		}
		now, err := s.lstat(path)
		switch {
		case err != nil:
		case now == nil || now.Mode.IsDir():
			err = s.addFile(path)
		case s.index.IsUnchanged(s.index.Entries[i], *now):
			w.as[i] = asNoted
		default:
			w.noteToRead(path, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addFilteredChanges notes the changed files among those that a filter reads and
// writes. It asks git, which alone can compare the output of the filter.
func (s *saver) addFilteredChanges(ctx context.Context, converted map[string]git.Conversion) error {
	for e, err := range s.w.Status(ctx, git.UntrackedNone, git.RefreshNothing) {
		if err != nil {
			return err
		}
		if converted[e.Path].Filter == "" || e.Work == '.' {
			continue
		}
		if err := s.addFile(e.Path); err != nil {
			return err
		}
	}
	return nil
}

// surveyUntracked notes the untracked files that are saved. seen are the untracked
// paths that the walk saw; if there are none, as is most often the case, git is not
// run.
func (s *saver) surveyUntracked(ctx context.Context, seen []string) error {
	if len(seen) == 0 {
		return nil
	}
	var others, ignored, secret, hit, hitSecret []string
	err := runTogether(
		func() (err error) { others, err = s.w.Others(ctx); return err },
		func() (err error) { ignored, err = s.w.Ignored(ctx, matchingPatterns(s.sel.Ignored, seen)); return err },
		func() (err error) { secret, err = s.w.Ignored(ctx, matchingPatterns(s.sel.Secrets, seen)); return err },
		func() (err error) { hit, hitSecret, err = s.overwrittenFiles(ctx, seen); return err },
	)
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(others, ignored, hit) {
		if dir, ok := strings.CutSuffix(p, "/"); ok { // a nested repository, which git does not enter
			s.nested[dir] = true
			continue
		}
		if err := s.addFile(p); err != nil {
			return err
		}
	}
	secret = append(secret, hitSecret...)
	slices.Sort(secret)
	return s.storeSecrets(ctx, slices.Compact(secret))
}

// matchingPatterns returns the patterns, in .gitignore's syntax, that may match one of
// the paths. It may return too many, because git decides.
func matchingPatterns(patterns, paths []string) []string {
	names := map[string]bool{}
	for _, p := range paths {
		for name := range strings.SplitSeq(strings.ToLower(filepath.ToSlash(p)), "/") {
			names[name] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(patterns), func(pattern string) bool {
		name := strings.ToLower(strings.Trim(pattern, "/"))
		if strings.ContainsAny(name, `/[\`) || strings.HasPrefix(name, "!") || name != strings.TrimSpace(name) {
			return false
		}
		for n := range names {
			if ok, err := filepath.Match(name, n); ok || err != nil {
				return false
			}
		}
		return true
	})
}

// addSubmodule notes the directory of a submodule: whether it is a repository, is
// absent, or is not a directory.
func (s *saver) addSubmodule(path string) error {
	info, err := s.lstat(path)
	if err != nil || info == nil || !info.Mode.IsDir() {
		return errors.Join(err, s.addFile(path))
	}
	if s.isRepository(path) {
		s.nested[path] = true
	}
	return nil // otherwise its files are untracked, or it is empty
}

// addFile notes that the content of a path is stored, or that the path has no file.
func (s *saver) addFile(path string) error {
	info, err := s.lstat(path)
	switch {
	case err != nil:
		return err
	case info != nil && info.Mode.IsDir() && s.gitlinks[path]:
	case info == nil || info.Mode.IsDir():
		s.deleted[path] = true
		if info != nil && s.isRepository(path) {
			s.nested[path] = true
		}
	default:
		s.files[path] = ""
	}
	return nil
}

// lstat returns the state of a file, or nil if there is none. There is none at a path that
// leads through a link or another file that is not a directory: it would be outside of the
// worktree.
func (s *saver) lstat(path string) (*index.FileStat, error) {
	if s.isBehindLink(filepath.Dir(path)) {
		return nil, nil
	}
	info, err := index.Lstat(filepath.Join(s.root, path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return &info, err
}

// isBehindLink reports whether a path, or one above it, exists and is not a directory.
func (s *saver) isBehindLink(dir string) bool {
	if dir == "." {
		return false
	}
	known, ok := s.linked[dir]
	if !ok {
		info, err := os.Lstat(filepath.Join(s.root, dir))
		known = err == nil && !info.IsDir() || s.isBehindLink(filepath.Dir(dir))
		s.linked[dir] = known
	}
	return known
}

func (s *saver) isRepository(path string) bool {
	_, err := os.Lstat(filepath.Join(s.root, path, ".git"))
	return err == nil
}

// overwrittenFiles returns the untracked files that another snapshot would overwrite if
// it were restored: those at its paths, below its files and repositories, and above any
// of them. secrets are those that it would overwrite by private files.
func (s *saver) overwrittenFiles(ctx context.Context, untracked []string) (files, secrets []string, err error) {
	if s.sel.Before == "" {
		return nil, nil, nil
	}
	p, err := ReadPaths(ctx, s.w.Repo, s.sel.Before)
	if err != nil {
		return nil, nil, err
	}
	at, above, private := map[string]bool{}, map[string]bool{}, map[string]bool{}
	add := func(path string, set map[string]bool) {
		set[path] = true
		for d := filepath.Dir(path); d != "." && !above[d]; d = filepath.Dir(d) {
			above[d] = true
		}
	}
	for _, path := range slices.Concat(p.Files, p.Nested) {
		add(path, at)
	}
	for _, path := range p.Empty {
		add(path, above) // if it is a directory, it may stay
	}
	for _, path := range p.Secrets {
		add(path, private)
	}
	for _, u := range untracked {
		if private[u] {
			secrets = append(secrets, u)
			continue
		}
		hit := at[u] || above[u]
		for d := filepath.Dir(u); d != "." && !hit; d = filepath.Dir(d) {
			hit = at[d] || private[d]
		}
		if hit {
			files = append(files, u)
		}
	}
	return files, secrets, nil
}
