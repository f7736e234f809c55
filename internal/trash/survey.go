package trash

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/croft-sh/croft"
	"github.com/croft-sh/croft/internal/checkout/worktree"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/journal"
	"github.com/croft-sh/croft/internal/project"
	"github.com/croft-sh/croft/internal/provision"
)

// survey is a description of a directory in the trash. No process is expected to write
// there, so a survey is made once and cached beside the database.
type survey struct {
	RemovedAt time.Time `json:"removedAt"` // identifies the removal
	amount

	IsJudged    bool     `json:"isJudged,omitempty"`    // the fields below are set
	IsDirty     bool     `json:"isDirty,omitempty"`     // it has work that only a snapshot keeps
	Patterns    []string `json:"patterns,omitempty"`    // by which directories were found
	Chosen      []string `json:"chosen,omitempty"`      // by which ignored files count as work
	Regenerable []part   `json:"regenerable,omitempty"` // that can be made again
}

// amount is a size.
type amount struct {
	Bytes  int64 `json:"bytes"`
	Inodes int64 `json:"inodes"`
}

func (a *amount) add(b amount)      { a.Bytes, a.Inodes = a.Bytes+b.Bytes, a.Inodes+b.Inodes }
func (a *amount) subtract(b amount) { a.Bytes, a.Inodes = a.Bytes-b.Bytes, a.Inodes-b.Inodes }

// part is a directory of a checkout.
type part struct {
	Path string `json:"path"` // with slashes
	amount
}

// SurveyFile is the file that caches the survey of a removed workspace.
func (svc *Trash) SurveyFile(id croft.ID) string {
	return filepath.Join(svc.Settings.Config().StateDir, "trash", string(id)+".json")
}

// readSurvey reads the cached survey of the same removal.
func (svc *Trash) readSurvey(rec journal.Record) (survey, bool) {
	var s survey
	b, err := os.ReadFile(svc.SurveyFile(rec.Workspace.ID))
	if err != nil || json.Unmarshal(b, &s) != nil || !s.RemovedAt.Equal(rec.Trash.RemovedAt) {
		return survey{}, false
	}
	return s, true
}

// writeSurvey caches a survey. A failure is ignored: the survey is made again.
func (svc *Trash) writeSurvey(id croft.ID, s survey) {
	file := svc.SurveyFile(id)
	b, err := json.Marshal(s)
	if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	tmp := file + "." + string(project.NewID())
	if os.WriteFile(tmp, b, 0o600) != nil || os.Rename(tmp, file) != nil {
		_ = os.Remove(tmp)
	}
}

// measureDirectory returns the size of a directory in the trash.
func (svc *Trash) measureDirectory(ctx context.Context, rec journal.Record) (survey, error) {
	if s, ok := svc.readSurvey(rec); ok {
		return s, nil
	}
	s := survey{RemovedAt: rec.Trash.RemovedAt}
	err := s.walk(ctx, rec.Trash.Dir, func(string) bool { return false })
	if err == nil {
		svc.writeSurvey(rec.Workspace.ID, s)
	}
	return s, err
}

// judgeDirectory surveys a directory in the trash: its size, whether it has uncommitted
// work, and what can be made again. It uses the cache.
func (svc *Trash) judgeDirectory(ctx context.Context, r *project.Project, rec journal.Record) (survey, error) {
	if s, ok := svc.readSurvey(rec); ok && s.IsJudged && slices.Equal(s.Patterns, r.Config.Trash.Regenerable) && slices.Equal(s.Chosen, chosenPatterns(r)) {
		return s, nil
	}
	return svc.judgeAnew(ctx, r, rec)
}

