package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Host is somebody's checkout in which a branch is checked out. It is written
// only to go along when that branch is moved forward.
type Host struct {
	repo   *Repository
	gitDir string
	Path   string

	// InProgress says that the branch is being rebased or bisected there.
	InProgress bool
}

// Hosts finds the checkouts in which a branch is checked out.
func (r *Repository) Hosts(branch string) []*Host {
	var hosts []*Host
	for _, dir := range r.CheckedOut(branch, "") {
		h := &Host{repo: r, gitDir: dir, Path: r.Root}
		if dir != r.CommonDir {
			b, err := readSmall(filepath.Join(dir, "gitdir"))
			if err != nil {
				continue
			}
			h.Path = filepath.Dir(strings.TrimSpace(string(b)))
			// A registration can name any directory; a checkout names its
			// registration in turn.
			if back, err := readGitFile(filepath.Join(h.Path, ".git")); err != nil || back != dir {
				continue
			}
		}
		if _, err := os.Lstat(h.Path); err != nil {
			continue // only the registration is left of it
		}
		h.InProgress = !r.isOn(dir, branch)
		hosts = append(hosts, h)
	}
	return hosts
}

// HostDirtyError says that a checkout cannot go along, because what its user
// changed would be touched.
type HostDirtyError struct {
	Path  string   // of the checkout
	Files []string // in it
	Cause string
}

func (e *HostDirtyError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Path, e.Cause, strings.Join(e.Files, ", "))
}

// Advance is a checkout that is ready to go along. Its index is locked until
// Cancel, which is called whatever becomes of it.
type Advance struct {
	*indexCopy
	old, now string
}

// Prepare locks a checkout's index and makes sure that the checkout can go from
// one commit to a later one without touching anything of its user's. It fails
// with a *HostDirtyError if it cannot. Files that are already as they will be
// are fine: that is how an interrupted move is finished.
func (h *Host) Prepare(ctx context.Context, old, now string) (*Advance, error) {
	return h.prepare(ctx, old, now, func(*Advance, context.Context) error { return nil })
}

// prepare prepares a move; first is done once the index is locked.
func (h *Host) prepare(ctx context.Context, old, now string, first func(*Advance, context.Context) error) (*Advance, error) {
	if h.InProgress {
		return nil, &HostDirtyError{Path: h.Path, Cause: "a rebase or bisect of the branch is in progress"}
	}
	c, err := h.repo.copyIndex(checkoutAt{gitDir: h.gitDir, work: h.Path})
	if err != nil {
		return nil, err
	}
	a := &Advance{c, old, now}
	err = a.takeLock(ctx, keptAfter)
	if errors.Is(err, ErrIndexLocked) {
		err = &HostDirtyError{Path: h.Path, Cause: "another git is at work there (index.lock)"}
	}
	if err == nil {
		err = first(a, ctx)
	}
	if err == nil {
		err = a.load()
	}
	if err == nil {
		err = a.standIn("", old)
	}
	if err == nil {
		err = a.check(ctx)
	}
	if err != nil {
		a.discard()
		return nil, err
	}
	return a, nil
}

// Cancel lets go of the checkout.
func (a *Advance) Cancel() { a.discard() }

