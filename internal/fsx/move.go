package fsx

import (
	"errors"
	"io"
	"os"
)

// MoveOrCopy is [Dir.Move], to another file system if it has to be, and then of no more
// than limit bytes. Links, pipes and devices do not survive that; a failure may leave
// NEWNAME.half.
func (d *Dir) MoveOrCopy(name string, id Identity, to *Dir, newName string, limit int64) error {
	err := d.Move(name, id, to, newName)
	if err == nil || !IsOtherDevice(err) {
		return err
	}
	src, err := d.OpenDirIs(name, id)
	if err != nil {
		return err
	}
	defer src.Close()
	const half = ".half"
	if err := errors.Join(to.RemoveAll(newName+half), to.Mkdir(newName+half, 0o777)); err != nil {
		return err
	}
	dst, err := to.OpenDir(newName + half)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := src.CopyInto(dst, limit, nil); err != nil {
		return err
	}
	copied, err := dst.Identity()
	if err == nil {
		err = to.Move(newName+half, copied, to, newName)
	}
	if err != nil {
		return err
	}
	return d.RemoveTree(name, id, nil)
}

// CopyEntry copies a file or a link, with its mode and time.
func (d *Dir) CopyEntry(name string, to *Dir, newName string, was Entry) error {
	if was.Mode&os.ModeSymlink != 0 {
		target, err := d.Readlink(name)
		if err != nil {
			return err
		}
		return to.Symlink(target, newName)
	}
	in, err := d.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.Create(newName, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Chmod(was.Mode.Perm()), out.Close()); err != nil {
		return err
	}
	return to.Chtimes(newName, was.ModTime)
}

// WriteBelow writes a file in a directory below another one; "." is that one
// itself.
func (d *Dir) WriteBelow(sub, name string, data []byte) error {
	if sub == "." {
		return d.WriteFile(name, data, 0o666)
	}
	in, err := d.MakeBelow(sub, 0o777)
	if err != nil {
		return err
	}
	defer in.Close()
	return in.WriteFile(name, data, 0o666)
}
