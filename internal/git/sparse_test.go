package git

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// TestConePatterns compares with what git itself writes.
func TestConePatterns(t *testing.T) {
	r := gittest.New(t)
	for _, dirs := range [][]string{
		{"src"}, {"a/b/c"}, {"b", "a"}, {"a", "a/b"}, {"a/b", "a"}, {"a/b", "a/c/d", "x"}, {"a/b/c", "a/b"}, {"with space/x"}, {"st*r/q?"}, {"br[a]cket"}, {"a-b", "a/b", "a"},
	} {
		r.Git(append([]string{"sparse-checkout", "set", "--cone", "--skip-checks"}, dirs...)...)
		want, err := os.ReadFile(filepath.Join(r.Dir, ".git", "info", "sparse-checkout"))
		if got := worktree.ConePatterns(dirs); err != nil || got != string(want) {
			t.Errorf("%q:\n%s\ngit:\n%s%v", dirs, got, want, err)
		}
	}
	if got := worktree.ConePatterns([]string{"src/", "/"}); got != "/*\n" {
		t.Errorf("everything: %q", got)
	}
}

// workFiles returns the names of the files of a checkout, sorted.
func workFiles(t *testing.T, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(files(t, dir))), func(name string) bool { return strings.HasPrefix(name, ".git") })
}

// TestSparseOfItsOwn: a worktree with patterns of its own leaves the main checkout and others as they are, whatever the
// repository had before.
func TestSparseOfItsOwn(t *testing.T) {
	add := func(t *testing.T, r *gittest.Repo, repo *Repository, name string, kind worktree.CheckoutKind, dirs ...string) *Worktree {
		t.Helper()
		r.Git("branch", name)
		if kind == KindIsolated {
			if err := repo.PrepareStore(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w, err := repo.Add(t.Context(), worktree.AddSpec{
			Admin: "croft-" + name, Path: r.Beside(name), Branch: name, Head: r.Git("rev-parse", "HEAD"), Kind: kind, Sparse: dirs,
		})
		if err == nil {
			err = w.Checkout(t.Context(), 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	for name, before := range map[string]func(r *gittest.Repo){
		"not sparse":           func(*gittest.Repo) {},
		"settings of each":     func(r *gittest.Repo) { r.Git("config", "extensions.worktreeConfig", "true") },
		"sparse":               func(r *gittest.Repo) { r.Git("sparse-checkout", "set", "--cone", "src") },
		"sparse without cones": func(r *gittest.Repo) { r.Git("sparse-checkout", "set", "--no-cone", "src/") },
		"sparse for all": func(r *gittest.Repo) {
			r.Git("config", "core.sparseCheckout", "true")
			r.Write(".git/info/sparse-checkout", "/*\n!/*/\n/src/\n")
			r.Git("read-tree", "-mu", "HEAD")
		},
	} {
		for _, kind := range []worktree.CheckoutKind{KindLinked, KindIsolated} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				r := gittest.New(t)
				r.Write("docs/a", "a\n")
				r.Write("docs/deep/b", "b\n")
				r.Commit("docs")
				repo := open(t, r)
				other := addWorktree(t, r, repo, "other")
				before(r)
				main := workFiles(t, r.Dir)
				for dir, want := range map[string][]string{"docs/deep": {"README.md", "docs/a", "docs/deep/b"}, "/": {"README.md", "docs/a", "docs/deep/b", "src/main.txt"}} {
					w := add(t, r, repo, "wt"+strings.Trim(filepath.Base(dir), "/"), kind, dir)
					if got := workFiles(t, w.Path); !slices.Equal(got, want) {
						t.Errorf("%s: %q", dir, got)
					}
					if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
						t.Errorf("%s: status %q", dir, got)
					}
					if got := plainStatus(t, r, w.Path); len(got) > 0 {
						t.Errorf("%s: git status %q", dir, got)
					}
					// Git itself goes on in the same way.
					r.GitIn(w.Path, "checkout", "--quiet", "HEAD~1")
					r.GitIn(w.Path, "checkout", "--quiet", "-")
					if exists(filepath.Join(w.Path, "src")) != (dir == "/") {
						t.Errorf("%s: a checkout of git's has other files", dir)
					}
				}
				if now := workFiles(t, r.Dir); !slices.Equal(now, main) {
					t.Errorf("the main checkout has %q, had %q", now, main)
				}
				if got := r.Git("status", "--porcelain"); got != "" {
					t.Errorf("main: %s", got)
				}
				if got := r.GitIn(other.Path, "status", "--porcelain"); got != "" {
					t.Errorf("other: %s", got)
				}
			})
		}
	}
}

// TestSparseNeedsOwnConfig: settings of each worktree cannot be switched on where git would take core.bare or
// core.worktree for theirs.
func TestSparseNeedsOwnConfig(t *testing.T) {
	r := gittest.New(t)
	r.Git("config", "core.worktree", r.Dir)
	repo := open(t, r)
	if err := repo.CanBeSparse(); !errors.Is(err, ErrNoOwnConfig) {
		t.Errorf("core.worktree: %v", err)
	}
	r.Git("config", "--unset", "core.worktree")
	if err := repo.CanBeSparse(); err != nil {
		t.Error(err)
	}
}
