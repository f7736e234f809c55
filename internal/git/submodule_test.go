package git

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/index"
)

// TestStatusLooksIntoSubmodules compares with plain git, which runs itself in each of them.
func TestStatusLooksIntoSubmodules(t *testing.T) {
	library := gittest.New(t)
	inner := gittest.New(t)
	library.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "inner")
	library.Commit("inner")
	r := gittest.New(t)
	for _, name := range []string{"lib", "deep/lib 2", "empty"} {
		r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.Dir, name)
	}
	r.Commit("submodules")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	r.GitIn(w.Path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init", "--recursive", "lib", "deep/lib 2")
	lib, deep := filepath.Join(w.Path, "lib"), filepath.Join(w.Path, "deep", "lib 2")

	check := func(step string, want ...string) {
		t.Helper()
		got := statusOf(t, w, UntrackedAll)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
		if diff := cmp.Diff(plainStatus(t, r, w.Path), got); diff != "" {
			t.Errorf("%s (-plain +door):\n%s", step, diff)
		}
	}
	check("untouched")
	gittest.WriteFile(t, filepath.Join(lib, "README.md"), "changed\n")
	check("a file changed", ".M lib")
	gittest.WriteFile(t, filepath.Join(deep, "inner", "new"), "")
	check("a new file two levels down", ".M deep/lib 2", ".M lib")
	if got := statusOf(t, w, UntrackedNone); !slices.Equal(got, []string{".M lib"}) {
		t.Errorf("without untracked files: %q", got)
	}
	library.GitIn(lib, "commit", "--quiet", "--all", "-m", "more")
	check("a commit", ".M deep/lib 2", ".M lib")
	r.GitIn(w.Path, "add", "lib")
	check("a commit that is staged", ".M deep/lib 2", "M. lib")
	gittest.WriteFile(t, filepath.Join(lib, "new"), "")
	check("and more", ".M deep/lib 2", "MM lib")
	for e, err := range w.Status(t.Context(), UntrackedAll, RefreshNothing) {
		if err != nil || !e.Submodule {
			t.Errorf("%+v, %v: not marked as a submodule", e, err)
		}
	}

	// A submodule that cannot be examined does not count as clean.
	if err := os.Remove(filepath.Join(deep, "inner", "new")); err != nil {
		t.Fatal(err)
	}
	check("clean again", "MM lib")
	gittest.WriteFile(t, filepath.Join(deep, ".git"), "gitdir: /nonexistent\n")
	if got := statusOf(t, w, UntrackedAll); !slices.Contains(got, ".M deep/lib 2") {
		t.Errorf("a submodule that leads nowhere counts as clean: %q", got)
	}
}

func TestStatusDoesNotLeaveTheCheckout(t *testing.T) {
	r := gittest.New(t)
	other := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	r.GitIn(w.Path, "update-index", "--add", "--cacheinfo", "160000,"+other.Git("rev-parse", "HEAD")+",dir/sub")
	if err := os.Symlink(filepath.Dir(other.Dir), filepath.Join(w.Path, "dir")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other.Dir, filepath.Join(filepath.Dir(other.Dir), "sub")); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(filepath.Dir(other.Dir), "sub", "new"), "")
	dirty, err := repo.isSubmoduleDirty(t.Context(), checkoutAt{gitDir: w.Admin, work: w.Path}, "dir/sub", UntrackedAll)
	if dirty || err != nil {
		t.Errorf("dirty = %v, %v: it looked at a repository outside", dirty, err)
	}
}

func TestGitlinksOfRealIndexes(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		for _, form := range []string{"2", "3", "4", "split"} {
			t.Run(format+" "+form, func(t *testing.T) {
				t.Parallel()
				r := gittest.Empty(t)
				if err := os.RemoveAll(filepath.Join(r.Dir, ".git")); err != nil {
					t.Fatal(err)
				}
				r.Git("init", "--quiet", "--object-format="+format)
				var want []string
				rnd := rand.New(rand.NewPCG(1, 2))
				repo := open(t, r)
				oid := strings.Repeat("1", repo.ObjectFormat().HexLen())
				var info strings.Builder
				for i := range 300 {
					name := strings.Repeat("dir/", i%4) + strings.Repeat("x", rnd.IntN(40)) + "\n" + string(rune('a'+i%26)) + strings.Repeat("y", i/26)
					mode := "100644"
					if i%7 == 0 {
						mode, want = "160000", append(want, name)
					}
					info.WriteString(mode + " " + oid + "\t" + name + "\x00")
				}
				door := gitcmd.Target{Repo: repo.Core(), Work: r.Dir}
				if _, err := repo.Git.Run(t.Context(), door, gitcmd.Call{Args: []string{"update-index", "-z", "--index-info"}, Stdin: info.String()}); err != nil {
					t.Fatal(err)
				}
				switch form {
				case "3": // an entry with a flag of its own makes it version 3
					r.Write("intended", "")
					r.Git("add", "--intent-to-add", "intended")
				case "split":
					r.Git("update-index", "--split-index")
				default:
					r.Git("update-index", "--index-version", form)
				}
				at := checkoutAt{gitDir: repo.CommonDir, work: r.Dir}
				found, err := repo.readSpecialEntries(t.Context(), at)
				got := found.Links
				slices.Sort(got)
				slices.Sort(want)
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%v (-want +got):\n%s", err, diff)
				}
				f, err := os.Open(filepath.Join(repo.CommonDir, "index"))
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				if _, err := index.ReadSpecial(f, repo.ObjectFormat().Size()); (err != nil) != (form == "split") {
					t.Errorf("read without git: %v", err)
				}
				if n := index.Count(repo.CommonDir); form == "2" && n != 300 {
					t.Errorf("Count = %d, want 300", n)
				}
			})
		}
	}
}

func TestIndexEntriesOfNoIndex(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"none": "", "short": "DIRC\x00\x00\x00\x02", "other": "not an index at all"} {
		if name != "none" {
			gittest.WriteFile(t, filepath.Join(dir, "index"), text)
		}
		if n := index.Count(dir); n != 0 {
			t.Errorf("%s: %d", name, n)
		}
	}
}
