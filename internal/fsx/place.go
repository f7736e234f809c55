package fsx

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
)

// Content says how a new file gets the content of another one.
type Content string

// The ways of a content.
const (
	// ContentCopied: its bytes are copied. The kernel shares blocks where it can.
	ContentCopied Content = "copied"
	// ContentCloned: the file shares the blocks of the other one until one of both is
	// written. It fails with [ErrNoClone] where the file system cannot do that.
	ContentCloned Content = "cloned"
)

// ErrNoClone says that two files cannot share blocks: they lie on different file systems, or
// on one that cannot do it.
var ErrNoClone = errors.New("this file system shares no blocks between files")

// ErrChanging says that a file was written while it was read.
var ErrChanging = errors.New("the file was written while it was copied")

// Placed describes a file that was copied.
type Placed struct {
	Info os.FileInfo // of the original
	Sum  string      // the SHA-256 of the content in hex; empty for a clone, and above the limit
}

// Target says where a copy goes.
type Target struct {
	Tree *Tree
	Name string // must be free
}

// CopyFile makes a new file in another tree with the content, the permissions and the time of a regular file
// of this one. It has its name once it is whole: a process that is killed leaves nothing at the name, and at most a file in
// the directory of [Tree.StageIn]. At most limit bytes are
// copied, and a larger file is [ErrTooLarge]; a file of at most sum bytes gets a digest.
// Nothing is left of a copy that fails. A file that is written meanwhile is [ErrChanging].
func (f *Tree) CopyFile(name string, to Target, how Content, limit, sum int64) (Placed, error) {
	from, err := f.Dir(parentOf(name))
	if err != nil {
		return Placed{}, err
	}
	in, info, err := f.OpenRegular(from, name, os.O_RDONLY)
	if err != nil {
		return Placed{}, err
	}
	defer in.Close()
	if how == ContentCopied && info.Size() > limit {
		return Placed{Info: info}, fmt.Errorf("%s: %w", f.Path(name), ErrTooLarge)
	}
	placed := Placed{Info: info}
	err = to.Tree.addWhole(to.Name, func(out *os.File) (err error) {
		if _, err = in.Seek(0, io.SeekStart); err == nil {
			placed, err = fillFrom(in, out, info, how, sum)
		}
		return err
	})
	return placed, err
}

// fillFrom fills a new file, and sets its permissions and its time.
func fillFrom(in, out *os.File, info os.FileInfo, how Content, sum int64) (Placed, error) {
	placed := Placed{Info: info}
	var err error
	switch {
	case how == ContentCloned:
		if err := cloneInto(in, out); err != nil {
			return placed, fmt.Errorf("%w: %w", ErrNoClone, err)
		}
	case info.Size() <= sum:
		var h hash.Hash = sha256.New()
		// Most files are small: a buffer of their size instead of 32 KiB for each. out would choose one by itself.
		buffer := make([]byte, max(1, min(info.Size(), 64<<10)))
		_, err = io.CopyBuffer(struct{ io.Writer }{out}, io.TeeReader(io.LimitReader(in, info.Size()), h), buffer)
		placed.Sum = hex.EncodeToString(h.Sum(nil))
	default: // on Linux the kernel copies
		_, err = io.Copy(out, io.LimitReader(in, info.Size()))
	}
	if err != nil {
		return placed, err
	}
	now, err := in.Stat()
	if err == nil && (now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime())) {
		err = ErrChanging
	}
	if err == nil {
		err = out.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = setTime(out, info.ModTime())
	}
	return placed, err
}

// CopyLink makes a link in another tree, under the same name and to the same target. The name must be free.
func (f *Tree) CopyLink(name, target string, to *Tree) error {
	dir, err := to.MakeDir(parentOf(name))
	if err != nil {
		return err
	}
	return dir.Symlink(target, filepath.Base(filepath.FromSlash(name)))
}

// Lstat describes an entry. No link on the way to it is followed.
func (f *Tree) Lstat(name string) (os.FileInfo, error) {
	d, err := f.Dir(parentOf(name))
	if err != nil {
		return nil, err
	}
	return d.Lstat(filepath.Base(filepath.FromSlash(name)))
}

// Readlink returns the target of a link.
func (f *Tree) Readlink(name string) (string, error) {
	d, err := f.Dir(parentOf(name))
	if err != nil {
		return "", err
	}
	return d.Readlink(filepath.Base(filepath.FromSlash(name)))
}

// Symlink makes a link in a directory that is there. The name must be free.
func (f *Tree) Symlink(target, name string) error {
	d, err := f.Dir(parentOf(name))
	if err != nil {
		return err
	}
	return d.Symlink(target, filepath.Base(filepath.FromSlash(name)))
}

// Entries lists a directory, sorted by name.
func (f *Tree) Entries(path string) ([]os.DirEntry, error) {
	d, err := f.Dir(path)
	if err != nil {
		return nil, err
	}
	list, err := d.Open(".")
	if err != nil {
		return nil, err
	}
	defer list.Close()
	return list.ReadDir(-1)
}

// OpenTreeIs returns the tree below a directory, and fails with [ErrOther] if another one lies at
// its path than the one that was recorded.
func OpenTreeIs(path string, want Identity) (*Tree, error) {
	d, err := OpenDirIs(path, want)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	root, err := d.Root()
	if err != nil {
		return nil, err
	}
	t := OpenTree(path)
	t.held = root
	return t, nil
}

// Twin returns a tree of the same directory for another goroutine. It is closed by Close, before this tree is released.
func (f *Tree) Twin() *Tree {
	twin := OpenTree(f.root)
	twin.held, twin.stage = f.held, f.stage
	return twin
}

// Release closes a tree for good.
func (f *Tree) Release() {
	f.Close()
	if f.held != nil {
		_ = f.held.Close()
	}
}
