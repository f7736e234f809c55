package git

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/croft-sh/croft/internal/failpoint"
	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitconfig"
)

// commonFile is a change of a file in the common directory, where agents can
// write: no link is followed, neither in the place of the file nor in that of a
// directory above it.
type commonFile struct {
	name  string // relative, with slashes
	limit int64
	// lock is the name of git's lock of the file; empty: git has none.
	lock string
}

// replaceText replaces the file by what becomes of it, in one step. What is not there
// is empty.
func (c commonFile) replaceText(r *Repository, becomes func(old string) string) error {
	root, err := os.OpenRoot(r.CommonDir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := makeDirs(root, path.Dir(c.name)); err != nil {
		return err
	}
	m, err := r.NewLease() // by which it is swept if this process dies
	if err != nil {
		return err
	}
	defer m.End()
	if err := m.WriteBusy([]string{c.nextName()}); err != nil {
		return err
	}
	next, release, err := c.createNext(root)
	if err != nil {
		return err
	}
	defer func() { release() }()
	if err := failpoint.Hit("common.begun"); err != nil {
		return err
	}
	old, err := fsx.ReadFile(r.CommonPath(c.name), c.limit)
	switch {
	case errors.Is(err, fsx.ErrNotRegular):
		return fmt.Errorf("%s: %w", r.CommonPath(c.name), fsx.ErrNotPlain)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	text := becomes(string(old))
	if err == nil && text == string(old) {
		return nil
	}
	mode := fs.FileMode(0o644)
	if info, err := root.Lstat(filepath.FromSlash(c.name)); err == nil {
		mode = info.Mode().Perm()
	}
	_, err = next.WriteString(text)
	if err = errors.Join(err, next.Chmod(mode), next.Close()); err != nil {
		return err
	}
	if err := root.Rename(next.name, filepath.FromSlash(c.name)); err != nil {
		return err
	}
	release = func() {} // a file of that name is somebody else's from now on
	return nil
}

// nextFile is a file that takes another one's place.
type nextFile struct {
	*os.File
	name string
}

// lockWait is how long somebody else's change of a file is waited for.
const lockWait = 2 * time.Second

// nextName is the name of the file that takes the other one's place: git's lock, or a
// file of Croft's own.
func (c commonFile) nextName() string {
	if c.lock != "" {
		return c.lock
	}
	return c.name + ".croft"
}

// createNext makes the file that takes the other one's place.
func (c commonFile) createNext(root *os.Root) (next nextFile, release func(), err error) {
	name := filepath.FromSlash(c.nextName())
	for deadline := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		if c.lock == "" {
			_ = root.Remove(name) // the caller holds the repository's lock
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return nextFile{f, name}, func() { _ = f.Close(); _ = root.Remove(name) }, nil
		}
		if !errors.Is(err, os.ErrExist) || time.Now().After(deadline) {
			return next, nil, err
		}
	}
}

// makeDirs makes directories below a root, and refuses one that is a link.
func makeDirs(root *os.Root, dir string) error {
	if dir == "." {
		return nil
	}
	if err := makeDirs(root, path.Dir(dir)); err != nil {
		return err
	}
	name := filepath.FromSlash(dir)
	if err := root.Mkdir(name, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if info, err := root.Lstat(name); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: %w", filepath.Join(root.Name(), name), errors.Join(err, fsx.ErrNotPlain))
	}
	return nil
}

// changeConfig changes the repository's configuration file.
func (r *Repository) changeConfig(becomes func(old string) string) error {
	return commonFile{name: "config", limit: gitconfig.MaxSize, lock: "config.lock"}.replaceText(r, becomes)
}

// addSetting adds a setting at the end, where it counts more than any before.
func addSetting(old string, e gitconfig.Entry) string {
	var b bytes.Buffer
	b.WriteString(old)
	if old != "" && !strings.HasSuffix(old, "\n") {
		b.WriteString("\n")
	}
	gitconfig.Write(&b, e)
	return b.String()
}
