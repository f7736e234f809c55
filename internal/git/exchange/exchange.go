// Package exchange puts files that were written elsewhere into a directory in which others write at any moment, so
// that nothing of theirs is lost. A file changes places with the one at its path in one step, and what came out is
// looked at: if it is not the one that was expected, all files go back. Where nobody expects a file, none is replaced.
//
// What came out stays in a directory of Croft's own, with a list of the files, until the whole move is done. So a
// move whose process died is undone, or ended, by the next one: see [Recover].
package exchange

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
)

// File is a file of a move. Without Was there is none at its path before, without New none afterwards.
type File struct {
	Path string    `json:"path"` // from the directory, with slashes
	Was  fsx.Entry `json:"was"`
	New  fsx.Entry `json:"new"`

	WasSum string `json:"was_sum"` // of the content
	NewSum string `json:"new_sum"` // if its time does not tell whether it was written again
}

func (f File) adds() bool    { return f.Was.Identity == "" }
func (f File) deletes() bool { return f.New.Identity == "" }

// List are the files of a move, and the directories above them.
type List struct {
	Files   []File                 `json:"files"`
	Dirs    map[string]os.FileMode `json:"dirs"`     // the modes of those that were there
	NewDirs []string               `json:"new_dirs"` // those that were not, the deepest first
}

// Place is where files are moved.
type Place struct {
	Work string // the directory of others
	Own  string // the directory of Croft's own, on the same file system

	// Sum returns a name of the content of a file or a link.
	Sum func(in *fsx.Dir, name string, e fsx.Entry) (string, error)
	// Keep has a file of others that cannot get its path back moved to a place of its own; of a path "" a whole move.
	Keep func(file string, move func(in *fsx.Dir, name string) error) error
}

// TakenError says that somebody has written a file meanwhile.
type TakenError struct {
	Path string
	Adds bool // there was none
}

func (e *TakenError) Error() string { return e.Path + ": it was written meanwhile" }

// ErrCannot says that files cannot be exchanged where they lie.
var ErrCannot = errors.New("the file systems cannot exchange files")

// The entries of a directory of Croft's own.
const (
	newDir    = "new"   // the files that were written, by their paths; later those that came out
	goneDir   = "gone"  // files that came out and have no other in their place, by number
	listFile  = "files" // the list, from before the first file is moved
	movedFile = "moved" // says that all files were moved, and looked at
)

// Move is a move of files.
type Move struct {
	List
	at        Place
	work, own *fsx.Dir
	fresh     *fsx.Dir     // newDir
	gone      *fsx.Dir     // goneDir
	sealed    map[int]bool // what came out, and no process can write any more
	isStuck   bool         // a file of others could not be kept
}

// New makes the directory of Croft's own. The files are to be written to [Move.Dir] then. It fails with [ErrCannot] where the
// file system of that directory exchanges nothing, and has made nothing then.
func New(at Place) (*Move, error) {
	if err := os.MkdirAll(filepath.Dir(at.Own), 0o700); err != nil {
		return nil, err
	}
	for _, dir := range []string{"", newDir, goneDir} {
		if err := os.Mkdir(filepath.Join(at.Own, dir), 0o700); err != nil {
			return nil, err
		}
	}
	if err := tryExchange(at.Own); err != nil {
		return nil, errors.Join(err, fsx.RemoveOwn(at.Own))
	}
	return open(at)
}

// tryExchange exchanges two entries of a directory of Croft's own that are empty and alike.
func tryExchange(own string) error {
	in, err := fsx.OpenOwn(own)
	if err != nil {
		return err
	}
	defer in.Close()
	if err = failpoint.Hit("host.tried"); err == nil {
		err = in.Exchange(newDir, in, goneDir)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCannot, err)
	}
	return nil
}

