package odb

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// diffPaths are paths of which some are directories of others, or sort before what is in these.
var diffPaths = []string{"a", "a/b", "a/b/c", "a-b", "a.c", "a/b-c", "d/e/f", "d/e", "d", "é", "z z", "link"}

// TestDiffIsGits: trees are compared in this process as git compares them, in its order.
func TestDiffIsGits(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	commits := []string{r.Git("rev-parse", "HEAD")}
	for seed := range uint64(12) {
		writeRandom(t, r, rand.New(rand.NewPCG(seed, 3)))
		r.Git("add", "--all")
		r.Git("commit", "--quiet", "--allow-empty", "-m", fmt.Sprint(seed))
		commits = append(commits, r.Git("rev-parse", "HEAD"))
	}
	empty := r.Git("hash-object", "-t", "tree", "/dev/null")
	for _, old := range append(commits, empty) {
		for _, now := range []string{commits[3], commits[7], empty, r.Git("rev-parse", commits[5]+"^{tree}")} {
			want := gitDiff(t, repo, old, now)
			got, err := repo.diffTrees(t.Context(), old, now)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, append([]Change(nil), got...)); d != "" {
				t.Errorf("%s to %s: %s", old, now, d)
			}
		}
	}
	if _, err := repo.diffTrees(t.Context(), commits[0], "main"); err == nil {
		t.Error("a name that is no object was compared here")
	}
}

// TestDiffOfOthersIsGits: trees that git prints in another way than they are, or that it may hide, are git's to compare.
func TestDiffOfOthersIsGits(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	old, blob := r.Git("rev-parse", "HEAD"), r.Git("rev-parse", "HEAD:README.md")
	for _, entry := range []object.TreeEntry{{Mode: LinkMode, OID: old, Name: "sub"}, {Mode: "100664", OID: blob, Name: "old"}} {
		tree, err := repo.WriteTree([]object.TreeEntry{entry})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := repo.diffTrees(t.Context(), old, tree); err == nil {
			t.Errorf("%s was compared here", entry.Mode)
		}
		got, err := repo.Diff(t.Context(), old, tree)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(gitDiff(t, repo, old, tree), got); d != "" {
			t.Error(d)
		}
	}
}

func gitDiff(t *testing.T, repo *Repository, old, now string) []Change {
	t.Helper()
	out, err := repo.RunGit(t.Context(), "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--end-of-options", old, now)
	if err != nil {
		t.Fatal(err)
	}
	list, err := ParseRaw(out)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// writeRandom writes, removes and changes some files.
func writeRandom(t *testing.T, r *gittest.Repo, rnd *rand.Rand) {
	t.Helper()
	for range 5 {
		name := diffPaths[rnd.IntN(len(diffPaths))]
		path := filepath.Join(r.Dir, name)
		if info, err := os.Lstat(filepath.Dir(path)); err == nil && !info.IsDir() {
			_ = os.Remove(filepath.Dir(path))
		}
		if up := filepath.Dir(filepath.Dir(path)); up != r.Dir {
			if info, err := os.Lstat(up); err == nil && !info.IsDir() {
				_ = os.Remove(up)
			}
		}
		_ = os.RemoveAll(path)
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		switch rnd.IntN(4) {
		case 0:
		case 1:
			_ = os.Symlink(fmt.Sprint("to", rnd.IntN(2)), path)
		default:
			if err := os.WriteFile(path, []byte(fmt.Sprint(rnd.IntN(3))), 0o644|os.FileMode(rnd.IntN(2)*0o111)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