// judgeAnew is judgeDirectory without the cache.
func (svc *Trash) judgeAnew(ctx context.Context, r *project.Project, rec journal.Record) (survey, error) {
	patterns := r.Config.Trash.Regenerable
	s := survey{RemovedAt: rec.Trash.RemovedAt, IsJudged: true, Patterns: patterns, Chosen: chosenPatterns(r)}
	tree := filepath.Join(rec.Trash.Dir, "tree")
	if info, err := os.Lstat(tree); err != nil || !info.IsDir() {
		// It is gone, or a link is in its place.
		err := s.walk(ctx, rec.Trash.Dir, func(string) bool { return false })
		return s, err
	}
	p, err := svc.openTrashed(ctx, r, rec)
	if err != nil {
		return s, err
	}
	defer func() { _ = p.Close() }()
	if p.Unreadable != "" {
		return s, staysError(rec, "its directory stays in the trash, because git cannot read its index", errors.New(p.Unreadable))
	}
	index, err := p.Index(ctx)
	if err != nil {
		return s, err
	}
	ignored, err := p.IgnoredDirs(ctx)
	if err != nil {
		return s, err
	}
	chosen, err := svc.chosenFiles(ctx, r, rec, p)
	if err != nil {
		return s, err
	}
	f := finder{tree: tree, patterns: patterns, ignored: map[string]bool{}, tracked: map[string]bool{}}
	for _, dir := range ignored {
		f.ignored[dir] = true
	}
	for _, entry := range index.Entries {
		f.markKept(entry.Path)
	}
	for _, name := range chosen {
		f.markKept(name)
	}
	if err := s.walk(ctx, rec.Trash.Dir, f.isRegenerable); err != nil {
		return s, err
	}
	if s.IsDirty, err = isDirty(ctx, p, rec, index); err != nil {
		return s, err
	}
	s.IsDirty = s.IsDirty || len(chosen) > 0
	if !s.IsDirty {
		inside, err := p.SubmoduleWork(ctx)
		if err != nil {
			return s, err
		}
		s.IsDirty = len(inside) > 0 // a snapshot keeps submodules whole
	}
	s.IsDirty = s.IsDirty || len(p.Faults) > 0 // an entry was staged that is left out
	svc.writeSurvey(rec.Workspace.ID, s)
	return s, nil
}

// Read lets git read the directory of a removed workspace in the trash, without a lock: a
// concurrent gc may make it fail.
func (svc *Trash) Read(ctx context.Context, r *project.Project, rec journal.Record, use func(*git.Worktree) error) error {
	if err := project.CheckTrashed(rec); err != nil {
		return err
	}
	p, err := svc.openTrashedAs(ctx, r, rec, worktree.Admin(string(rec.Workspace.ID))+"."+string(project.NewID()))
	if err != nil {
		return err
	}
	return errors.Join(use(p.Worktree), p.Close())
}

// openTrashed opens a directory in the trash as a git worktree.
func (svc *Trash) openTrashed(ctx context.Context, r *project.Project, rec journal.Record) (*git.TrashedGit, error) {
	return svc.openTrashedAs(ctx, r, rec, worktree.Admin(string(rec.Workspace.ID)))
}

// openTrashedAs opens a directory in the trash, with a name for the temporary admin
// directory that no other process uses at the same time.
func (svc *Trash) openTrashedAs(ctx context.Context, r *project.Project, rec journal.Record, name string) (*git.TrashedGit, error) {
	return r.Git.OpenTrashed(ctx, git.Trashed{
		Name: name, Admin: filepath.Join(rec.Trash.Dir, "admin"), Tree: filepath.Join(rec.Trash.Dir, "tree"),
		Head: svc.Removals.Archived(ctx, r, project.ArchiveRef(rec.Workspace.ID), rec.Trash.Tip),
	})
}

// isDirty reports whether a checkout has uncommitted work. Files that Croft placed there do
// not count.
func isDirty(ctx context.Context, p *git.TrashedGit, rec journal.Record, index *index.Index) (bool, error) {
	if p.HasOperationInProgress() {
		return true, nil
	}
	for entry, err := range p.Status(ctx, git.UntrackedAll, git.RefreshNothing) {
		if err != nil {
			return false, err
		}
		ours := entry.Path == project.StateFile || isPlaced(p.Path, rec, entry.Path)
		if !entry.IsUntracked() && !entry.Hidden || !ours {
			return true, nil
		}
	}
	for _, entry := range index.Entries { // skip-worktree and assume-unchanged entries
		if entry.Hidden && !isPlaced(p.Path, rec, entry.Path) && fsx.IsThere(filepath.Join(p.Path, filepath.FromSlash(entry.Path))) {
			return true, nil
		}
	}
	return false, nil
}

