package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// moveToTrash moves a worktree away and deletes its branch, as a removal does.
func moveToTrash(t *testing.T, r *gittest.Repo, w *Worktree, branch string) Trashed {
	t.Helper()
	dir := r.Beside("stowed")
	s := Trashed{
		Name: filepath.Base(w.Admin), Admin: filepath.Join(dir, "admin"), Tree: filepath.Join(dir, "tree"), Head: r.GitIn(w.Path, "rev-parse", "HEAD"),
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.Path, s.Tree); err != nil {
		t.Fatal(err)
	}
	if err := w.Deregister(s.Admin); err != nil {
		t.Fatal(err)
	}
	r.Git("update-ref", "-d", "refs/heads/"+branch)
	return s
}

// TestOpenTrashed: git sees a worktree in the trash as it was before, and changes nothing.
func TestOpenTrashed(t *testing.T) {
	t.Parallel()
	for name, hasAdmin := range map[string]bool{"Whole": true, "WithoutAdmin": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			repo := open(t, r)
			w := addWorktree(t, r, repo, "a")
			gittest.WriteFile(t, filepath.Join(w.Path, "done.txt"), "done\n")
			r.GitIn(w.Path, "add", "--all")
			r.GitIn(w.Path, "commit", "--quiet", "-m", "work")
			gittest.WriteFile(t, filepath.Join(w.Path, "done.txt"), "changed\n")
			gittest.WriteFile(t, filepath.Join(w.Path, "new.txt"), "new\n")
			if hasAdmin {
				r.GitIn(w.Path, "add", "new.txt")
			}
			want := plainStatus(t, r, w.Path)
			index, err := os.ReadFile(filepath.Join(w.Admin, "index"))
			if err != nil {
				t.Fatal(err)
			}
			s := moveToTrash(t, r, w, "a")
			if !hasAdmin {
				if err := os.RemoveAll(s.Admin); err != nil {
					t.Fatal(err)
				}
			}
			p, err := repo.OpenTrashed(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if got := statusOf(t, p.Worktree, UntrackedAll); !slices.Equal(got, want) {
				t.Errorf("status %q, want %q", got, want)
			}
			if branch, oid, err := p.Head(t.Context()); err != nil || branch != "" || oid != s.Head {
				t.Errorf("HEAD is %q at %s, %v", branch, oid, err)
			}
			if hasAdmin && p.Branch != "a" {
				t.Errorf("the branch was a, not %q", p.Branch)
			}
			if got := r.Git("worktree", "list", "--porcelain"); strings.Contains(got, s.Tree) || r.Git("branch", "--list", "a") != "" {
				t.Errorf("the look can be seen:\n%s", got)
			}
			if err := p.Close(); err != nil || exists(p.Admin) {
				t.Errorf("Close: %v", err)
			}
			if now, err := os.ReadFile(filepath.Join(s.Admin, "index")); hasAdmin && (err != nil || !slices.Equal(now, index)) {
				t.Errorf("the stowed index was written: %v", err)
			}
		})
	}
}

func TestIgnoredDirs(t *testing.T) {
	t.Parallel()
	r := gittest.New(t)
	r.Write(".gitignore", "node_modules/\n*.o\n/data/\n")
	r.Commit("rules")
	w := addWorktree(t, r, open(t, r), "a")
	for _, name := range []string{
		"node_modules/x/i.js", "web/node_modules/y.js", "web/own.js", "objects/a.o", "mixed/a.o", "mixed/notes.txt", "data/build/x", "gone/.keep",
	} {
		gittest.WriteFile(t, filepath.Join(w.Path, name), "x")
	}
	got, err := w.IgnoredDirs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if want := []string{"data", "node_modules", "objects", "web/node_modules"}; !slices.Equal(got, want) {
		t.Errorf("IgnoredDirs = %q, want %q", got, want)
	}
}
