package gitcmd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"

	"github.com/croft-sh/croft/internal/git/gitdir"
)

// IsolatedDir is the directory of the admin directories of isolated worktrees.
func (r *Repository) IsolatedDir() string { return filepath.Join(r.Dir, gitdir.IsolatedName) }

// IsolatedDir returns the admin directory of an isolated worktree of the repository whose
// Croft directory is dir.
func IsolatedDir(dir, admin string) string { return filepath.Join(dir, gitdir.IsolatedName, admin) }

// RoleMark is the line before the patterns that Croft adds to the user's own.
const RoleMark = "# Put there by Croft: files of its own in a workspace."

// Lending says whether the files of an alternates store are copies or hard links.
type Lending string

// The zero value means copies.
const (
	LendCopies Lending = "copy"
	LendLinks  Lending = "hardlink"
)

// WriteGitDir makes a directory a git directory, with more lines in its core section, and
// with more files.
func WriteGitDir(dir, core string, more map[string]string) error {
	for _, sub := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.FromSlash(sub)), 0o777); err != nil {
			return err
		}
	}
	files := map[string]string{
		"HEAD": "ref: refs/heads/" + gitdir.PlainBranch + "\n",
		"config": fmt.Sprintf("[core]\n\trepositoryformatversion = 0\n\tfilemode = %t\n\tbare = false\n\tlogallrefupdates = true\n%s",
			runtime.GOOS != "windows", core),
	}
	maps.Copy(files, more)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}