func open(at Place) (*Move, error) {
	m := &Move{at: at, sealed: map[int]bool{}}
	var err error
	if m.own, err = fsx.OpenOwn(at.Own); err == nil {
		m.fresh, err = m.own.OpenDir(newDir)
	}
	if err == nil {
		m.gone, err = m.own.OpenDir(goneDir)
	}
	if err == nil {
		m.work, err = fsx.OpenDir(at.Work)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *Move) close() {
	for _, d := range []*fsx.Dir{m.work, m.fresh, m.gone, m.own} {
		if d != nil {
			_ = d.Close()
		}
	}
}

// Dir is where the new files are to be written, at their paths.
func (m *Move) Dir() string { return filepath.Join(m.at.Own, newDir) }

// CanBe reports whether files that were written to Dir would be those that are written in their place: on the same
// file system, and with the group, rules of access and security label that each of the directories gives. Those are
// all that are there above the files.
func (m *Move) CanBe(dirs map[string]os.FileMode) bool {
	m.fresh.InheritAs(m.work)
	if !fsx.IsSameDevice(m.at.Own, m.at.Work) || !m.fresh.MakesAs(m.work) {
		return false
	}
	for dir := range dirs {
		in, err := openBelow(m.work, dir)
		if err != nil {
			return false
		}
		isAlike := m.fresh.MakesAs(in)
		_ = in.Close()
		if !isAlike {
			return false
		}
	}
	return true
}

// Written returns a file in Dir.
func (m *Move) Written(file string) (fsx.Entry, error) {
	in, err := openBelow(m.fresh, path.Dir(file))
	if err != nil {
		return fsx.Entry{}, err
	}
	defer in.Close()
	return in.Stat(path.Base(file))
}

// Apply moves the files. If it fails, [Move.GoBack] has to follow: with a [TakenError] if somebody has written one of
// them meanwhile, with [ErrCannot] if files cannot be exchanged there.
func (m *Move) Apply(list List) error {
	m.List = list
	for i, f := range m.Files {
		if f.deletes() || fsx.IsSettled(f.New.ModTime, time.Now()) {
			continue
		}
		if err := m.sumNew(&m.Files[i]); err != nil {
			return err
		}
	}
	err := m.writeList()
	if err == nil {
		err = failpoint.Hit("host.aside")
	}
	for _, deletes := range []bool{true, false} { // a file can become a directory, and the reverse
		for i, f := range m.Files {
			if f.deletes() != deletes || err != nil {
				continue
			}
			if err = m.move(i); err == nil {
				err = failpoint.Hit("host.moved")
			}
		}
	}
	for i := range m.Files {
		if err == nil {
			err = m.requireOld(i)
		}
	}
	if err != nil {
		return err
	}
	return m.own.WriteFile(movedFile, nil, 0o600)
}

func (m *Move) writeList() error {
	text, err := json.Marshal(m.List)
	if err != nil {
		return err
	}
	return m.own.WriteFile(listFile, text, 0o600)
}

func (m *Move) sumNew(f *File) error {
	in, err := openBelow(m.fresh, path.Dir(f.Path))
	if err != nil {
		return err
	}
	defer in.Close()
	f.NewSum, err = m.at.Sum(in, path.Base(f.Path), f.New)
	return err
}

// move moves one file, and looks at what came out.
func (m *Move) move(i int) error {
	f := m.Files[i]
	aside, name, err := m.aside(i)
	if err != nil {
		return err
	}
	defer aside.Close()
	open := openBelow
	if f.adds() {
		open = makeBelow
	}
	in, err := open(m.work, path.Dir(f.Path))
	if err != nil {
		return m.taken(f, err)
	}
	defer in.Close()
	base := path.Base(f.Path)
	switch {
	case f.deletes():
		if err = in.MoveNew(base, aside, name); err == nil {
			defer m.removeEmpty(path.Dir(f.Path))
		}
	case f.adds():
		err = aside.MoveNew(name, in, base)
		if errors.Is(err, fs.ErrExist) { // an empty directory that could not be removed says why
			switch rerr := in.RemoveEmpty(base); {
			case rerr == nil:
				err = aside.MoveNew(name, in, base)
			case errors.Is(rerr, fs.ErrPermission):
				return rerr
			}
		}
		return m.taken(f, err)
	default:
		err = aside.Exchange(name, in, base)
	}
	if err != nil {
		return m.taken(f, err)
	}
	if out, err := aside.Stat(name); err != nil || !out.IsSame(f.Was) {
		return errors.Join(&TakenError{Path: f.Path}, err)
	}
	return nil
}

// taken returns the error of a file that could not be moved.
func (m *Move) taken(f File, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, fsx.ErrLink):
		return &TakenError{f.Path, f.adds()}
	case fsx.CannotExchange(err):
		return fmt.Errorf("%w: %w", ErrCannot, err)
	}
	return err
}

