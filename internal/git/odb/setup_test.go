package odb

import (
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitdir"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// open opens a test's repository, with options that a test may change.
func open(t *testing.T, r *gittest.Repo, change ...func(*gitcmd.Options)) *Repository {
	t.Helper()
	opts := gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git")}
	for _, c := range change {
		c(&opts)
	}
	p, err := gitdir.Discover(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	g := gitcmd.New(opts)
	repo := New(gitcmd.NewRepository(g, p, g.DirFor(p.CommonDir)))
	t.Cleanup(func() {
		if err := repo.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return repo
}
