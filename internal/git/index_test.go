package git

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/index"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// mainTree opens the main checkout of a test's repository as a worktree.
func mainTree(t *testing.T, r *gittest.Repo) *Worktree {
	t.Helper()
	repo, err := Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}), r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repo.Close() })
	return repo.worktreeOf(worktree.Worktree{Path: r.Dir, Admin: filepath.Join(r.Dir, ".git")})
}

// listed returns an index as `git ls-files --stage -v -z` prints it.
func listed(x *index.Index) string {
	var b strings.Builder
	for _, e := range x.Entries {
		fmt.Fprintf(&b, "%s %s %d\t%s\x00", e.Mode, e.OID, e.Stage, e.Path)
	}
	return b.String()
}

// TestIndex: Croft reads the same entries as git from an index of any version.
func TestIndex(t *testing.T) {
	for name, change := range map[string]func(r *gittest.Repo){
		"Version2":   func(r *gittest.Repo) { r.Git("update-index", "--index-version", "2") },
		"Version3":   func(r *gittest.Repo) { r.Git("update-index", "--skip-worktree", "README.md") },
		"Version4":   func(r *gittest.Repo) { r.Git("update-index", "--index-version", "4") },
		"Split":      func(r *gittest.Repo) { r.Git("update-index", "--split-index"); r.Git("rm", "--quiet", "a/x") },
		"Sparse":     func(r *gittest.Repo) { r.Git("sparse-checkout", "set", "--cone", "--sparse-index", "a") },
		"Unverified": func(r *gittest.Repo) { r.Git("-c", "index.skipHash=true", "rm", "--quiet", "a/x") },
		"Conflict": func(r *gittest.Repo) {
			r.Git("checkout", "--quiet", "-b", "other")
			r.Write("a/x", "theirs")
			r.Commit("theirs")
			r.Git("checkout", "--quiet", "main")
			r.Write("a/x", "ours")
			r.Commit("ours")
			_, _ = r.TryGit(r.Dir, "merge", "other")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			for _, name := range []string{"a/x", "a/y", "b/" + strings.Repeat("long", 60), "b/z\n\xff"} {
				r.Write(name, name)
			}
			r.Commit("more")
			change(r)
			w := mainTree(t, r)
			before, err := os.ReadFile(filepath.Join(w.Admin, "index"))
			if err != nil {
				t.Fatal(err)
			}
			x, err := w.Index(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.Git("ls-files", "--stage", "-z"), listed(x)); diff != "" {
				t.Errorf("not what git lists (-git +read):\n%s", diff)
			}
			if after, err := os.ReadFile(filepath.Join(w.Admin, "index")); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the index was written: %v", err)
			}
		})
	}
}

// TestIndexFlags reads the flags that decide whether git looks at a file.
func TestIndexFlags(t *testing.T) {
	r := gittest.New(t)
	r.Write("assumed", "1")
	r.Write("skipped", "2")
	r.Commit("more")
	r.Git("update-index", "--assume-unchanged", "assumed")
	r.Git("update-index", "--skip-worktree", "skipped")
	r.Write("intended", "3")
	r.Git("add", "--intent-to-add", "intended")
	x, err := mainTree(t, r).Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]bool{}
	for _, e := range x.Entries {
		got[e.Path] = [2]bool{e.Hidden, e.Intended}
	}
	want := map[string][2]bool{
		"README.md": {}, "src/main.txt": {}, "assumed": {true, false}, "skipped": {true, false}, "intended": {false, true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("hidden and intended (-want +got):\n%s", diff)
	}
}

