package snapshot

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
)

// ErrAsWas says that a rewind failed, and that the checkout is as it was before.
var ErrAsWas = errors.New("the checkout is as it was")

// ErrWritten says that a file is not what was saved of it any more.
var ErrWritten = errors.New("it was written after it was saved")

// ErrInTheWay says that something appeared where a rewind has to put a file.
var ErrInTheWay = errors.New("something appeared there that was not saved")

// KeptError says where files are that a rewind could neither delete, because they
// are in no snapshot, nor put back, because something else is at their paths.
type KeptError struct{ Dir string }

func (e *KeptError) Error() string { return "what was written meanwhile is kept in " + e.Dir }

// The parts of the directory that a rewind works in. What is in wasDir has gone
// from the checkout and is still needed, what is in goneDir is in a snapshot, and
// what is in newDir has never been handed out. What nobody else has is in keptDir.
const (
	wasDir  = "was"
	goneDir = "gone"
	newDir  = "new"
	keptDir = "kept"
)

// Rewind makes a checkout what a snapshot says, in place: files that git
// ignores stay. What the checkout holds now was saved as another snapshot, and
// only what that one or the other knows is removed.
//
// The new files are written beside the checkout first. Then the old ones are moved
// out of it, one by one, and each is looked at after that: if it is not what was
// saved, or if anything else fails, all are moved back, and the error is ErrAsWas.
// An error that is not leaves it to PutBack to bring about.
func Rewind(ctx context.Context, now, to string, files Files) error {
	m := &rewinder{Files: files, now: now, to: to, outDir: wasDir}
	m.saved = contents{repo: files.Worktree.Repo, commits: []string{now, cmp.Or(files.Also, now), to}}
	defer m.close()
	if err := m.writeNewFiles(ctx); err != nil {
		return errors.Join(ErrAsWas, err, m.disposeOf(newDir))
	}
	err := m.exchangeFiles(ctx)
	if err == nil {
		return m.deleteSaved()
	}
	if back := m.putBack(ctx); back != nil {
		return errors.Join(err, back)
	}
	return errors.Join(ErrAsWas, err, m.keepSetAside())
}

// rewinder is one rewind.
type rewinder struct {
	Files
	now, to string
	staging string
	restore *restorer
	saved   contents

	work, aside *fsx.Dir
	root        *os.Root        // the checkout
	known       paths           // what goes from it
	modes       []string        // what has a mode of its own
	isLeft      map[string]bool // what goes only if it was saved
	unsaved     []string        // what went, and was not saved
	built       map[string]index.FileStat
	out         []movedOut
	outDir      string    // where that is
	in          []string  // what was moved into the checkout
	dirs        []dirMode // directories that were changed for that, in this order
	others      []dirMode // what else has another mode
	isSwapped   bool      // the admin directory may be another
}

// movedOut is a file that was moved out of the checkout, as it was after that.
type movedOut struct {
	path   string
	stat   index.FileStat
	nested map[string]index.FileStat // of a repository
}

// modeBits are what can be set of a mode.
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
		if err := m.aside.RemoveAll(name); err != nil { // PutBack has left nothing in them
			return err
		}
		if err := m.aside.Mkdir(name, 0o700); err != nil {
			return err
		}
	}
	if err := m.listLeaving(ctx); err != nil {
		return err
	}
	if m.staging, err = stageAdmin(ctx, w, m.to); err != nil {
		return err
	}
	into := m.Files
	if into.Worktree, err = w.Elsewhere(m.staging, filepath.Join(m.Aside, newDir)); err != nil {
		return err
	}
	meta, err := readMeta(ctx, w.Repo, m.to)
	if err != nil {
		return err
	}
	m.restore = &restorer{Files: into, commit: m.to, meta: meta}
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
	m.built, err = listBelow(into.Worktree.Path)
	return err
}

