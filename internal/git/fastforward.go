package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/exchange"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/writers"
)

// BranchCheckout is a user's checkout that has a branch checked out. Croft writes to it
// only to fast-forward it together with the branch.
type BranchCheckout struct {
	repo   *Repository
	gitDir string
	Path   string

	// InProgress says that a rebase or bisect of the branch is in progress there.
	InProgress bool

	// Kept are files of the user that have found no place here again, if no error names them: those of a process that
	// died, which Prepare finds, and what was saved at the very end, which Cancel does.
	Kept []exchange.Kept
}

// Hosts returns the checkouts that have a branch checked out.
func (r *Repository) Hosts(branch string) []*BranchCheckout {
	var hosts []*BranchCheckout
	for _, dir := range r.CheckedOut(branch, "") {
		h := &BranchCheckout{repo: r, gitDir: dir, Path: r.Root}
		if dir != r.CommonDir {
			b, err := fsx.ReadSmall(filepath.Join(dir, "gitdir"))
			if err != nil {
				continue
			}
			h.Path = filepath.Dir(strings.TrimSpace(string(b)))
			// A registration can name any directory, so the checkout has to name the
			// registration, too.
			if back, err := gitdir.ReadGitFile(filepath.Join(h.Path, ".git")); err != nil || back != dir {
				continue
			}
		}
		if _, err := os.Lstat(h.Path); err != nil {
			continue // the checkout is gone
		}
		h.InProgress = !r.HasCheckedOut(dir, branch)
		hosts = append(hosts, h)
	}
	return hosts
}

// HostDirtyError says that a checkout cannot be fast-forwarded, because that would touch
// changes of its user.
type HostDirtyError struct {
	Path  string   // of the checkout
	Files []string // in it
	Cause string
}

// Causes of a HostDirtyError.
const (
	overwritten = "changes of yours would be overwritten"
	inTheWay    = "files of yours are in the way"
)

func (e *HostDirtyError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Path, e.Cause, strings.Join(e.Files, ", "))
}

// FastForward is a checkout that is ready to be fast-forwarded. Its index is locked until
// Cancel, which the caller calls in any case.
type FastForward struct {
	*indexCopy
	host     *BranchCheckout
	old, now string

	changes []odb.Change
	undo    *hostUndo         // the files before Apply
	sums    map[string]string // the names of their contents
	move    *exchange.Move    // nil: git writes into the checkout
	index   *indexUndo        // the index before Apply; nil until then
}

// Prepare locks the index of a checkout and verifies that the checkout can be
// fast-forwarded from old to now without touching its user's changes. It fails with a
// *HostDirtyError if it cannot. Files that have their new content already are accepted, so
// that an interrupted fast-forward can be completed.
func (h *BranchCheckout) Prepare(ctx context.Context, old, now string) (*FastForward, error) {
	return h.prepare(ctx, old, now, func(*FastForward, context.Context) error { return nil })
}

// prepare is Prepare that calls first once the index is locked.
func (h *BranchCheckout) prepare(ctx context.Context, old, now string, first func(*FastForward, context.Context) error) (*FastForward, error) {
	if h.InProgress {
		return nil, h.inProgressError()
	}
	c, err := h.repo.copyIndex(checkoutAt{gitDir: h.gitDir, work: h.Path})
	if err != nil {
		return nil, err
	}
	a := &FastForward{indexCopy: c, host: h, old: old, now: now}
	for _, step := range []func(context.Context) error{
		a.lockIndex,
		a.recoverMove,
		func(ctx context.Context) error { return first(a, ctx) },
		func(context.Context) error { return a.copyIndex() },
		func(context.Context) error { return a.makeTempGitDir("", old) },
		a.lookAtFiles,
		a.requireFiles,
		a.chooseAside,
		a.linkFiles,
		a.checkCheckout,
	} {
		if err := step(ctx); err != nil {
			a.Cancel()
			if isUnwritable(err) {
				err = &HostWriteError{Path: h.Path, Err: err}
			}
			return nil, err
		}
	}
	return a, nil
}

// Cancel unlocks the index of the checkout and removes the copies.
func (a *FastForward) Cancel() {
	if a.move != nil {
		a.move.End()
		a.move = nil
	}
	if a.undo != nil {
		a.undo.discard()
		a.undo = nil
	}
	a.discard()
}

func (a *FastForward) checkCheckout(ctx context.Context) error {
	changes := a.changes
	staged := a.committedIndex(ctx)
	if staged == nil {
		if err := a.requireMerged(); err != nil {
			return err
		}
		if dirty, err := a.indexChanges(ctx, changes); err != nil || len(dirty) > 0 {
			return a.dirtyPaths(dirty, "staged changes of yours are in the way", err)
		}
	}
	if dirty := a.untrackedObstacles(changes); len(dirty) > 0 {
		return a.dirtyPaths(dirty, inTheWay, nil)
	}
	if staged != nil && a.noteUntouched(staged) {
		return nil
	}
	var paths []string
	for _, c := range changes {
		if info, err := os.Lstat(a.pathOf(c.Path)); err == nil && info.IsDir() && c.NewMode != odb.LinkMode && c.OldMode != odb.LinkMode {
			continue // a directory that is replaced by a file; read-tree checks it
		}
		paths = append(paths, c.Path)
	}
	if len(paths) == 0 {
		return nil
	}
	a.sumFiles()
	if err := a.forgetFiles(paths); err != nil {
		return err
	}
	if err := a.updatePaths(ctx, paths); err != nil {
		return err
	}
	dirty, err := a.stagedPaths(ctx, changes)
	return a.dirtyPaths(dirty, overwritten, err)
}

