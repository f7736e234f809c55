package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// errNoUnnamed says that a file cannot be made without a name here.
var errNoUnnamed = errors.New("this file system makes no files without a name")

// ErrNoExchange says that two files cannot change places in one step here.
var ErrNoExchange = errors.New("this file system exchanges no files")

// halfSuffix ends the names of files that are not whole yet, in the directory of a tree for them.
const halfSuffix = ".half"

// StageIn sets the directory at the top of the tree in which new files lie until they are whole, on systems that
// make no files without a name. It is made when it is needed. Without one they lie beside their places, and nothing
// deletes what a killed process leaves there.
func (f *Tree) StageIn(dir string) { f.stage = dir }

// ClearStage deletes the files in the directory of [Tree.StageIn] that dead processes have left there and that are not
// whole, and the directory itself if it is empty. It returns the names of the other entries.
func (f *Tree) ClearStage() (others []string, err error) {
	entries, err := f.Entries(f.stage)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrNotPlain) || IsNoPath(err) {
		return nil, nil
	}
	for _, e := range entries {
		if rest, isHalf := strings.CutSuffix(e.Name(), halfSuffix); isHalf && len(rest) == len(randomName()) && e.Type().IsRegular() {
			err = errors.Join(err, f.Remove(f.stage+"/"+e.Name()))
			continue
		}
		others = append(others, e.Name())
	}
	if err == nil && len(others) == 0 {
		f.closeDir(f.stage)
		if top, terr := f.Dir(""); terr == nil {
			_ = top.rmdir(f.stage)
		}
	}
	return others, err
}

// addWhole makes a file that has its name once fill has filled it. Where that is not possible without a name, fill may be
// called a second time, with another file.
func (f *Tree) addWhole(name string, fill func(*os.File) error) error {
	dir, err := f.MakeDir(parentOf(name))
	if err != nil {
		return err
	}
	err = dir.addUnnamed(filepath.Base(filepath.FromSlash(name)), fill)
	if errors.Is(err, errNoUnnamed) {
		err = f.addStaged(name, fill)
	}
	return err
}

// addStaged makes a file in the directory for files that are not whole yet, and moves it to its place.
func (f *Tree) addStaged(name string, fill func(*os.File) error) error {
	half := randomName() + halfSuffix
	if f.stage != "" {
		half = f.stage + "/" + half
	} else if dir := parentOf(name); dir != "" {
		half = dir + "/" + half
	}
	dir, err := f.MakeDir(parentOf(half))
	if err != nil {
		return err
	}
	out, err := dir.OpenFile(filepath.Base(half), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(fill(out), out.Close()); err == nil {
		err = f.MoveNew(half, name)
	}
	if err != nil {
		_ = f.Remove(half)
	}
	return err
}

// both opens the directories of two names, of which none is closed by the opening of the other.
func (f *Tree) both(a, b string) (*TreeDir, *TreeDir, error) {
	for range 3 { // the second may close the first, and then there is room
		of, err := f.Dir(parentOf(a))
		if err != nil {
			return nil, nil, err
		}
		to, err := f.Dir(parentOf(b))
		if err != nil {
			return nil, nil, err
		}
		if f.dirs[parentOf(a)] == of {
			return of, to, nil
		}
	}
	return nil, nil, &os.PathError{Op: "open", Path: f.Path(b), Err: ErrTooLarge}
}

// MoveNew renames an entry of the tree. It fails with [os.ErrExist] if the new name is taken.
func (f *Tree) MoveNew(name, newName string) error {
	from, to, err := f.both(name, newName)
	if err != nil {
		return err
	}
	return f.moveNew(from, to, name, newName)
}

// Exchange lets two entries of the tree change places in one step. It fails with [ErrNoExchange] where that is not possible.
func (f *Tree) Exchange(a, b string) error {
	of, to, err := f.both(a, b)
	if err != nil {
		return err
	}
	return exchange(of, to, filepath.Base(filepath.FromSlash(a)), filepath.Base(filepath.FromSlash(b)))
}
