package mergetree

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/refs"
)

// openWith opens the repository of a directory.
func openWith(g *gitcmd.Git, dir string) (*Repository, error) {
	p, err := gitdir.Discover(dir)
	if err != nil {
		return nil, err
	}
	return New(refs.New(odb.New(gitcmd.NewRepository(g, p, g.DirFor(p.CommonDir))))), nil
}

// open opens a test's repository, with options that a test may change.
func open(t *testing.T, r *gittest.Repo, change ...func(*gitcmd.Options)) *Repository {
	t.Helper()
	opts := gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git")}
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

// exists reports whether anything is at a path, without following links.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// script writes a program.
func script(t *testing.T, path, text string) string {
	t.Helper()
	gittest.WriteFile(t, path, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}