func (a *FastForward) dirtyPaths(files []string, cause string, err error) error {
	if err != nil || len(files) == 0 {
		return err
	}
	slices.Sort(files)
	return &HostDirtyError{Path: a.at.work, Files: slices.Compact(files), Cause: cause}
}

// committedIndex returns the copy of the index if that provably has the entries of the old commit and no others, or
// nil. It starts no process.
func (a *FastForward) committedIndex(ctx context.Context) *index.Flat {
	x, _, err := a.parseCopy()
	if err != nil || !x.IsPlain() {
		return nil
	}
	files, err := a.repo.OpenObjects()
	if err != nil {
		return nil
	}
	defer files.Close()
	if x.Tree(a.repo.ObjectFormat()) != verifiedTree(ctx, files, a.old) {
		return nil
	}
	return x
}

// stagedPaths lists the paths whose index entries are neither those of the old commit nor
// those of the new one.
func (a *FastForward) stagedPaths(ctx context.Context, changes []odb.Change) ([]string, error) {
	if a.committedIndex(ctx) != nil {
		return nil, nil
	}
	return a.indexChanges(ctx, changes)
}

// indexChanges is stagedPaths for any index, by git.
func (a *FastForward) indexChanges(ctx context.Context, changes []odb.Change) ([]string, error) {
	out, err := a.run(ctx, "", "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none", a.old)
	if err != nil {
		return nil, err
	}
	mine, err := odb.ParseRaw(out)
	if err != nil {
		return nil, err
	}
	touched := map[string]odb.Change{}
	parents := map[string]bool{}
	for _, c := range changes {
		touched[c.Path] = c
		for dir := gitdir.ParentDir(c.Path); dir != ""; dir = gitdir.ParentDir(dir) {
			parents[dir] = true
		}
	}
	var dirty []string
	for _, m := range mine {
		c, both := touched[m.Path]
		switch {
		case both && c.NewMode == m.NewMode && c.NewOID == m.NewOID:
		case both || parents[m.Path] && !m.Deletes() || !m.Deletes() && isBelowNewFile(m.Path, touched):
			dirty = append(dirty, m.Path)
		}
	}
	return dirty, nil
}

// isBelowNewFile reports whether a path is below one that becomes a file.
func isBelowNewFile(path string, touched map[string]odb.Change) bool {
	for dir := gitdir.ParentDir(path); dir != ""; dir = gitdir.ParentDir(dir) {
		if c, ok := touched[dir]; ok && !c.Deletes() {
			return true
		}
	}
	return false
}

// untrackedObstacles lists untracked files where directories are needed, and untracked
// files in directories that become files. Git itself would overwrite those that are
// ignored.
func (a *FastForward) untrackedObstacles(changes []odb.Change) []string {
	goes := map[string]bool{}
	for _, c := range changes {
		if c.Deletes() {
			goes[c.Path] = true
		}
	}
	var dirty []string
	for _, c := range changes {
		if c.Deletes() {
			continue
		}
		for dir := gitdir.ParentDir(c.Path); dir != ""; dir = gitdir.ParentDir(dir) {
			if info, err := os.Lstat(a.pathOf(dir)); err == nil && !info.IsDir() && !goes[dir] {
				dirty = append(dirty, dir)
			}
		}
		if info, err := os.Lstat(a.pathOf(c.Path)); err != nil || !info.IsDir() || c.NewMode == odb.LinkMode {
			continue
		}
		_ = filepath.WalkDir(a.pathOf(c.Path), func(p string, d fs.DirEntry, err error) error {
			rel, relErr := filepath.Rel(a.at.work, p)
			if err != nil || relErr != nil || !d.IsDir() && !goes[filepath.ToSlash(rel)] {
				dirty = append(dirty, filepath.ToSlash(rel))
			}
			return nil
		})
	}
	return dirty
}

// Apply writes the files and the index of the new commit. The caller calls it while the
// branch is locked and before it moves: a crash leaves the changes of the new commit
// uncommitted. After a move, it would leave changes that undo that commit. The index
// stays locked until Cancel, so no process commits before the branch has moved.
//
// If something cannot be written, Apply restores the checkout and fails with a
// *HostWriteError, which names what could not be restored; or with a *HostDirtyError, if
// changes of the user prevent the write by now.
func (a *FastForward) Apply(ctx context.Context) error {
	err := a.write(ctx)
	if err == nil {
		return nil
	}
	touched, unwritten := a.restore(err)
	unwritten.Needs = a.bytesNeeded(ctx)
	if dirty, ok := errors.AsType[*HostDirtyError](err); ok && len(unwritten.Left) == 0 {
		return dirty
	}
	if touched || isUnwritable(err) {
		return unwritten
	}
	if err := a.checkCheckout(ctx); err != nil {
		if dirty, ok := errors.AsType[*HostDirtyError](err); ok {
			return dirty
		}
	}
	if failed, ok := errors.AsType[*gitcmd.Error](err); ok && failed.ExitCode == 128 {
		if files := namedFiles(failed.Stderr); len(files) > 0 {
			return &HostDirtyError{Path: a.at.work, Files: files, Cause: overwritten}
		}
	}
	return unwritten
}