// removeEmpty removes a directory, and those above it, as long as nothing is in them: git does so, too.
func (m *Move) removeEmpty(dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		in, err := openBelow(m.work, path.Dir(dir))
		if err != nil {
			return
		}
		err = in.RemoveEmpty(path.Base(dir))
		_ = in.Close()
		if err != nil {
			return
		}
	}
}

// requireOld fails with a TakenError unless what came out of a path is what was expected, and no process can write
// it any more: nobody has it open for writing, and it has no path by which it could be opened.
func (m *Move) requireOld(i int) error {
	f := m.Files[i]
	if f.adds() {
		return nil
	}
	aside, name, err := m.aside(i)
	if err != nil {
		return err
	}
	defer aside.Close()
	writers := fsx.WritersNone
	if f.Was.Mode.IsRegular() {
		writers = aside.WritersOf(name)
	}
	if writers == fsx.WritersSome || !m.isUnwritten(aside, name, f.Was, f.WasSum) {
		return &TakenError{Path: f.Path}
	}
	m.sealed[i] = writers == fsx.WritersNone
	return nil
}

// aside opens the directory in which a file is before it is moved, or what came out afterwards.
func (m *Move) aside(i int) (*fsx.Dir, string, error) {
	if f := m.Files[i]; !f.deletes() {
		in, err := openBelow(m.fresh, path.Dir(f.Path))
		return in, path.Base(f.Path), err
	}
	in, err := m.gone.OpenBelow(".")
	return in, strconv.Itoa(i), err
}

func (m *Move) isOld(in *fsx.Dir, name string, f File) bool {
	return f.Was.Identity != "" && !isBeingWritten(in, name, f.Was) && m.isUnwritten(in, name, f.Was, f.WasSum)
}

func (m *Move) isNew(in *fsx.Dir, name string, f File) bool {
	if f.New.Identity == "" || isBeingWritten(in, name, f.New) {
		return false
	}
	if f.NewSum != "" {
		return m.isUnwritten(in, name, f.New, f.NewSum)
	}
	now, err := in.Stat(name)
	return err == nil && now.IsSame(f.New)
}

func isBeingWritten(in *fsx.Dir, name string, e fsx.Entry) bool {
	return e.Mode.IsRegular() && in.WritersOf(name) == fsx.WritersSome
}

// isUnwritten reports whether an entry is a file that was seen, and nobody has written it.
func (m *Move) isUnwritten(in *fsx.Dir, name string, was fsx.Entry, sum string) bool {
	now, err := in.Stat(name)
	if err != nil || !now.IsSame(was) {
		return false
	}
	got, err := m.at.Sum(in, name, now)
	return err == nil && got == sum
}

func openBelow(d *fsx.Dir, dir string) (*fsx.Dir, error) { return d.OpenBelow(filepath.FromSlash(dir)) }

func makeBelow(d *fsx.Dir, dir string) (*fsx.Dir, error) { return makeBelowAs(d, dir, 0o777) }

func makeBelowAs(d *fsx.Dir, dir string, mode os.FileMode) (*fsx.Dir, error) {
	if dir == "." {
		return d.OpenBelow(".")
	}
	return d.MakeBelow(filepath.FromSlash(dir), mode)
}
