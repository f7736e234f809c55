package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/object"
)

// TestKeepOverHollowTrees: the repository already has some trees of the next commit, but
// not the objects that they name, because a process died or an agent deleted them. The
// commit has all its objects nevertheless.
func TestKeepOverHollowTrees(t *testing.T) {
	for name, remain := range map[string][]string{
		"the root":            {"^{tree}"},
		"the root and a tree": {"^{tree}", ":new"},
		"a tree":              {":new"},
		"a tree in it":        {":new/deep"},
		"the trees":           {"^{tree}", ":new", ":new/deep"},
		"the files":           {":new/deep/one", ":new/two"},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			files := map[string]string{"new/deep/one": "one\n", "new/two": "two\n"}
			r.Branch("work", files)
			var want, had []string // the objects of the commit, and those that the repository has
			for _, path := range []string{"^{tree}", ":new", ":new/deep", ":new/deep/one", ":new/two"} {
				want = append(want, r.Git("rev-parse", "work"+path))
			}
			for _, path := range remain {
				had = append(had, r.Git("rev-parse", "work"+path))
			}
			r.Git("switch", "--quiet", "--detach", "main")
			r.Git("branch", "-D", "work")
			r.Git("reflog", "expire", "--expire=now", "--all")
			for _, oid := range want {
				if slices.Contains(had, oid) {
					continue
				}
				if err := os.Remove(filepath.Join(r.Dir, ".git", "objects", oid[:2], oid[2:])); err != nil {
					t.Fatal(err)
				}
			}
			r.Git("switch", "--quiet", "-c", "again", "main")
			for path, text := range files {
				r.Write(path, text)
			}
			repo := open(t, r)
			oid, err := repo.Main().CommitWork(t.Context(), Work{
				Branch: "again", Paths: []string{"new/deep/one", "new/two"},
				Commit: object.Commit{Signature: object.Signature("A <a@b>", time.Unix(1, 0)), Message: "m"},
			})
			if err != nil {
				t.Fatal(err)
			}
			r.Git("fsck", "--connectivity-only", oid)
			r.Git("cat-file", "-e", oid+":new/deep/one")
			r.Git("cat-file", "-e", oid+":new/two")
		})
	}
}
