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

// commonFile is a file in the common directory, where agents can write. No symbolic link
// is followed, neither at the path of the file nor at a directory above it.
type commonFile struct {
	name  string // relative, with slashes
	limit int64
	// lock is git's lock file for it; empty: git has none.
	lock string
}

// replaceText replaces the file atomically by becomes(old); old is "" if the file does not
// exist.
func (c commonFile) replaceText(r *Repository, becomes func(old string) string) error {
	root, err := os.OpenRoot(r.CommonDir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := makeDirs(root, path.Dir(c.name)); err != nil {
		return err
	}
	m, err := r.NewLease() // if this process dies, the file is swept by the lease
	if err != nil {
		return err
	}
	defer m.End()
	if err := m.WriteBusy([]string{c.tempName()}); err != nil {
		return err
	}
	next, release, err := c.createTemp(root)
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
	release = func() {} // a file of that name belongs to another process from now on
	return nil
}

// tempFile is the new content of a file before it is renamed into place.
type tempFile struct {
	*os.File
	name string
}

// lockWait is how long a lock of another process is waited for.
const lockWait = 2 * time.Second

// tempName returns the name of the file that is renamed into place: git's lock file, or
// one of Croft's own.
func (c commonFile) tempName() string {
	if c.lock != "" {
		return c.lock
	}
	return c.name + ".croft"
}

// createTemp creates the file that is renamed into place.
func (c commonFile) createTemp(root *os.Root) (next tempFile, release func(), err error) {
	name := filepath.FromSlash(c.tempName())
	for deadline := time.Now().Add(lockWait); ; time.Sleep(10 * time.Millisecond) {
		if c.lock == "" {
			_ = root.Remove(name) // left by a dead process: the caller holds the repository's lock
		}
		f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return tempFile{f, name}, func() { _ = f.Close(); _ = root.Remove(name) }, nil
		}
		if !errors.Is(err, os.ErrExist) || time.Now().After(deadline) {
			return next, nil, err
		}
	}
}

// makeDirs makes directories below a root, and refuses symbolic links.
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

// addSetting appends a setting, so that it overrides those before it.
func addSetting(old string, e gitconfig.Entry) string {
	var b bytes.Buffer
	b.WriteString(old)
	if old != "" && !strings.HasSuffix(old, "\n") {
		b.WriteString("\n")
	}
	gitconfig.Write(&b, e)
	return b.String()
}
