package exchange

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/croft-sh/croft/internal/fsx"
)

// GoBack undoes a move, whole or half done, and deletes the directory of Croft's own. touched says that files had been
// moved. What somebody has written since then stays at its path, which is listed in left; what would be put back there
// is kept (see [Place]).
func (m *Move) GoBack() (touched bool, left []string) {
	_ = m.own.Remove(movedFile) // or a process that recovers would end the move
	back := func(deletes bool) {
		for i, f := range slices.Backward(m.Files) {
			if f.deletes() != deletes {
				continue
			}
			did, isLeft := m.putBack(i)
			touched = touched || did
			if isLeft {
				left = append(left, f.Path)
			}
		}
	}
	back(false)
	for _, dir := range m.NewDirs {
		if in, err := openBelow(m.work, path.Dir(dir)); err == nil {
			_ = in.RemoveEmpty(path.Base(dir))
			_ = in.Close()
		}
	}
	back(true) // a directory becomes the file again that it was
	m.discard()
	slices.Sort(left)
	return touched, left
}

// End ends a move: what came out is deleted. If somebody wrote it nevertheless, it is put back at its path; if that
// was written, too, it is kept and listed.
func (m *Move) End() (left []string) {
	for i, f := range m.Files {
		if f.adds() || m.sealed[i] || m.isMovedOut(i) {
			continue
		}
		if _, isLeft := m.putBack(i); isLeft {
			left = append(left, f.Path)
		}
	}
	m.discard()
	return left
}

// isMovedOut reports whether what is aside of a path is the file from before, so that nothing is lost with it; or nothing.
func (m *Move) isMovedOut(i int) bool {
	aside, name, err := m.aside(i)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer aside.Close()
	return !aside.Has(name) || m.isOld(aside, name, m.Files[i])
}

// discard deletes the directory of Croft's own, unless a file of others is still in it: the next [Recover] tries again.
// The list goes first: with it, and without what says that all files were moved, a process that recovers would undo
// the move.
func (m *Move) discard() {
	defer m.close()
	if m.isStuck {
		return
	}
	if err := m.own.Remove(listFile); err == nil || errors.Is(err, fs.ErrNotExist) {
		_ = fsx.RemoveOwn(m.at.Own)
	}
}

// Recover undoes a move whose process died, or ends it if all files had been moved. Without such a move it does nothing.
func Recover(at Place) (left []string, err error) {
	if !fsx.IsThere(filepath.Join(at.Own, listFile)) { // nothing was moved yet
		return nil, fsx.RemoveOwn(at.Own)
	}
	m, err := open(at)
	if err != nil {
		return nil, err
	}
	text, err := m.own.ReadFile(listFile, maxList)
	if err == nil {
		err = json.Unmarshal(text, &m.List)
	}
	if err != nil {
		return nil, errors.Join(err, m.keepAll())
	}
	if m.own.Has(movedFile) {
		return m.End(), nil
	}
	_, left = m.GoBack()
	return left, nil
}

// maxList is more than the list of any move takes.
const maxList = 1 << 30

// keepAll keeps all files of a move whose list cannot be read.
func (m *Move) keepAll() error {
	m.close()
	return m.at.Keep("", func(in *fsx.Dir, name string) error { return os.Rename(m.at.Own, filepath.Join(in.Path(), name)) })
}

// putBack puts what came out of a path back there, unless somebody has written there since then.
func (m *Move) putBack(i int) (touched, left bool) {
	f := m.Files[i]
	aside, name, err := m.aside(i)
	if err != nil {
		return false, false
	}
	defer aside.Close()
	switch {
	case f.adds():
		return m.takeOut(f, aside, name)
	case !aside.Has(name) || m.isNew(aside, name, f):
		return false, false // it was not moved
	case f.deletes():
		return true, !m.returnTo(f, aside, name)
	}
	return true, !m.exchangeBack(f, aside, name)
}

// takeOut takes an added file out again, if it is at its path as it was written.
func (m *Move) takeOut(f File, aside *fsx.Dir, name string) (touched, left bool) {
	in, err := openBelow(m.work, path.Dir(f.Path))
	if err != nil || aside.Has(name) {
		return false, false
	}
	defer in.Close()
	base := path.Base(f.Path)
	if now, err := in.Stat(base); err != nil || !now.IsSame(f.New) {
		return err == nil, false // it stays
	}
	if err := in.MoveNew(base, aside, name); err != nil {
		return true, false
	}
	if m.isNew(aside, name, f) {
		return true, false
	}
	if err := aside.MoveNew(name, in, base); err != nil {
		m.keep(f, aside, name)
		return true, true
	}
	return true, false
}

// returnTo puts a file back at a path where there is none. What is there stays.
func (m *Move) returnTo(f File, aside *fsx.Dir, name string) bool {
	m.remakeDirs()
	in, err := openBelow(m.work, path.Dir(f.Path))
	if err == nil {
		defer in.Close()
		_ = in.RemoveEmpty(path.Base(f.Path)) // the file had become a directory
		err = aside.MoveNew(name, in, path.Base(f.Path))
	}
	if err != nil {
		m.keep(f, aside, name)
	}
	return err == nil
}

// mostSaves is how often somebody may save a file while it is exchanged.
const mostSaves = 100

// exchangeBack exchanges the new file at a path with what came out of it. A file that somebody put there since then
// came later: it changes places with what was put back. It reports whether what came out is at the path.
func (m *Move) exchangeBack(f File, aside *fsx.Dir, name string) bool {
	in, err := openBelow(m.work, path.Dir(f.Path))
	if err != nil {
		return m.returnTo(f, aside, name)
	}
	defer in.Close()
	base := path.Base(f.Path)
	var last fsx.Identity // of what was put at the path before
	for range mostSaves {
		put, err := aside.IdentityOf(name)
		if err == nil {
			err = aside.Exchange(name, in, base)
		}
		if errors.Is(err, fs.ErrNotExist) { // the path is free
			if err = aside.MoveNew(name, in, base); err == nil {
				return true
			}
			if errors.Is(err, fs.ErrExist) {
				continue
			}
		}
		if err != nil {
			break
		}
		if m.isNew(aside, name, f) {
			return true
		}
		if out, err := aside.IdentityOf(name); err != nil || out == last {
			break
		}
		last = put
	}
	m.keep(f, aside, name)
	return false
}

// keep keeps a file that has no place: one of others, or the one from before.
func (m *Move) keep(f File, aside *fsx.Dir, name string) {
	err := m.at.Keep(f.Path, func(in *fsx.Dir, as string) error { return aside.MoveNew(name, in, as) })
	m.isStuck = m.isStuck || err != nil
}

// remakeDirs makes the directories again that were there before.
func (m *Move) remakeDirs() {
	dirs := make([]string, 0, len(m.Dirs))
	for dir := range m.Dirs {
		dirs = append(dirs, dir)
	}
	slices.SortFunc(dirs, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	for _, dir := range dirs {
		if in, err := openBelow(m.work, path.Dir(dir)); err == nil {
			if !in.Has(path.Base(dir)) {
				_ = in.MakeDirAs(path.Base(dir), m.Dirs[dir])
			}
			_ = in.Close()
		}
	}
}
