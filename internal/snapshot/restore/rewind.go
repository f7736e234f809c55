package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/snapshot"
)

// ErrAsWas says that a rewind failed, and that the checkout is as it was before.
var ErrAsWas = errors.New("the checkout is as it was")

// ErrWritten says that a file changed after it was saved.
var ErrWritten = errors.New("it was written after it was saved")

// ErrInTheWay says that an entry appeared where a rewind has to put a file.
var ErrInTheWay = errors.New("something appeared there that was not saved")

// KeptError says where a rewind left files that it could neither delete, because no
// snapshot has them, nor put back, because their paths were taken.
type KeptError struct{ Dir string }

func (e *KeptError) Error() string { return "what was written meanwhile is kept in " + e.Dir }

// The parts of the directory that a rewind works in. wasDir has files that were moved
// out of the checkout and are still needed, goneDir has files that a snapshot has too,
// newDir has files that were never in the checkout, and keptDir has files that no
// snapshot has.
const (
	wasDir  = "was"
	goneDir = "gone"
	newDir  = "new"
	keptDir = "kept"
)

// Rewinding is the input of Rewind.
type Rewinding struct {
	Files
	Now, To string // the snapshots of the checkout's present state, and of the one to restore
	// Aside is a directory of Croft's own, on the file system of the checkout.
	// [PutBack] settles what a process that died left there.
	Aside string
	// Seen is the state of the files when Now was saved. Without it every file that is
	// moved out is read, nested repositories count as saved, and a file that no snapshot
	// has does not make the rewind fail, but is kept, and a KeptError says where.
	Seen *snapshot.Seen
	// Also is another snapshot whose files are removed from the checkout.
	Also string
	// Last is called after every other step; it is not undone. If it fails, the
	// checkout is put back.
	Last func() error
}

// Rewind restores a snapshot over a checkout, in place. Ignored files stay. The present
// state was saved as another snapshot, and only files that one of the two snapshots has
// are removed.
//
// Rewind first writes the new files beside the checkout. Then it moves the old ones out
// of the checkout, one by one, and examines each after that: if it is not as it was
// saved, or if anything else fails, Rewind moves all of them back and returns ErrAsWas.
// After any other error PutBack has to put the checkout back.
func Rewind(ctx context.Context, how Rewinding) error {
	m := &rewinder{Rewinding: how, outDir: wasDir}
	m.saved = snapshot.ContentsOf(how.Worktree.Repo, how.Now, cmp.Or(how.Also, how.Now), how.To)
	defer m.close()
	if err := m.writeNewFiles(ctx); err != nil {
		return errors.Join(ErrAsWas, err, m.removeAside(newDir))
	}
	err := m.exchangeFiles(ctx)
	if err == nil {
		return m.deleteSaved()
	}
	if back := m.putBack(ctx); back != nil {
		return errors.Join(err, back)
	}
	return errors.Join(ErrAsWas, err, m.keepUnsaved())
}

// rewinder is the state of one rewind.
type rewinder struct {
	Rewinding
	staging string
	restore *restorer
	saved   *snapshot.Contents

	work, aside *fsx.Dir
	root        *os.Root        // the checkout
	known       snapshot.Paths  // the paths that are removed from the checkout
	isLeft      map[string]bool // paths of Also: the file is removed only if it was saved
	unsaved     []string        // paths that were moved out and are in no snapshot
	built       snapshot.Listing
	out         []movedOut
	outDir      string    // the part of Aside that has the files of out
	in          []string  // paths that were moved into the checkout
	dirs        []dirMode // directories that were made writable or removed, with their modes before, in this order
	others      []dirMode // other paths whose mode was changed
	isSwapped   bool      // the admin directory may have been replaced
}

// movedOut is a file or repository that was moved out of the checkout, with its state
// after the move.
type movedOut struct {
	path   string
	stat   index.FileStat
	nested snapshot.Listing // of a nested repository
}

// modeBits are the bits of a mode that chmod sets.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

type dirMode struct {
	path string
	mode fs.FileMode
}

// writeNewFiles writes the new files beside the checkout.
func (m *rewinder) writeNewFiles(ctx context.Context) error {
	w := m.Worktree
	var err error
	if m.work, err = fsx.OpenDir(w.Path); err != nil {
		return err
	}
	if m.aside, err = fsx.OpenDir(m.Aside); err != nil {
		return err
	}
	if m.root, err = m.work.Root(); err != nil {
		return err
	}
	for _, name := range []string{wasDir, newDir} {
		if err := m.aside.RemoveAll(name); err != nil { // PutBack has left nothing to keep in it
			return err
		}
		if err := m.aside.Mkdir(name, 0o700); err != nil {
			return err
		}
	}
	if err := m.listLeaving(ctx); err != nil {
		return err
	}
	if m.staging, err = stageAdmin(ctx, w, m.To); err != nil {
		return err
	}
	into := m.Files
	if into.Worktree, err = w.InDirectory(m.staging, filepath.Join(m.Aside, newDir)); err != nil {
		return err
	}
	meta, err := snapshot.ReadMeta(ctx, w.Repo, m.To)
	if err != nil {
		return err
	}
	m.restore = &restorer{Files: into, commit: m.To, meta: meta}
	fresh, err := m.aside.OpenDir(newDir)
	if err != nil {
		return err
	}
	defer fresh.Close()
	fresh.InheritAs(m.work)
	if m.restore.root, err = fresh.Root(); err != nil {
		return err
	}
	defer m.restore.root.Close()
	if err := m.restore.restoreAll(ctx); err != nil {
		return err
	}
	m.built, err = snapshot.ListBelow(into.Worktree.Path)
	return err
}

