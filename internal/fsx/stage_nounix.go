//go:build !unix

package fsx

import (
	"os"
	"path/filepath"
)

// moveNew gives the file a second name first: a rename would replace what has the name.
func (f *Tree) moveNew(_, _ *TreeDir, name, newName string) error {
	top, err := f.Dir("")
	if err != nil {
		return err
	}
	from, to := filepath.FromSlash(name), filepath.FromSlash(newName)
	if top.Link(from, to) == nil {
		return top.Remove(from)
	}
	if _, err := top.Lstat(to); err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: os.ErrExist}
	}
	return top.Rename(from, to)
}

func exchange(_, _ *TreeDir, _, _ string) error { return ErrNoExchange }
