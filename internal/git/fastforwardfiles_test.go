//go:build unix

package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
)

// openCounting opens a repository by a git that notes its commands, and returns a function that lists them.
func openCounting(t *testing.T, r *gittest.Repo) (*Repository, func() []string) {
	t.Helper()
	log := filepath.Join(r.Home, "gits")
	counting := script(t, filepath.Join(r.Home, "counting-git"), `for a; do case $a in -*) ;; *) echo "$a" >> '`+log+`'; break;; esac; done; exec git "$@"`)
	repo := open(t, r, func(o *gitcmd.Options) { o.Path, o.Unfenced = counting, true })
	if _, err := repo.Refs(t.Context()); err != nil { // what git can do is found out before
		t.Fatal(err)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	return repo, func() []string {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(b))
	}
}

// age gives files a time at which nobody writes any more.
func age(t *testing.T, r *gittest.Repo, names ...string) {
	t.Helper()
	at := unix.NsecToTimeval(time.Now().Add(-time.Hour).UnixNano())
	for _, name := range names {
		if err := unix.Lutimes(filepath.Join(r.Dir, name), []unix.Timeval{at, at}); err != nil {
			t.Fatal(err)
		}
	}
}

// settle tells the index of files that nobody writes any more.
func settle(t *testing.T, r *gittest.Repo, names ...string) {
	t.Helper()
	age(t, r, names...)
	r.Git("update-index", "--refresh")
}

// TestAdvanceByOneGit: a checkout in which nothing was staged, and whose files are those of the commit, goes along by the git
// alone that writes the new ones. Where a file is another one, git says whether it differs.
func TestAdvanceByOneGit(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(r *gittest.Repo)
		gits []string
		ok   bool
	}{
		"as committed":     {func(*gittest.Repo) {}, []string{"read-tree"}, true},
		"untracked beside": {func(r *gittest.Repo) { r.Write("dir/mine", "mine\n") }, []string{"read-tree"}, true},
		"edited":           {func(r *gittest.Repo) { r.Write("goes", "mine\n") }, []string{"update-index", "diff-index"}, false},
		"edited before": {func(r *gittest.Repo) {
			r.Write("goes", "mine\n")
			age(t, r, "goes")
		}, []string{"update-index", "diff-index"}, false},
		"deleted":       {func(r *gittest.Repo) { _ = os.Remove(filepath.Join(r.Dir, "goes")) }, []string{"update-index", "diff-index"}, false},
		"mode":          {func(r *gittest.Repo) { _ = os.Chmod(filepath.Join(r.Dir, "goes"), 0o755) }, []string{"update-index", "diff-index"}, false},
		"in the way":    {func(r *gittest.Repo) { r.Write("dir/new", "mine\n") }, []string{"update-index", "diff-index"}, false},
		"there already": {func(r *gittest.Repo) { r.Write("dir/new", "new\n") }, []string{"update-index", "diff-index", "read-tree"}, true},
		"converted": {func(r *gittest.Repo) {
			r.Write(".git/info/attributes", "goes text eol=crlf\n")
			r.Write("goes", "goes\r\n")
		}, []string{"update-index", "read-tree"}, true},
		"hidden": {func(r *gittest.Repo) { r.Git("update-index", "--assume-unchanged", "goes") }, []string{"update-index", "read-tree", "cat-file", "update-index"}, false},
		"staged elsewhere": {func(r *gittest.Repo) {
			r.Write("mine", "mine\n")
			r.Git("add", "mine")
		}, []string{"diff-index", "update-index", "diff-index", "read-tree"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			r.Write("goes", "goes\n")
			if err := os.Symlink("goes", filepath.Join(r.Dir, "link")); err != nil {
				t.Fatal(err)
			}
			old := r.Commit("second")
			now := next(r, map[string]string{"goes": "new\n", "dir/new": "new\n"}, "README.md", "link")
			settle(t, r, "goes", "README.md", "link")
			repo, gits := openCounting(t, r)
			tt.do(r)
			if err := advance(t, repo, old, now); (err == nil) != tt.ok {
				t.Errorf("it went along: %v", err)
			}
			if got := gits(); !slices.Equal(got, tt.gits) {
				t.Errorf("gits: %v, want %v", got, tt.gits)
			}
			b, _ := os.ReadFile(filepath.Join(r.Dir, "goes"))
			if got := string(b); (got == "new\n" || got == "new\r\n") != tt.ok {
				t.Errorf("the file is %q", got)
			}
			if got := r.Git("status", "--porcelain", "--untracked-files=no"); tt.ok && got != "" && got != "A  mine" {
				t.Errorf("status: %s", got)
			}
		})
	}
}

// TestAdvanceKeepsRacyEdits: an edit of another file that git cannot see by stat data, because it was made as the index was
// written, is still seen after the checkout went along.
func TestAdvanceKeepsRacyEdits(t *testing.T) {
	r := gittest.New(t)
	r.Write("goes", "goes\n")
	r.Write("racy", "a\n")
	old := r.Commit("second")
	now := next(r, map[string]string{"goes": "new\n"})
	settle(t, r, "goes")
	file, index := filepath.Join(r.Dir, "racy"), filepath.Join(r.Dir, ".git", "index")
	at := time.Now().Add(-time.Minute)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	r.Git("config", "core.trustctime", "false")
	r.Git("update-index", "--refresh")
	r.Write("racy", "b\n")
	for _, path := range []string{file, index} {
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := advance(t, open(t, r), old, now); err != nil {
		t.Fatal(err)
	}
	if got := r.Git("status", "--porcelain"); got != " M racy" {
		t.Errorf("status: %q", got)
	}
}

// TestAdvanceRefusesUnmergedFiles: git moves no checkout along in which files are unmerged, and says so before it is asked.
func TestAdvanceRefusesUnmergedFiles(t *testing.T) {
	for want, names := range map[string][]string{
		"a is unmerged in your checkout":             {"a"},
		"a and 1 more are unmerged in your checkout": {"a", "b"},
	} {
		r := gittest.New(t)
		for _, side := range []string{"base", "mine", "theirs"} {
			for _, name := range names {
				r.Write(name, side+"\n")
			}
			r.Git("add", ".")
			if side == "mine" {
				r.Git("stash", "--quiet")
			} else {
				r.Git("commit", "--quiet", "-m", side)
			}
		}
		if out, err := r.TryGit(r.Dir, "stash", "pop"); err == nil {
			t.Fatalf("no conflict: %s", out)
		}
		staged := r.Git("ls-files", "--stage")
		err := advance(t, open(t, r), r.Git("rev-parse", "main"), next(r, map[string]string{"README.md": "changed\n"}))
		if dirty, ok := errors.AsType[*HostDirtyError](err); !ok || dirty.Cause != want || len(dirty.Files) > 0 {
			t.Errorf("%v; want %q", err, want)
		}
		if now := r.Git("ls-files", "--stage"); now != staged {
			t.Errorf("staged is %q, was %q", now, staged)
		}
	}
}
