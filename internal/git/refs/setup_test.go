package refs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/odb"
)

// options are those of a Git that works for the user of a test's repository.
func options(r *gittest.Repo) gitcmd.Options {
	return gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git")}
}

// openWith opens the repository of a directory.
func openWith(g *gitcmd.Git, dir string) (*Repository, error) {
	p, err := gitdir.Discover(dir)
	if err != nil {
		return nil, err
	}
	return New(odb.New(gitcmd.NewRepository(g, p, g.DirFor(p.CommonDir)))), nil
}

// open opens a test's repository, with options that a test may change.
func open(t *testing.T, r *gittest.Repo, change ...func(*gitcmd.Options)) *Repository {
	t.Helper()
	opts := options(r)
	for _, c := range change {
		c(&opts)
	}
	repo, err := openWith(gitcmd.New(opts), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := repo.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return repo
}

// addWorktree makes a worktree on a new branch.
func addWorktree(r *gittest.Repo, name string) (path, admin string) {
	path = r.Beside(name)
	r.Git("worktree", "add", "--quiet", "-b", name, path)
	return path, filepath.Join(r.Dir, ".git", "worktrees", name)
}

// exists reports whether anything is at a path, without following links.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func sweep(t *testing.T, repo *Repository) {
	t.Helper()
	if err := repo.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// leases counts the leases of writers.
func leases(t *testing.T, repo *Repository) int {
	t.Helper()
	entries, err := os.ReadDir(repo.LeasesDir())
	if err != nil && !errors.Is(err, os.ErrNotExist) { // there was no lease yet
		t.Fatal(err)
	}
	return len(entries)
}

// treeOf lists the files below a directory, with their contents.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, rerr := os.ReadFile(path)
			tree[path], err = string(b), rerr
		} else if err == nil {
			tree[path] = d.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
