package git

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
)

// TestCachedTree: what is read from the index is what git would write, or
// nothing.
func TestCachedTree(t *testing.T) {
	for _, version := range []string{"2", "4"} {
		t.Run("Version"+version, func(t *testing.T) {
			r := gittest.New(t)
			for _, name := range []string{"a/b/c.txt", "a/b/d.txt", "a/e.txt", "f.txt"} {
				r.Write(name, name)
			}
			r.Commit("more")
			r.Git("update-index", "--index-version", version)
			r.Git("reset", "--quiet", "--hard")
			repo, err := New(Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}).Open(r.Dir)
			if err != nil {
				t.Fatal(err)
			}
			defer repo.Close()
			w := &Worktree{Repo: repo, Path: r.Dir, Admin: filepath.Join(r.Dir, ".git")}
			if got, want := w.CachedTree(), r.Git("write-tree"); got != want {
				t.Errorf("after a checkout: %q, want %q", got, want)
			}
			r.Write("f.txt", "staged")
			r.Git("add", "f.txt")
			if got := w.CachedTree(); got != "" {
				t.Errorf("with something staged: %q, want none", got)
			}
		})
	}
}

func FuzzReadCachedTree(f *testing.F) {
	r := gittest.New(f)
	index, err := os.ReadFile(filepath.Join(r.Dir, ".git", "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(index)
	f.Add(index[:40])
	f.Fuzz(func(t *testing.T, data []byte) {
		if oid, err := readCachedTree(bytes.NewReader(data), 20); err == nil && !isHex(oid) {
			t.Errorf("%q is no object", oid)
		}
	})
}
