//go:build unix

package walk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/walk"
)

// isClean walks a checkout as its caller does.
func isClean(t *testing.T, r *gittest.Repo, work string) (bool, error) {
	t.Helper()
	seen, err := walk.Look(walk.Request{Work: work, Index: filepath.Join(r.Dir, ".git", "index"), Ignored: map[string]bool{}})
	if err != nil {
		return false, err
	}
	return seen.IsWhole && len(seen.Unknown) == 0 && seen.AreAsStaged(t.Context(), walk.Unconverted, "") && seen.IsTree(r.Git("rev-parse", "HEAD^{tree}"), ""), nil
}

// TestHostileDirectories: nothing that an agent can put into its directory is followed, waited for,
// or taken for what was there.
func TestHostileDirectories(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, r *gittest.Repo){
		"a pipe for a file": func(_ *testing.T, r *gittest.Repo) {
			_ = os.Remove(filepath.Join(r.Dir, "dir/a"))
			_ = mkfifo(filepath.Join(r.Dir, "dir/a"))
		},
		"a pipe for the index": func(_ *testing.T, r *gittest.Repo) {
			_ = os.Remove(filepath.Join(r.Dir, ".git/index"))
			_ = mkfifo(filepath.Join(r.Dir, ".git/index"))
		},
		"a link for the index": func(_ *testing.T, r *gittest.Repo) {
			_ = os.Rename(filepath.Join(r.Dir, ".git/index"), r.Beside("index"))
			_ = os.Symlink(r.Beside("index"), filepath.Join(r.Dir, ".git/index"))
		},
		"a link for a directory": func(_ *testing.T, r *gittest.Repo) {
			_ = os.Rename(filepath.Join(r.Dir, "dir"), r.Beside("dir"))
			_ = os.Symlink(r.Beside("dir"), filepath.Join(r.Dir, "dir"))
		},
		"a link for a file": func(_ *testing.T, r *gittest.Repo) {
			_ = os.Rename(filepath.Join(r.Dir, "dir/a"), r.Beside("a"))
			_ = os.Symlink(r.Beside("a"), filepath.Join(r.Dir, "dir/a"))
		},
		"a directory for a file": func(_ *testing.T, r *gittest.Repo) {
			_ = os.Remove(filepath.Join(r.Dir, "dir/a"))
			_ = os.Mkdir(filepath.Join(r.Dir, "dir/a"), 0o700)
		},
		"a file for a directory": func(t *testing.T, r *gittest.Repo) {
			_ = os.RemoveAll(filepath.Join(r.Dir, "dir"))
			gittest.WriteFile(t, filepath.Join(r.Dir, "dir"), "a\n")
		},
		"a repository in a directory": func(_ *testing.T, r *gittest.Repo) { r.Git("init", "--quiet", "dir") },
		"a thousand directories in one another": func(_ *testing.T, r *gittest.Repo) {
			_ = os.MkdirAll(filepath.Join(r.Dir, strings.Repeat("d/", 1000)), 0o700)
		},
		"what is staged": func(_ *testing.T, r *gittest.Repo) {
			r.Write("dir/a", "other\n")
			r.Git("update-index", "dir/a")
		},
		"a submodule": func(_ *testing.T, r *gittest.Repo) {
			r.Git("update-index", "--add", "--cacheinfo", "160000,"+r.Git("rev-parse", "HEAD")+",sub")
			r.Git("commit", "--quiet", "-m", "sub")
		},
		"an edit with the old times": func(t *testing.T, r *gittest.Repo) {
			path := filepath.Join(r.Dir, "dir/a")
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			r.Write("dir/a", "b\n")
			_ = os.Chtimes(path, info.ModTime(), info.ModTime())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			r.Write("dir/a", "a\n")
			r.Write("b", "b\n")
			r.Commit("files")
			later := time.Now().Add(time.Hour) // so that stat data alone proves what is unchanged
			if err := os.Chtimes(filepath.Join(r.Dir, ".git/index"), later, later); err != nil {
				t.Fatal(err)
			}
			if clean, err := isClean(t, r, r.Dir); !clean {
				t.Fatalf("at first it is clean: %v", err)
			}
			spoil(t, r)
			if clean, err := isClean(t, r, r.Dir); clean {
				t.Errorf("it is called clean, %v", err)
			}
		})
	}
	t.Run("a link in the path", func(t *testing.T) {
		r := gittest.New(t)
		if err := os.Symlink(r.Dir, r.Beside("link")); err != nil {
			t.Fatal(err)
		}
		if _, err := isClean(t, r, r.Beside("link")); err == nil {
			t.Error("a link was followed")
		}
	})
}

// FuzzIndex: an agent can write any index. The walk ends, and calls nothing clean that has another
// tree.
func FuzzIndex(f *testing.F) {
	r := gittest.New(f)
	r.Write("dir/a", "a\n")
	r.Commit("files")
	data, err := os.ReadFile(filepath.Join(r.Dir, ".git", "index"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	for _, crafted := range gittest.CraftedIndexes() {
		f.Add(crafted.File(strings.Repeat("1", 40)))
	}
	tree := r.Git("rev-parse", "HEAD^{tree}")
	file := filepath.Join(f.TempDir(), "index")
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 20 {
			clear(data[len(data)-20:]) // no checksum
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		seen, err := walk.Look(walk.Request{Work: r.Dir, Index: file, Ignored: map[string]bool{}})
		if err != nil {
			if seen != nil && seen.IsWhole && !errors.Is(err, walk.ErrAskGit) {
				t.Errorf("whole, and %v", err)
			}
			return
		}
		isSame := seen.AreAsStaged(t.Context(), walk.Unconverted, "") && seen.IsTree(tree, "")
		if names := strings.Join(seen.Unknown, " "); isSame && names != "" {
			t.Errorf("the tree of HEAD, and unknown %s", names)
		}
	})
}
