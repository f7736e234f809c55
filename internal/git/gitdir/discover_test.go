package gitdir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/google/go-cmp/cmp"
)

func TestDiscover(t *testing.T) {
	r := gittest.New(t)
	r.Write("src/deep/x", "")
	r.Commit("x")
	library := gittest.New(t)
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library.Dir, "lib")
	r.Commit("lib")
	r.Git("worktree", "add", "--quiet", "-b", "linked", r.Beside("linked"))
	r.Git("-C", "lib", "worktree", "add", "--quiet", "-b", "linked", r.Beside("lib-linked"))
	bare := r.Beside("bare.git")
	r.Git("clone", "--quiet", "--bare", r.Dir, bare)
	r.GitIn(bare, "worktree", "add", "--quiet", r.Beside("of-bare"), "main")
	hidden := r.Beside("hidden")
	r.Git("clone", "--quiet", "--bare", r.Dir, filepath.Join(hidden, ".git"))
	r.GitIn(filepath.Join(hidden, ".git"), "worktree", "add", "--quiet", filepath.Join(hidden, "main"), "main")
	separate := r.Beside("separate")
	r.Git("init", "--quiet", "--separate-git-dir="+r.Beside("separate.git"), separate)
	link := r.Beside("link")
	if err := os.Symlink(filepath.Join(r.Dir, "src"), link); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(r.Dir, "src", "odd", ".git", "x"), "an empty directory of that name is no repository")

	git := filepath.Join(r.Dir, ".git")
	main := Place{Root: r.Dir, CommonDir: git, GitDir: git, WorkDir: r.Dir}
	inside := Place{Root: r.Dir, CommonDir: git, GitDir: git}
	module := filepath.Join(git, "modules", "lib")
	for name, tt := range map[string]struct {
		dir  string
		want Place
	}{
		"main":                   {r.Dir, main},
		"subdirectory":           {filepath.Join(r.Dir, "src", "deep"), main},
		"symbolic link":          {filepath.Join(link, "deep"), main},
		"odd directory":          {filepath.Join(r.Dir, "src", "odd"), main},
		"inside .git":            {filepath.Join(git, "refs", "heads"), inside},
		".git itself":            {git, inside},
		"inside an admin dir":    {filepath.Join(git, "worktrees", "linked"), inside},
		"linked":                 {r.Beside("linked"), Place{r.Dir, git, filepath.Join(git, "worktrees", "linked"), r.Beside("linked"), false}},
		"linked, subdirectory":   {r.Beside("linked/src"), Place{r.Dir, git, filepath.Join(git, "worktrees", "linked"), r.Beside("linked"), false}},
		"submodule":              {filepath.Join(r.Dir, "lib", "src"), Place{r.Dir + "/lib", module, module, r.Dir + "/lib", false}},
		"submodule's git dir":    {filepath.Join(module, "refs"), Place{r.Dir + "/lib", module, module, "", false}},
		"worktree of submodule":  {r.Beside("lib-linked"), Place{r.Dir + "/lib", module, filepath.Join(module, "worktrees", "lib-linked"), r.Beside("lib-linked"), false}},
		"bare":                   {bare, Place{bare, bare, bare, "", true}},
		"inside bare":            {filepath.Join(bare, "refs"), Place{bare, bare, bare, "", true}},
		"worktree of bare":       {r.Beside("of-bare/src"), Place{bare, bare, filepath.Join(bare, "worktrees", "of-bare"), r.Beside("of-bare"), true}},
		"bare called .git":       {hidden, Place{hidden + "/.git", hidden + "/.git", hidden + "/.git", "", true}},
		"worktree of that":       {filepath.Join(hidden, "main"), Place{hidden + "/.git", hidden + "/.git", hidden + "/.git/worktrees/main", hidden + "/main", true}},
		"separate git directory": {separate, Place{separate, r.Beside("separate.git"), r.Beside("separate.git"), separate, false}},
	} {
		got, err := Discover(tt.dir)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestDiscoverBareWithWorktreeConfig: with extensions.worktreeConfig, core.bare is in
// another file.
func TestDiscoverBareWithWorktreeConfig(t *testing.T) {
	r := gittest.New(t)
	bare := r.Beside("bare/.git")
	r.Git("clone", "--quiet", "--bare", r.Dir, bare)
	r.GitIn(bare, "worktree", "add", "--quiet", r.Beside("bare/main"), "main")
	r.GitIn(r.Beside("bare/main"), "sparse-checkout", "set", "src") // moves core.bare to config.worktree
	if out, err := r.TryGit(bare, "config", "--file", bare+"/config", "core.bare"); err == nil {
		t.Fatalf("core.bare is still %s in config: the test is not what it was", out)
	}
	for _, dir := range []string{r.Beside("bare"), r.Beside("bare/main")} {
		if p, err := Discover(dir); err != nil || !p.Bare || p.Root != bare {
			t.Errorf("%s: %+v, %v, want a bare repository", dir, p, err)
		}
	}
}

func TestDiscoverNothing(t *testing.T) {
	r := gittest.New(t)
	nested := filepath.Join(r.Dir, "nested")
	top := t.TempDir()
	for _, tt := range []struct {
		name string
		dir  string
		make func()
		want error
	}{
		{"no repository", top, func() {}, ErrNoRepository},
		{"no directory", filepath.Join(top, "none"), func() {}, os.ErrNotExist},
		// A directory whose worktree registration is gone must not resolve to the
		// repository around it.
		{"file to nothing", nested + "/1/src", func() { gittest.WriteFile(t, nested+"/1/.git", "gitdir: "+top+"/none\n") }, ErrDeadWorktree},
		{"empty file", nested + "/2/src", func() { gittest.WriteFile(t, nested+"/2/.git", "") }, ErrDeadWorktree},
		{"file of something else", nested + "/3/src", func() { gittest.WriteFile(t, nested+"/3/.git", "hello\n") }, ErrDeadWorktree},
		{"link to nothing", nested + "/4/src", func() { _ = os.Symlink(top+"/none", nested+"/4/.git") }, ErrDeadWorktree},
		{"empty commondir", nested + "/5/src", func() {
			gittest.WriteFile(t, top+"/5/commondir", "")
			gittest.WriteFile(t, nested+"/5/.git", "gitdir: "+top+"/5\n")
		}, ErrDeadWorktree},
		{"commondir to nothing", nested + "/6/src", func() {
			gittest.WriteFile(t, top+"/6/commondir", "../none\n")
			gittest.WriteFile(t, nested+"/6/.git", "gitdir: "+top+"/6\n")
		}, ErrDeadWorktree},
		{"file to a directory that is no repository", nested + "/7/src", func() {
			gittest.WriteFile(t, nested+"/7/.git", "gitdir: "+top+"\n")
		}, ErrDeadWorktree},
	} {
		if tt.dir != filepath.Join(top, "none") {
			if err := os.MkdirAll(tt.dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		tt.make()
		if p, err := Discover(tt.dir); !errors.Is(err, tt.want) {
			t.Errorf("%s: %+v, %v, want %v", tt.name, p, err, tt.want)
		}
	}
}

func TestDiscoverFollowsALinkToAGitFile(t *testing.T) {
	r := gittest.New(t)
	r.Git("worktree", "add", "--quiet", "-b", "linked", r.Beside("linked"))
	file := filepath.Join(r.Beside("linked"), ".git")
	if err := errors.Join(os.Rename(file, r.Beside("pointer")), os.Symlink(r.Beside("pointer"), file)); err != nil {
		t.Fatal(err)
	}
	want := r.GitIn(r.Beside("linked"), "rev-parse", "--absolute-git-dir")
	if p, err := Discover(r.Beside("linked")); err != nil || p.GitDir != want {
		t.Errorf("%+v, %v, want the git directory %s", p, err, want)
	}
}

func TestReadFormat(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]Format{
		"":                                       {},
		"[core]\n\tbare = true\n":                {Bare: true},
		"[core]\n\tbare\n":                       {Bare: true},
		"[CORE]\r\n\tBare = Yes\r\n":             {Bare: true},
		"[core] bare = 1 # comment\n":            {Bare: true},
		"[core]\n\tbare = false\n":               {},
		"[core]\n# bare = true\n":                {},
		"[core \"x\"]\n\tbare = true\n":          {},
		"[core]\n\tbare = true\n\tbare = false":  {},
		"[core]\n\tworktree = \"/a b;c\" ; d\n":  {Worktree: "/a b;c"},
		"[core]\n\tworktree = \"a\\\\b\\\"c\"\n": {Worktree: `a\b"c`},
		"[extensions]\n\tobjectFormat = sha256\n\trefStorage = reftable\n":          {ObjectFormat: "sha256", RefStorage: "reftable"},
		"[extensions]\n\tworktreeConfig = on\n[core]\n\tbare=true":                  {WorktreeConfig: true, Bare: true},
		"[include]\n\tpath = other\n[remote \"core\"]\n\tbare = true\n[x]\nbare=on": {},
	} {
		gittest.WriteFile(t, filepath.Join(dir, "config"), text)
		if got := ReadFormat(dir); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