// listLeaving lists the paths that are removed: the files of the checkout, entries at
// the paths of the new files, and files where those need directories.
func (m *rewinder) listLeaving(ctx context.Context) error {
	to, err := snapshot.ReadPaths(ctx, m.Worktree.Repo, m.To)
	if err != nil {
		return err
	}
	to.Files = append(to.Files, to.Secrets...)
	isFile := map[string]bool{}
	for _, path := range to.Files {
		isFile[path] = true
	}
	m.isLeft = map[string]bool{}
	for _, commit := range slices.Compact([]string{m.Also, m.Now}) {
		if commit == "" || commit == m.To {
			continue
		}
		p, err := snapshot.ReadPaths(ctx, m.Worktree.Repo, commit)
		if err != nil {
			return err
		}
		for _, path := range p.Files {
			m.isLeft[path] = commit != m.Now
		}
		m.known.Files = append(m.known.Files, p.Files...)
		m.known.Nested = append(m.known.Nested, p.Nested...)
		m.known.Empty = append(m.known.Empty, p.Empty...)
		m.known.Modes = append(m.known.Modes, p.Modes...)
		for _, path := range p.Secrets { // private files stay, except in a directory where a file has to be
			if slices.ContainsFunc(withParents(filepath.Dir(path)), func(dir string) bool { return isFile[dir] }) {
				m.known.Files = append(m.known.Files, path)
			}
		}
	}
	for _, path := range withParents(slices.Concat(to.Files, to.Nested, to.Empty)...) {
		m.known.Files = append(m.known.Files, path)
		delete(m.isLeft, path)
	}
	m.known.Empty = append(m.known.Empty, to.Empty...)
	m.known.Modes = append(m.known.Modes, to.Modes...)
	if m.Seen == nil {
		m.known.Nested = append(m.known.Nested, to.Nested...)
	}
	m.known.Sort()
	return nil
}

// withParents adds to paths the directories that they lie in, up to the top.
func withParents(paths ...string) []string {
	list, above := paths, map[string]bool{".": true}
	for _, path := range paths {
		for d := filepath.Dir(path); !above[d]; d = filepath.Dir(d) {
			above[d] = true
			list = append(list, d)
		}
	}
	return list
}

// exchangeFiles moves the old files out and the new ones in.
func (m *rewinder) exchangeFiles(ctx context.Context) error {
	steps := []func(context.Context) error{m.moveOut, m.moveIn, m.setModes, m.requireUnwritten, m.markSaved, m.swapAdmin, m.requireUnwritten}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		if err := failpoint.Hit("snapshot.rewind"); err != nil {
			return err
		}
	}
	if m.Last == nil {
		return nil
	}
	return m.Last()
}

func (m *rewinder) setModes(ctx context.Context) error {
	for _, d := range m.restore.meta.Modes {
		if info, err := m.root.Lstat(string(d.Path)); err == nil && info.IsDir() {
			m.others = append(m.others, dirMode{string(d.Path), info.Mode() & modeBits})
		}
	}
	m.restore.root = m.root
	return m.restore.restoreModes(ctx)
}

// markSaved records, by renaming wasDir, that a snapshot has all files that were moved
// out: if the process dies after this, PutBack does not put them back.
func (m *rewinder) markSaved(context.Context) error {
	if err := m.aside.Replace(wasDir, goneDir); err != nil {
		return err
	}
	m.outDir = goneDir
	return nil
}

func (m *rewinder) swapAdmin(context.Context) error {
	staging, err := fsx.OpenOwn(m.staging)
	if err != nil {
		return err
	}
	err = staging.Remove("commondir") // it says where a worktree is
	if err = errors.Join(err, staging.Close()); err != nil {
		return err
	}
	m.isSwapped = true
	return swapStaged(m.Worktree, m.staging)
}

// requireUnwritten fails with ErrWritten if a process that had a file open has written to
// it since it was moved out.
func (m *rewinder) requireUnwritten(context.Context) error {
	for _, f := range m.out {
		if !f.isUnchanged(filepath.Join(m.Aside, m.outDir, f.path)) {
			return fmt.Errorf("%q: %w", f.path, ErrWritten)
		}
	}
	return nil
}

// isUnchanged reports whether a file or repository is still as it was after it was
// moved out.
func (f movedOut) isUnchanged(full string) bool {
	if f.nested == nil {
		now, err := index.Lstat(full)
		return err == nil && now.IsSame(f.stat)
	}
	held, err := snapshot.ListBelow(full)
	return err == nil && held.Equal(f.nested)
}

// deleteSaved deletes the old files that a snapshot has, after a last check.
func (m *rewinder) deleteSaved() error {
	var errs []error
	for _, f := range m.out {
		if slices.Contains(m.unsaved, f.path) || !f.isUnchanged(filepath.Join(m.Aside, m.outDir, f.path)) {
			errs = append(errs, keepFile(m.aside, m.outDir, f.path))
		}
	}
	kept := nameKept(m.aside)
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, kept)
	}
	_ = m.removeAside(goneDir) // if this fails, the next PutBack deletes it
	_ = m.removeAside(newDir)
	return kept
}

func (m *rewinder) removeAside(name string) error {
	if m.aside == nil {
		return nil
	}
	return m.aside.RemoveAll(name)
}

func (m *rewinder) close() {
	if m.staging != "" {
		_ = fsx.RemoveOwn(m.staging)
	}
	if m.root != nil {
		_ = m.root.Close()
	}
	for _, d := range []*fsx.Dir{m.work, m.aside} {
		if d != nil {
			_ = d.Close()
		}
	}
}