// listLeaving finds out what goes: what the checkout holds, what is at the paths of the new
// files, and files where they need directories.
func (m *rewinder) listLeaving(ctx context.Context) error {
	r := m.Worktree.Repo
	commits := []string{m.now, m.to}
	if m.Also != "" && m.Also != m.now {
		commits = append(commits, m.Also)
	}
	n := 0 // how many the first two know
	isFile := map[string]bool{}
	var private []string // what was saved apart
	for i, commit := range commits {
		if i == 2 {
			n = len(m.known.files)
		}
		meta, err := readMeta(ctx, r, commit)
		if err != nil {
			return err
		}
		p, err := restorablePaths(ctx, r, commit, meta, parts...)
		if err != nil {
			return err
		}
		m.known.files = append(m.known.files, p.files...)
		m.known.empty = append(m.known.empty, p.empty...)
		for _, d := range meta.Modes {
			m.modes = append(m.modes, string(d.Path))
		}
		if commit != m.to || m.Seen == nil {
			m.known.nested = append(m.known.nested, p.nested...)
		}
		if commit != m.to {
			for _, path := range meta.Secrets {
				private = append(private, filepath.FromSlash(string(path)))
			}
			continue
		}
		for _, path := range meta.Secrets {
			p.files = append(p.files, filepath.FromSlash(string(path)))
		}
		for _, path := range p.files {
			isFile[path] = true
		}
		above := map[string]bool{".": true}
		for _, path := range slices.Concat(p.files, p.nested, p.empty) {
			m.known.files = append(m.known.files, path)
			for d := filepath.Dir(path); !above[d]; d = filepath.Dir(d) {
				above[d] = true
				m.known.files = append(m.known.files, d)
			}
		}
	}
	for _, path := range private { // which stays, but for the directory that it is in
		for d := filepath.Dir(path); d != "."; d = filepath.Dir(d) {
			if isFile[d] {
				m.known.files = append(m.known.files, path)
				break
			}
		}
	}
	m.isLeft = map[string]bool{}
	if len(commits) > 2 {
		needed := map[string]bool{}
		for _, path := range m.known.files[:n] {
			needed[path] = true
		}
		for _, path := range m.known.files[n:] {
			m.isLeft[path] = !needed[path]
		}
	}
	for _, list := range []*[]string{&m.known.files, &m.known.nested, &m.known.empty} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return nil
}

// exchangeFiles moves the old files out and the new ones in.
func (m *rewinder) exchangeFiles(ctx context.Context) error {
	steps := []func(context.Context) error{m.moveOut, m.moveIn, m.setModes, m.lookAgain, m.notePastReturn, m.swapAdmin, m.lookAgain}
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

// notePastReturn notes that all that was moved out is in a snapshot: from here on a process
// that dies leaves nothing that has to be put back.
func (m *rewinder) notePastReturn(context.Context) error {
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
	err = staging.Remove("commondir") // it says where a worktree lies
	if err = errors.Join(err, staging.Close()); err != nil {
		return err
	}
	m.isSwapped = true
	return swapStaged(m.Worktree, m.staging)
}

// lookAgain looks whether somebody who had a file open has written to it since it
// was moved out.
func (m *rewinder) lookAgain(context.Context) error {
	for _, f := range m.out {
		if !f.isStill(filepath.Join(m.Aside, m.outDir, f.path)) {
			return fmt.Errorf("%q: %w", f.path, ErrWritten)
		}
	}
	return nil
}

// isStill reports whether what was moved out is as it was then.
func (f movedOut) isStill(full string) bool {
	if f.nested == nil {
		now, err := index.Lstat(full)
		return err == nil && now.IsAs(f.stat)
	}
	held, err := listBelow(full)
	return err == nil && isSame(held, f.nested)
}

// deleteSaved deletes what is in a snapshot, after a last look.
func (m *rewinder) deleteSaved() error {
	var errs []error
	for _, f := range m.out {
		if slices.Contains(m.unsaved, f.path) || !f.isStill(filepath.Join(m.Aside, m.outDir, f.path)) {
			errs = append(errs, m.keepFile(m.outDir, f.path))
		}
	}
	kept := m.nameKept()
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, kept)
	}
	_ = m.disposeOf(goneDir) // or whoever comes next does
	_ = m.disposeOf(newDir)
	return kept
}

func (m *rewinder) disposeOf(name string) error {
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