func (a *Advance) check(ctx context.Context) error {
	changes, err := a.repo.Diff(ctx, a.old, a.now)
	if err != nil {
		return err
	}
	if dirty, err := a.staged(ctx, changes); err != nil || len(dirty) > 0 {
		return a.dirty(dirty, "staged changes of yours are in the way", err)
	}
	if dirty := a.obstacles(changes); len(dirty) > 0 {
		return a.dirty(dirty, "files of yours are in the way", nil)
	}
	var paths []string
	for _, c := range changes {
		if info, err := os.Lstat(filepath.Join(a.at.work, filepath.FromSlash(c.Path))); err == nil && info.IsDir() && c.NewMode != linkMode && c.OldMode != linkMode {
			continue // a directory that makes room; read-tree looks at it
		}
		paths = append(paths, c.Path)
	}
	if len(paths) == 0 {
		return nil
	}
	// An agent may have forged what the index notes of files, so git is to read
	// them: it takes what is not older than the index for changed.
	if err := os.Chtimes(a.file(), time.Unix(1, 0), time.Unix(1, 0)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := a.update(ctx, paths); err != nil {
		return err
	}
	dirty, err := a.staged(ctx, changes)
	return a.dirty(dirty, "changes of yours would be overwritten", err)
}

func (a *Advance) dirty(files []string, cause string, err error) error {
	if err != nil || len(files) == 0 {
		return err
	}
	slices.Sort(files)
	return &HostDirtyError{Path: a.at.work, Files: slices.Compact(files), Cause: cause}
}

// staged lists the paths in the index that stand in the way: neither as they
// were in the old commit nor as they are in the new one.
func (a *Advance) staged(ctx context.Context, changes []Change) ([]string, error) {
	out, err := a.run(ctx, "", "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none", a.old)
	if err != nil {
		return nil, err
	}
	mine, err := parseRaw(out)
	if err != nil {
		return nil, err
	}
	touched := map[string]Change{}
	parents := map[string]bool{}
	for _, c := range changes {
		touched[c.Path] = c
		for dir := parent(c.Path); dir != ""; dir = parent(dir) {
			parents[dir] = true
		}
	}
	var dirty []string
	for _, m := range mine {
		c, both := touched[m.Path]
		switch {
		case both && c.NewMode == m.NewMode && c.NewOID == m.NewOID:
		case both || parents[m.Path] && !m.Deletes() || !m.Deletes() && under(m.Path, touched):
			dirty = append(dirty, m.Path)
		}
	}
	return dirty, nil
}

// under reports whether a path lies below one that becomes a file.
func under(path string, touched map[string]Change) bool {
	for dir := parent(path); dir != ""; dir = parent(dir) {
		if c, ok := touched[dir]; ok && !c.Deletes() {
			return true
		}
	}
	return false
}

// parent is the directory of a slashed path, or empty.
func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)]
}

// obstacles lists files that git does not track where directories are needed,
// and files in directories that have to make room. Git itself would overwrite
// those that it ignores.
func (a *Advance) obstacles(changes []Change) []string {
	goes := map[string]bool{}
	for _, c := range changes {
		if c.Deletes() {
			goes[c.Path] = true
		}
	}
	at := func(path string) string { return filepath.Join(a.at.work, filepath.FromSlash(path)) }
	var dirty []string
	for _, c := range changes {
		if c.Deletes() {
			continue
		}
		for dir := parent(c.Path); dir != ""; dir = parent(dir) {
			if info, err := os.Lstat(at(dir)); err == nil && !info.IsDir() && !goes[dir] {
				dirty = append(dirty, dir)
			}
		}
		if info, err := os.Lstat(at(c.Path)); err != nil || !info.IsDir() || c.NewMode == linkMode {
			continue
		}
		_ = filepath.WalkDir(at(c.Path), func(p string, d fs.DirEntry, err error) error {
			rel, relErr := filepath.Rel(a.at.work, p)
			if err != nil || relErr != nil || !d.IsDir() && !goes[filepath.ToSlash(rel)] {
				dirty = append(dirty, filepath.ToSlash(rel))
			}
			return nil
		})
	}
	return dirty
}

// Apply writes the files and the index of the new commit. It is called when the
// branch is locked, before it moves: whoever looks after a crash sees changes
// that are yet to be committed, never the undoing of what was. The index stays
// locked until Cancel, so that nobody commits before the branch has moved.
func (a *Advance) Apply(ctx context.Context) error {
	if _, err := a.run(ctx, "", "read-tree", "-m", "-u", a.old, a.now); err != nil {
		if failed, ok := errors.AsType[*Error](err); ok && failed.ExitCode == 128 {
			return &HostDirtyError{Path: a.at.work, Files: namedFiles(failed.Stderr), Cause: "changes of yours would be overwritten"}
		}
		return err
	}
	return a.place()
}

// namedFiles takes the paths out of what git says when it refuses.
func namedFiles(stderr string) []string {
	var files []string
	for line := range strings.Lines(stderr) {
		if _, rest, ok := strings.Cut(line, "'"); ok {
			if name, _, ok := strings.Cut(rest, "'"); ok {
				files = append(files, name)
			}
		} else if strings.HasPrefix(line, "\t") {
			files = append(files, strings.TrimSpace(line))
		}
	}
	return files
}

// DropLock removes a lock that a killed Croft left on a checkout's index for
// whoever finishes what it had begun.
func (h *Host) DropLock(ctx context.Context) error {
	name := h.repo.lockName(filepath.Join(h.gitDir, indexLock))
	return h.repo.eachDead(ctx, func(dead remains) bool {
		return dead.isKept && slices.Contains(dead.locks, name) && h.repo.dropHolds(dead)
	})
}
