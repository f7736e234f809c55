package git

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

func TestSkipWorktreeAndTracked(t *testing.T) {
	r := gittest.New(t)
	r.Write("-dash", "1")
	r.Write("*", "1")
	r.Write("odd\nname", "1")
	r.Commit("odd")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	paths := []string{"-dash", "*", "odd\nname", "README.md"}
	for _, p := range paths {
		gittest.WriteFile(t, filepath.Join(w.Path, p), "2\n")
	}
	got, err := w.Tracked(t.Context(), append([]string{"none", "sr?", ":(top)src"}, paths...)...)
	slices.Sort(got)
	if want := []string{"*", "-dash", "README.md", "odd\nname"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Tracked: %q, %v, want %q", got, err, want)
	}
	if got, err := w.Tracked(t.Context()); err != nil || len(got) > 0 {
		t.Errorf("Tracked of nothing: %q, %v", got, err)
	}
	if err := w.SkipWorktree(t.Context(), true, paths...); err != nil {
		t.Fatal(err)
	}
	if got := plainStatus(t, r, w.Path); len(got) > 0 {
		t.Errorf("hidden files are listed by git: %q", got)
	}
	for e, err := range w.Status(t.Context(), UntrackedAll, RefreshNothing) {
		if err != nil || !e.Hidden {
			t.Errorf("hidden files are listed as others: %+v, %v", e, err)
		}
	}
	if out := r.Git("ls-files", "-t"); strings.Contains(out, "S ") {
		t.Errorf("they are hidden in the main checkout too: %s", out)
	}
	if err := w.SkipWorktree(t.Context(), false, paths...); err != nil {
		t.Fatal(err)
	}
	if got := statusOf(t, w, UntrackedAll); len(got) != len(paths) {
		t.Errorf("shown again: %q", got)
	}
	if err := w.SkipWorktree(t.Context(), true, "none"); err == nil {
		t.Error("a file that git does not have was hidden")
	}
}

func TestLock(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	for _, reason := range []string{"one", "two\nlines", ""} {
		if err := w.SetLock(reason); err != nil {
			t.Fatal(err)
		}
		if got, locked, err := w.LockReason(); got != reason || !locked || err != nil {
			t.Errorf("%q: %q, %v, %v", reason, got, locked, err)
		}
		if list, err := repo.List(t.Context()); err != nil || !list[1].Locked || list[1].LockReason != reason {
			t.Errorf("%q: git lists %+v, %v", reason, list, err)
		}
	}
	for range 2 {
		if err := w.ClearLock(); err != nil {
			t.Error(err)
		}
	}
	if _, locked, err := w.LockReason(); locked || err != nil {
		t.Errorf("after ClearLock: %v, %v", locked, err)
	}
}
