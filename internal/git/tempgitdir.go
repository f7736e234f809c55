package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// An agent can replace any file of its admin directory by a symbolic link while git runs,
// and git opens files by path. So a git that changes a checkout is run with a temporary
// git directory of Croft's: it has a HEAD that Croft wrote, a copy of the index, and what
// git writes. Croft then copies the result to the checkout's own git directory, which it
// holds open.

// makeTempGitDir makes the temporary git directory for git to work on the copy of the index. HEAD
// is on branch, or detached at commit if branch is empty.
func (c *indexCopy) makeTempGitDir(branch, commit string) error {
	if !c.repo.HasNativeRefs() { // HEAD is not a file
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
		err = c.copyIndexParts(dir)
	}
	if err == nil {
		c.tempGitDir = dir
	}
	return err
}

// copyIndexParts copies the files that git reads with an index: the patterns of a sparse
// checkout, and the shared part of a split index.
func (c *indexCopy) copyIndexParts(dir string) error {
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

// copyProgress copies the files of an operation in progress, which git wrote, to the checkout's
// own git directory.
func (c *indexCopy) copyProgress() error {
	if c.tempGitDir == "" {
		return nil
	}
	for _, name := range gitdir.ProgressFiles {
		if strings.Contains(name, "/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(c.tempGitDir, name))
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
