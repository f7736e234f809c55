package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
)

// Need is a directory outside of a checkout that git needs to work in it.
type Need struct {
	Path     string
	Writable bool
}

// Needs lists the directories outside of a checkout that its git needs, each
// after those that it lies in. Of the common directory of a worktree only
// objects, refs, their logs and the worktree's own part can be written: what
// decides what git runs, and the registrations of the other worktrees, cannot.
//
// Agents can write there. Each is checked to be a plain directory, so that
// nothing else is handed out in its place.
func (w *Worktree) Needs() ([]Need, error) {
	if w.IsIsolated() {
		store, err := w.Repo.StoreBorrowedBy(filepath.Base(w.Admin))
		if err != nil {
			return nil, err
		}
		needs := []Need{{Path: store}}
		if w.Repo.Git.Options.Lending == gitcmd.LendLinks {
			needs = append(needs, Need{Path: filepath.Join(w.Repo.CommonDir, "objects")})
		}
		own, err := fsx.OpenOwn(store) // on the host's side, which may lie behind links
		if err != nil {
			return nil, err
		}
		return needs, own.Close()
	}
	needs := []Need{{Path: w.Repo.CommonDir}}
	for _, name := range []string{"objects", "refs", "logs", "reftable", "lfs"} {
		path := filepath.Join(w.Repo.CommonDir, name)
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		needs = append(needs, Need{path, true})
	}
	needs = append(needs, Need{w.Admin, true})
	return needs, arePlain(needs)
}

// Borrows reports whether the repository takes objects from another one.
func (r *Repository) Borrows() bool {
	lines, err := gitdir.ReadAlternates(filepath.Join(r.CommonDir, "objects"))
	return err != nil || len(lines) > 0
}

// arePlain refuses paths on which there is something else than directories, from
// the first one on.
func arePlain(needs []Need) error {
	top, err := fsx.OpenDir(needs[0].Path)
	if err != nil {
		return err
	}
	defer top.Close()
	for _, need := range needs[1:] {
		rel, err := filepath.Rel(needs[0].Path, need.Path)
		if err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("%s does not lie in %s", need.Path, needs[0].Path)
		}
		dir, err := top.OpenBelow(rel)
		if err != nil {
			return fmt.Errorf("%s is not a plain directory: %w", need.Path, err)
		}
		_ = dir.Close()
	}
	return nil
}

// BorrowsIn is the file that says from where the own git directory of an isolated
// checkout borrows objects. It is empty if there is none.
func BorrowsIn(checkout string) string {
	file := filepath.Join(checkout, ".git", "objects", "info", "alternates")
	if !fsx.IsThere(file) {
		return ""
	}
	return file
}
