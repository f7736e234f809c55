package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestSubmoduleWork: whatever HEAD, a ref or the stash of a submodule has and nothing else is work, and what the project or
// a remote has is none.
func TestSubmoduleWork(t *testing.T) {
	commit := func(r *gittest.Repo, lib string) {
		gittest.WriteFile(t, filepath.Join(lib, "new"), "only here\n")
		r.GitIn(lib, "add", "new")
		r.GitIn(lib, "commit", "--quiet", "--message", "work")
	}
	inLib, inInner := []string{"lib"}, []string{"lib/inner"}
	for _, c := range []struct {
		name string
		do   func(r *gittest.Repo, w *Worktree, lib string)
		want []string
	}{
		{"untouched", func(*gittest.Repo, *Worktree, string) {}, nil},
		{"its HEAD", func(r *gittest.Repo, _ *Worktree, lib string) { commit(r, lib) }, inLib},
		{"a branch that is left", func(r *gittest.Repo, _ *Worktree, lib string) {
			commit(r, lib)
			r.GitIn(lib, "branch", "side")
			r.GitIn(lib, "reset", "--quiet", "--hard", "HEAD~1")
		}, inLib},
		{"a tag", func(r *gittest.Repo, _ *Worktree, lib string) {
			commit(r, lib)
			r.GitIn(lib, "tag", "-a", "-m", "t", "v1")
			r.GitIn(lib, "reset", "--quiet", "--hard", "HEAD~1")
		}, inLib},
		{"an older stash", func(r *gittest.Repo, _ *Worktree, lib string) {
			for _, text := range []string{"one", "two"} {
				gittest.WriteFile(t, filepath.Join(lib, "README.md"), text)
				r.GitIn(lib, "stash", "--quiet")
			}
			r.GitIn(lib, "update-ref", "refs/remotes/origin/x", "refs/stash")
		}, inLib},
		{"a worktree of the submodule", func(r *gittest.Repo, _ *Worktree, lib string) {
			r.GitIn(lib, "worktree", "add", "--quiet", "--detach", "beside")
			commit(r, filepath.Join(lib, "beside"))
		}, inLib},
		{"inside of a submodule", func(r *gittest.Repo, _ *Worktree, lib string) { commit(r, filepath.Join(lib, "inner")) }, inInner},
		{"a commit that was pushed", func(r *gittest.Repo, _ *Worktree, lib string) {
			commit(r, lib)
			r.GitIn(lib, "update-ref", "refs/remotes/origin/pushed", "HEAD")
		}, nil},
		{"a commit that was merged", func(r *gittest.Repo, w *Worktree, lib string) {
			commit(r, lib)
			r.GitIn(w.Path, "commit", "--quiet", "--all", "--message", "work")
			if err := w.KeepSubmodules(t.Context(), headOf(t, w)); err != nil {
				t.Fatal(err)
			}
		}, nil},
		{"a worktree of the project's copy", func(r *gittest.Repo, w *Worktree, lib string) {
			if err := os.RemoveAll(lib); err != nil {
				t.Fatal(err)
			}
			r.GitIn(filepath.Join(r.Dir, "lib"), "worktree", "add", "--quiet", "--detach", lib)
			commit(r, lib)
		}, inLib},
		{"a commit that no .gitmodules knows", func(r *gittest.Repo, w *Worktree, lib string) {
			commit(r, lib)
			r.GitIn(w.Path, "rm", "--quiet", "--cached", ".gitmodules")
			r.GitIn(w.Path, "commit", "--quiet", "--all", "--message", "no .gitmodules")
		}, inLib},
		{"a repository that cannot be read", func(_ *gittest.Repo, _ *Worktree, lib string) {
			if err := os.Truncate(filepath.Join(lib, ".git", "HEAD"), 0); err != nil {
				t.Fatal(err)
			}
		}, inLib},
		{"not filled", func(_ *gittest.Repo, _ *Worktree, lib string) {
			if err := os.RemoveAll(lib); err != nil {
				t.Fatal(err)
			}
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, _ := withSubmodules(t)
			repo := open(t, r)
			w := addWorktree(t, r, repo, "wt")
			filled(t, w, SubmoduleFill{})
			c.do(r, w, filepath.Join(w.Path, "lib"))
			got, err := w.SubmoduleWork(t.Context())
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}
