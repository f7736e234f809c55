package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/odb"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// options are those of a Git that works for the user of a test's repository.
func options(r *gittest.Repo) gitcmd.Options {
	return gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "state", "git")}
}

// open opens a test's repository, with options that a test may change.
func open(t *testing.T, r *gittest.Repo, change ...func(*gitcmd.Options)) *Repository {
	t.Helper()
	opts := options(r)
	for _, c := range change {
		c(&opts)
	}
	repo, err := Open(gitcmd.New(opts), r.Dir)
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

// addWorktree makes a worktree on a new branch, with its files.
func addWorktree(t *testing.T, r *gittest.Repo, repo *Repository, name string) *Worktree {
	t.Helper()
	r.Git("branch", name)
	w, err := repo.Add(t.Context(), worktree.AddSpec{Admin: "croft-" + name, Path: r.Beside(name), Branch: name, Lock: "being made"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Checkout(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := w.ClearLock(); err != nil {
		t.Fatal(err)
	}
	return w
}

// statusOf lists the entries of a status, as "XY path", sorted.
func statusOf(t *testing.T, w *Worktree, untracked Untracked) []string {
	t.Helper()
	var list []string
	for e, err := range w.Status(t.Context(), untracked, RefreshNothing) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string([]byte{e.Index, e.Work})+" "+e.Path)
	}
	slices.Sort(list)
	return list
}

// plainStatus is the same from git as the user runs it.
func plainStatus(t *testing.T, r *gittest.Repo, dir string) []string {
	t.Helper()
	var list []string
	out := r.GitIn(dir, "status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none")
	for e, err := range odb.ParseStatus(strings.NewReader(out)) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string([]byte{e.Index, e.Work})+" "+e.Path)
	}
	slices.Sort(list)
	return list
}

// script writes an executable shell script and returns its path.
func script(t *testing.T, path, text string) string {
	t.Helper()
	gittest.WriteFile(t, path, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// exists reports whether anything is at a path, without following links.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// readFile reads a file that has to be there.
func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// files reads a directory tree but for .git, as path → mode and content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return nil
		case rel == ".git":
			return nil
		case d.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[rel] = "-> " + target
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		found[rel] = info.Mode().String() + " " + string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// addIsolated makes an isolated checkout on a branch of its own.
func addIsolated(t *testing.T, r *gittest.Repo, repo *Repository, name string) *Worktree {
	t.Helper()
	r.Git("branch", name)
	w, err := repo.Add(t.Context(), worktree.AddSpec{Admin: "croft-" + name, Path: r.Beside(name), Branch: name, Head: r.Git("rev-parse", name), Lock: "being made", Kind: KindIsolated})
	if err == nil {
		err = w.Checkout(t.Context(), 1)
	}
	if err == nil {
		err = w.ClearLock()
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
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
