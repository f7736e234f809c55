package fsx

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Ledger records which files and directories were made where, one file each, in a
// directory of the host's own, which no agent can write. It does so before the record
// of such a thing can be written, so that the things which a dead process made are
// known.
type Ledger struct {
	Dir string
}

// Made is a file or directory that was made.
type Made struct {
	Path     string // where it was made; it may have been renamed since
	Identity Identity
}

// Put records under a name where a file or directory was made.
func (l Ledger) Put(name string, m Made) error {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return err
	}
	d, err := OpenOwn(l.Dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.WriteFile(name, []byte(string(m.Identity)+"\n"+m.Path), 0o600)
}

// Find returns the record of a name; the zero value if there is none.
func (l Ledger) Find(name string) Made {
	if !isName(name) {
		return Made{}
	}
	b, err := ReadFile(filepath.Join(l.Dir, name), 1<<16)
	id, path, ok := strings.Cut(string(b), "\n")
	if err != nil || !ok {
		return Made{}
	}
	return Made{path, Identity(id)}
}

// Delete deletes the record of a name, if there is one.
func (l Ledger) Delete(name string) error {
	if !isName(name) {
		return nameError("remove", name)
	}
	err := os.Remove(filepath.Join(l.Dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Names lists the names that have a record.
func (l Ledger) Names() ([]string, error) {
	entries, err := os.ReadDir(l.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// OpenOwn opens a directory of the host's own, which may lie behind links of
// the host's own: in its state, where no agent can write.
func OpenOwn(path string) (*Dir, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Dir{f, path}, nil
}