// TestUnchanged: a file counts as unchanged only as long as nothing touches it.
func TestUnchanged(t *testing.T) {
	const name = "file"
	past := time.Now().Add(-time.Hour).Truncate(time.Second).Add(time.Millisecond)
	for change, test := range map[string]struct {
		do   func(path string) error
		want bool
	}{
		"nothing": {func(string) error { return nil }, true},
		"contents, with size and time as before": {func(path string) error {
			if err := os.WriteFile(path, []byte("bbbb"), 0o644); err != nil {
				return err
			}
			return os.Chtimes(path, past, past)
		}, false},
		"time": {func(path string) error { return os.Chtimes(path, past, past.Add(time.Nanosecond)) }, false},
		"mode": {func(path string) error { return os.Chmod(path, 0o755) }, false},
		"another file": {func(path string) error {
			if err := os.WriteFile(path+"2", []byte("bbbb"), 0o644); err != nil {
				return err
			}
			return os.Rename(path+"2", path)
		}, false},
		"a link": {func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink("aaaa", path)
		}, false},
	} {
		t.Run(change, func(t *testing.T) {
			r := gittest.New(t)
			r.Write(name, "aaaa")
			path := filepath.Join(r.Dir, name)
			if err := os.Chtimes(path, past, past); err != nil {
				t.Fatal(err)
			}
			r.Git("add", name)
			if err := test.do(path); err != nil {
				t.Fatal(err)
			}
			if got := unchanged1(t, r, name); got != test.want {
				t.Errorf("unchanged = %v, want %v", got, test.want)
			}
		})
	}
	t.Run("as young as the index", func(t *testing.T) {
		r := gittest.New(t)
		r.Write(name, "aaaa")
		r.Git("add", name)
		info, err := os.Stat(filepath.Join(r.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		index := filepath.Join(r.Dir, ".git", "index")
		if err := os.Chtimes(index, info.ModTime(), info.ModTime().Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if unchanged1(t, r, name) {
			t.Error("its time was believed")
		}
	})
}

// unchanged1 asks for one file.
func unchanged1(t *testing.T, r *gittest.Repo, name string) bool {
	t.Helper()
	x, err := mainTree(t, r).Index(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, err := index.Lstat(filepath.Join(r.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range x.Entries {
		if e.Path == name {
			return x.IsUnchanged(e, now)
		}
	}
	t.Fatalf("%s is not in the index", name)
	return false
}

// TestConversions: attributes are found wherever they are set, and git is not run where
// there are none.
func TestConversions(t *testing.T) {
	const line = "*.txt text eol=crlf\n"
	for place, write := range map[string]func(r *gittest.Repo){
		"none":         func(*gittest.Repo) {},
		"the index":    func(r *gittest.Repo) { r.Write("src/.gitattributes", line); r.Commit("attributes") },
		"the worktree": func(r *gittest.Repo) { r.Write("src/.gitattributes", line) }, // a checkout goes by the index
		"the repository": func(r *gittest.Repo) {
			gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "attributes"), line)
		},
		"the user": func(r *gittest.Repo) {
			gittest.WriteFile(t, filepath.Join(r.Home, ".config", "git", "attributes"), line)
		},
		"a file of the user's": func(r *gittest.Repo) {
			gittest.WriteFile(t, filepath.Join(r.Home, "attributes"), line)
			gittest.WriteFile(t, filepath.Join(r.Home, ".gitconfig"), "[core]\n\tattributesFile = ~/attributes\n")
		},
		"a setting": func(r *gittest.Repo) { r.Git("config", "core.autocrlf", "true") },
	} {
		t.Run(place, func(t *testing.T) {
			r := gittest.New(t)
			write(r)
			w := mainTree(t, r)
			x, err := w.Index(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found, err := w.Conversions(t.Context(), x)
			if err != nil {
				t.Fatal(err)
			}
			want := place != "none" && place != "the worktree"
			if c, got := found["src/main.txt"]; got != want || want && !c.CRLF {
				t.Errorf("src/main.txt: %+v, %v, want %v", c, got, want)
			}
		})
	}
}

// TestCachedTree: the tree that is read from the index is the one that git would write, or
// "".
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
			repo, err := Open(gitcmd.New(gitcmd.Options{Environ: r.Env, ConfigDir: filepath.Join(r.Home, "git")}), r.Dir)
			if err != nil {
				t.Fatal(err)
			}
			defer repo.Close()
			w := repo.worktreeOf(worktree.Worktree{Path: r.Dir, Admin: filepath.Join(r.Dir, ".git")})
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
