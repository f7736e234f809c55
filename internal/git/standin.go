package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/isolated"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// An agent can exchange any file of its registration for a link while git is at
// work, and git opens them by path. So a git that changes a checkout is run with a
// git directory of Croft's own that stands in for the checkout's: it has a HEAD
// that Croft wrote, a copy of the index, and what git writes beside it. What comes
// of that is put into the checkout's own git directory by Croft, which holds that
// directory open.

// standIn makes the git directory that git is run with on the copy. HEAD is on a
// branch, or on a commit if there is none.
func (c *indexCopy) standIn(branch, commit string) error {
	if !c.repo.NativeRefs() { // HEAD is in no file
		return nil
	}
	dir := filepath.Join(c.q.Dir, "git")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	head := commit
	if branch != "" {
		head = "ref: " + headRef(branch)
	}
	if head == "" {
		return errors.New("a checkout without a branch has no commit")
	}
	err := os.WriteFile(filepath.Join(dir, "HEAD"), []byte(head+"\n"), 0o600)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "commondir"), []byte(c.repo.CommonDir+"\n"), 0o600)
	}
	if err == nil {
		err = c.copyBeside(dir)
	}
	if err == nil {
		c.stand = dir
	}
	return err
}

// copyBeside copies what git reads beside an index: which files a sparse checkout
// has, and the part of a split index that is shared.
func (c *indexCopy) copyBeside(dir string) error {
	if info, err := c.admin.OpenDir("info"); err == nil {
		defer info.Close()
		b, err := info.ReadFile("sparse-checkout", worktree.MaxAdmin)
		if err == nil {
			err = errors.Join(os.Mkdir(filepath.Join(dir, "info"), 0o700), os.WriteFile(filepath.Join(dir, "info", "sparse-checkout"), b, 0o600))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	names, err := c.admin.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "sharedindex.") {
			continue
		}
		if err := index.CopyFrom(c.admin, name, filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// deliver puts what git wrote of an act in progress into the checkout's own git
// directory.
func (c *indexCopy) deliver() error {
	if c.stand == "" {
		return nil
	}
	for _, name := range isolated.ProgressFiles {
		if strings.Contains(name, "/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(c.stand, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = c.admin.WriteFile(name, b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
