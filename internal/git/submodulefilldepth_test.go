package git

import (
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// TestFillDepth: a submodule that is too deep in others stays empty, and each level counts.
func TestFillDepth(t *testing.T) {
	r, _ := withSubmodules(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	top, err := fsx.OpenDir(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	for _, c := range []struct {
		depth int
		want  []string
	}{{deepestSubmodule, []string{"too deep"}}, {deepestSubmodule - 1, []string{"", "too deep"}}} {
		host, remove, err := repo.TempDir()
		if err != nil {
			t.Fatal(err)
		}
		f := &submoduleFiller{SubmoduleFill: SubmoduleFill{Commit: headOf(t, w)}, w: w, host: host, workers: 1}
		err = f.fillLevel(t.Context(), submoduleLevel{repo: repo, project: repo, commit: f.Commit, links: []string{"lib"}, top: top, depth: c.depth})
		remove()
		if err != nil || len(f.done) != len(c.want) {
			t.Fatalf("at %d: %+v, %v", c.depth, f.done, err)
		}
		for i, why := range c.want {
			if got := f.done[i].Why; !strings.Contains(got, why) || (got == "") != (why == "") {
				t.Errorf("at %d: %+v", c.depth, f.done[i])
			}
		}
	}
}

// TestFillSparse: a submodule that a sparse checkout leaves out is not spoken of.
func TestFillSparse(t *testing.T) {
	r, _ := withSubmodules(t)
	r.Write("vendor/file", "file\n")
	r.Git("mv", "lib", "vendor/lib")
	r.Commit("moved")
	repo := open(t, r)
	for dir, want := range map[string][]string{"src": nil, "vendor": {"vendor/lib", "vendor/lib/inner"}} {
		r.Git("branch", "of-"+dir)
		w, err := repo.Add(t.Context(), worktree.AddSpec{
			Admin: "croft-" + dir, Path: r.Beside("of-" + dir), Branch: "of-" + dir, Head: r.Git("rev-parse", "HEAD"), Kind: KindLinked, Sparse: []string{dir},
		})
		if err == nil {
			err = w.Checkout(t.Context(), 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := filled(t, w, SubmoduleFill{}); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}
