package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/object"
)

// ErrChanging says that a worktree changed in each attempt to save it: the stored files
// would never have been its state.
var ErrChanging = errors.New("the worktree is changing while it is saved")

// attempts is how often Save tries in all if the worktree changes meanwhile.
const attempts = 4

// Save stores the state of a worktree and returns the commit. Every object is on disk
// before it is pinned. If the worktree changes while it is read Save tries again, four
// times in all, and then fails with ErrChanging. It fails with a *object.MissingError
// if staged content is neither in the repository nor in the file. A failed attempt
// leaves no private file.
func Save(ctx context.Context, w *git.Worktree, sel Selection) (Saved, error) {
	var err error
	for range attempts {
		s := &saver{w: w, sel: sel, root: w.Path, own: w.Admin, meta: Meta{Version: version}, removeCopy: func() {}}
		err = s.save(ctx)
		s.removeCopy()
		if err == nil {
			s.noteContents()
			return s.saved, nil
		}
		s.deleteSecrets()
		if ctx.Err() != nil || !isChangedMeanwhile(err) {
			return Saved{}, err
		}
	}
	return Saved{}, errors.Join(ErrChanging, err)
}

// isChangedMeanwhile reports whether an error means that the worktree changed while it
// was read, so that another attempt may succeed.
func isChangedMeanwhile(err error) bool {
	signs := []error{ErrChanging, errMended, io.ErrUnexpectedEOF, os.ErrNotExist, fsx.ErrNotRegular}
	return slices.ContainsFunc(signs, func(sign error) bool { return errors.Is(err, sign) })
}

func (s *saver) save(ctx context.Context) error {
	s.batch = s.w.Repo.Batch()
	if s.sel.Pin != nil {
		s.batch = s.w.Repo.PackBatch()
	}
	defer s.batch.Discard()
	s.began = time.Now()
	s.before = s.changeMarks()
	if err := s.noteIdentity(); err != nil {
		return err
	}
	if err := s.surveyIndex(ctx); err != nil {
		return err
	}
	var state []object.TreeEntry
	var parents []string
	err := runTogether(
		func() error { return s.surveyFiles(ctx) },
		func() (err error) { state, err = s.storeState(ctx); return err },
		func() (err error) { parents, err = s.w.Pending(ctx); return err },
	)
	if err != nil {
		return err
	}
	entries, err := s.storeRest()
	if err != nil {
		return err
	}
	s.saved.Changed = s.countChanged()
	if !slices.EqualFunc(s.before, s.changeMarks(), isSameMark) {
		return ErrChanging
	}
	if err := s.requirePresent(); err != nil {
		return err
	}
	tree, err := s.batch.WriteTree(append(entries, state...))
	if err != nil {
		return err
	}
	if s.reuseLast(ctx, tree) {
		return nil
	}
	s.saved.Commit, err = s.batch.WriteCommit(object.Commit{
		Tree: tree, Parents: parents, Signature: fmt.Sprintf("Croft <croft@localhost> %d +0000", time.Now().Unix()),
		Message: s.message(),
	})
	if err != nil {
		return err
	}
	if err := s.batch.Flush(); err != nil || s.sel.Pin == nil {
		return err
	}
	return s.sel.Pin(s.saved.Commit)
}

// runTogether runs functions concurrently and joins their errors.
func runTogether(steps ...func() error) error {
	errs := make([]error, len(steps))
	var wg sync.WaitGroup
	for i, step := range steps {
		wg.Go(func() { errs[i] = step() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// changeMarks returns the state of the admin files that change whenever git stages or
// commits something; nil for one that does not exist.
func (s *saver) changeMarks() []os.FileInfo {
	var list []os.FileInfo
	for _, name := range []string{"index", "HEAD", "logs/HEAD"} {
		info, _ := os.Lstat(filepath.Join(s.own, filepath.FromSlash(name)))
		list = append(list, info)
	}
	return list
}

func isSameMark(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// message returns the commit message, which Describe parses.
func (s *saver) message() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nFiles: %d\nBytes: %d", cmp.Or(s.sel.Message, "Snapshot"), s.saved.Changed, s.saved.Bytes)
	for _, note := range s.sel.Notes {
		if note[1] != "" {
			fmt.Fprintf(&text, "\n%s: %s", note[0], note[1])
		}
	}
	return text.String()
}

// saver is one snapshot in the making.
type saver struct {
	w     *git.Worktree
	own   string // the worktree's admin directory; w may have a copy of it
	sel   Selection
	root  string
	meta  Meta
	saved Saved
	batch *object.Batch
	began time.Time
	is    fsx.Identity // the identity of the worktree's directory

	before     []os.FileInfo // changeMarks before anything was read
	removeCopy func()        // removes the copy of the admin directory

	index       *index.Index
	plain       map[string]int            // files that git examines → their places in the index
	files       map[string]string         // paths that are stored as they are on disk → their objects, if known
	deleted     map[string]bool           // tracked paths without a file
	vanished    []string                  // directories that vanished while they were read
	nested      map[string]bool           // directories that are repositories of their own
	linked      map[string]bool           // directories → whether they, or one above them, are not directories
	gitlinks    map[string]bool           // paths of submodules
	convertible map[string]git.Conversion // files that git may write differently than they are stored
	intended    bool                      // the index has an intent-to-add entry
	staged      map[string]bool           // paths whose staged content differs from HEAD
	stored      []object.TreeEntry        // files that were stored
	secrets     []string                  // private files that were written for this snapshot
}

// surveyStaged notes the paths whose staged content differs from HEAD. A tree that
// cannot be read is no reason not to save the files.
func (s *saver) surveyStaged(ctx context.Context, tree string) {
	s.staged = map[string]bool{}
	if s.meta.Head.OID == "" { // there is no commit yet
		for _, e := range s.index.Entries {
			s.staged[e.Path] = true
		}
		return
	}
	changes, err := s.w.Repo.Diff(ctx, s.meta.Head.OID+"^{tree}", tree)
	if err != nil {
		return
	}
	for _, c := range changes {
		s.staged[c.Path] = true
	}
}

// countChanged counts the paths at which the worktree differs from its commit: staged,
// modified, deleted and untracked ones, each once. A file that git does not examine is
// stored in any case, and counts only if it exists and differs from the staged content:
// in a sparse checkout most of these do not exist.
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
		if s.sel.IsPlaced != nil && s.sel.IsPlaced(path) {
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

// A worktree that is moved away, or whose file system is unmounted, while Save reads it
// looks as if every file in it was deleted. Save must not store that: the files are only
// absent.

// noteIdentity notes the identity of the directory that is saved.
func (s *saver) noteIdentity() (err error) {
	if s.is = s.sel.Identity; s.is == "" {
		s.is, err = fsx.IdentityOf(s.root)
	}
	return err
}

// requirePresent fails if the directory is not at its path after everything was read,
// or was absent for a while meanwhile. The latter shows in paths that were absent then,
// exist now, and were not made in between.
func (s *saver) requirePresent() error {
	if !s.is.IsAt(s.root) {
		return fmt.Errorf("%s is not at its place any more: %w", s.root, ErrChanging)
	}
	clear(s.linked)
	for _, path := range slices.AppendSeq(s.vanished, maps.Keys(s.deleted)) {
		isFile := s.deleted[path] && !s.gitlinks[path]
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
