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
	IsFile   bool
}

// Needs lists the directories outside of a checkout that its git needs, each after its
// parents. In the common directory of a worktree only objects, refs, reflogs and the
// worktree's own admin directory are writable: hooks, configuration and the registrations
// of other worktrees are not.
//
// Agents can write there, so each is checked to be a plain directory.
func (w *Worktree) Needs() ([]Need, error) {
	if w.IsIsolated() {
		store, err := w.Repo.StoreOf(filepath.Base(w.Admin))
		if err != nil {
			return nil, err
		}
		needs := []Need{{Path: store}}
		if w.Repo.Git.Options.Lending == gitcmd.LendLinks {
			needs = append(needs, Need{Path: filepath.Join(w.Repo.CommonDir, "objects")})
		}
		own, err := fsx.OpenOwn(store) // on the host, where symbolic links above it are allowed
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
		needs = append(needs, Need{Path: path, Writable: true})
	}
	needs = append(needs, Need{Path: w.Admin, Writable: true})
	return needs, checkPlain(needs)
}

// HasAlternates reports whether the repository has alternates.
func (r *Repository) HasAlternates() bool {
	lines, err := gitdir.ReadAlternates(filepath.Join(r.CommonDir, "objects"))
	return err != nil || len(lines) > 0
}

// checkPlain fails unless every component of the paths is a directory.
func checkPlain(needs []Need) error {
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

// AlternatesFileIn returns the path of the alternates file in the git directory of an isolated
// checkout, or "" if there is none.
func AlternatesFileIn(checkout string) string {
	file := filepath.Join(checkout, ".git", "objects", "info", "alternates")
	if !fsx.IsThere(file) {
		return ""
	}
	return file
}