// maxPlaced bounds the size of a file that Croft puts into a workspace.
const maxPlaced = 4 << 20

// isPlaced reports whether a file is a role file with the content that Croft wrote.
func isPlaced(tree string, rec journal.Record, name string) bool {
	if !slices.Contains(rec.RoleFiles, name) {
		return false
	}
	data, err := fsx.ReadFile(filepath.Join(tree, filepath.FromSlash(name)), maxPlaced)
	return err == nil && provision.Digest(data) == rec.RoleSums[name]
}

// finder finds the directories of a checkout that can be made again.
type finder struct {
	tree     string
	patterns []string
	ignored  map[string]bool // directories in which git ignores everything
	tracked  map[string]bool // directories that hold tracked files, or ignored ones that are kept
}

// markKept notes the directories above a file that is kept.
func (f finder) markKept(name string) {
	for dir := path.Dir(name); !f.tracked[dir]; dir = path.Dir(dir) {
		f.tracked[dir] = true
	}
}

// isRegenerable reports whether a directory can be made again: git ignores it, it has no
// tracked file and no ignored one that is kept, it is not and is not in a repository of its own, and its name matches
// trash.regenerable or it has a CACHEDIR.TAG. A tag alone is not enough: what git would
// show as untracked may be work.
func (f finder) isRegenerable(dir string) bool {
	if f.tracked[dir] {
		return false
	}
	named := f.ignored[dir] && slices.ContainsFunc(f.patterns, func(p string) bool { return matchDir(p, dir) })
	return (named || f.isIgnored(dir) && isCache(f.at(dir))) && !f.isInRepository(dir)
}

func (f finder) at(dir string) string { return filepath.Join(f.tree, filepath.FromSlash(dir)) }

// isIgnored reports whether git ignores all of a directory, by a rule for it or for one
// above.
func (f finder) isIgnored(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if f.ignored[dir] {
			return true
		}
	}
	return false
}

// isInRepository reports whether a directory is or is in a repository inside the checkout,
// whose own rules say what is tracked.
func (f finder) isInRepository(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if fsx.IsThere(filepath.Join(f.at(dir), ".git")) {
			return true
		}
	}
	return false
}

// matchDir matches a name, or with a slash in the pattern the whole path.
func matchDir(pattern, dir string) bool {
	if !strings.Contains(pattern, "/") {
		dir = path.Base(dir)
	}
	ok, err := path.Match(strings.Trim(pattern, "/"), dir)
	return err == nil && ok
}

// cacheTag is how the file CACHEDIR.TAG begins in a directory that holds
// nothing but what can be made again (https://bford.info/cachedir/).
const cacheTag = "Signature: 8a477f597d28d172789f06886806bc55"

func isCache(dir string) bool {
	file := filepath.Join(dir, "CACHEDIR.TAG")
	f, err := fsx.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, len(cacheTag))
	_, err = io.ReadFull(f, b)
	return err == nil && string(b) == cacheTag
}

// walk adds up the size of a directory of the trash, and that of the regenerable
// directories in it. Entries that cannot be read are left out.
func (s *survey) walk(ctx context.Context, dir string, regenerable func(dir string) bool) error {
	tree := filepath.Join(dir, "tree") + string(filepath.Separator)
	var within string // the regenerable directory that the walk is in
	return filepath.WalkDir(dir, func(full string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if errors.Is(err, os.ErrNotExist) && full == dir {
				return err
			}
			return nil
		}
		one := amount{Inodes: 1}
		if d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				one.Bytes = info.Size()
			}
		}
		s.add(one)
		if within != "" && !strings.HasPrefix(full, within) {
			within = ""
		}
		if rel, ok := strings.CutPrefix(full, tree); ok && within == "" && d.IsDir() && regenerable(filepath.ToSlash(rel)) {
			within = full + string(filepath.Separator)
			s.Regenerable = append(s.Regenerable, part{Path: filepath.ToSlash(rel)})
		}
		if within != "" {
			s.Regenerable[len(s.Regenerable)-1].add(one)
		}
		return nil
	})
}