func (a *FastForward) write(ctx context.Context) error {
	did, err := a.writeAside(ctx)
	if err == nil && !did {
		err = a.writeInPlace(ctx)
	}
	if err == nil {
		err = failpoint.Hit("host.written")
	}
	if err != nil {
		return err
	}
	was, err := a.readIndex()
	if err != nil {
		return err
	}
	a.index = &was
	return a.replaceIndex()
}

// writeInPlace has git write the files. What a user saves by a rename meanwhile is lost: see writeAside.
func (a *FastForward) writeInPlace(ctx context.Context) error {
	if _, err := a.run(ctx, "", "read-tree", "-m", "-u", a.old, a.now); err != nil {
		return err
	}
	if err := a.undo.requireDeleted(a.changes); err != nil {
		return err
	}
	if late := a.undo.writtenLate(); len(late) > 0 {
		return a.dirtyPaths(late, overwritten, nil)
	}
	return nil
}

// readIndex reads the index file and its mtime, so that Undo can restore them. Without an
// index it returns the zero indexUndo.
func (a *FastForward) readIndex() (indexUndo, error) {
	f, err := a.admin.Open("index")
	if errors.Is(err, os.ErrNotExist) {
		return indexUndo{}, nil
	}
	if err != nil {
		return indexUndo{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return indexUndo{}, err
	}
	data, err := io.ReadAll(io.LimitReader(f, index.MaxSize))
	return indexUndo{data, info.ModTime()}, err
}

// Undo restores the checkout as it was before Apply, because the branch did not move. It
// fails with a *HostWriteError if something could not be restored.
func (a *FastForward) Undo(cause error) error {
	if _, failed := a.restore(cause); len(failed.Left) > 0 {
		return failed
	}
	return nil
}

// restore restores the checkout. touched says that something had changed, failed what
// could not be restored.
func (a *FastForward) restore(cause error) (touched bool, failed *HostWriteError) {
	failed = &HostWriteError{Path: a.at.work, Err: cause}
	if a.undo == nil {
		return false, failed
	}
	if a.move != nil {
		was := len(a.host.Kept)
		touched, failed.Left = a.move.GoBack()
		if a.move = nil; len(a.host.Kept) > was {
			failed.Kept = a.host.takeKept()
		}
	} else {
		touched, failed.Left = a.undo.restoreAll()
	}
	if a.index != nil {
		if err := a.restoreIndex(*a.index); err != nil {
			failed.Err = errors.Join(cause, err)
		}
		a.index = nil
	}
	if len(failed.Left) > 0 && failed.Kept == "" {
		failed.Kept = a.undo.keepOriginals()
	}
	a.undo.discard()
	a.undo = nil
	return touched, failed
}

// bytesNeeded returns the size of the new files, as far as it is known.
func (a *FastForward) bytesNeeded(ctx context.Context) (size int64) {
	for _, c := range a.changes {
		if !c.Deletes() && c.NewMode != odb.LinkMode {
			if o, err := a.repo.Info(ctx, c.NewOID); err == nil {
				size += o.Size
			}
		}
	}
	return size
}

// isUnwritable reports whether a write failed by an error of the system and not by a
// refusal of git.
func isUnwritable(err error) bool {
	return slices.ContainsFunc([]error{
		gitcmd.KindNoSpace, gitcmd.KindIO, gitcmd.KindDenied, gitcmd.KindBusy, os.ErrPermission,
		syscall.ENOSPC, syscall.EIO, syscall.EROFS, syscall.EBUSY,
	}, func(target error) bool { return errors.Is(err, target) })
}

// namedFiles parses the paths in git's message of refusal.
func namedFiles(stderr string) []string {
	var files []string
	for line := range strings.Lines(stderr) {
		if _, rest, ok := strings.Cut(line, "'"); ok {
			if name, _, ok := strings.Cut(rest, "'"); ok {
				files = append(files, name)
			}
		} else if strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "  ") {
			files = append(files, strings.TrimSpace(line))
		}
	}
	return files
}

// DeleteDeadLock removes the index lock that a killed Croft process left on a checkout, so that
// its fast-forward can be completed.
func (h *BranchCheckout) DeleteDeadLock(ctx context.Context) error {
	name := h.repo.LockName(filepath.Join(h.gitDir, gitdir.IndexLock))
	return h.repo.EachDeadLease(ctx, func(dead writers.Dead) bool {
		if !dead.IsKept || !slices.Contains(dead.Locks, name) {
			return false
		}
		_, err := exchange.Recover(h.place())
		return err == nil && h.repo.DeleteIndexLocks(dead)
	})
}
