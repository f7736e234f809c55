package fsx

import (
	"errors"
	"io"
	"os"
)

// Copy makes a new file with the contents of a regular file, which shares its
// blocks where the file system can do that, and never its inode. What is to be
// copied is opened under the conditions of [ReadFile]. Nothing is left of a copy
// that fails.
func Copy(from, to string, perm os.FileMode) error {
	in, err := Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if cloneTo(in, to) == nil {
		return os.Chmod(to, perm)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if cloneInto(in, out) != nil {
		_, err = io.Copy(out, in)
	}
	if err = errors.Join(err, out.Chmod(perm), out.Close()); err != nil {
		_ = os.Remove(to)
	}
	return err
}
