package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/refs"
	"github.com/croft-sh/croft/internal/git/worktree"
)

// userCases are settings in a user's own configuration by which plain git decides which
// files there are and what they contain.
var userCases = map[string]func(t *testing.T, r *gittest.Repo){
	"nothing": func(*testing.T, *gittest.Repo) {},
	"core.excludesFile": func(t *testing.T, r *gittest.Repo) {
		gittest.WriteFile(t, filepath.Join(r.Home, ".ignore"), "*.log\n")
		r.Git("config", "--global", "core.excludesFile", "~/.ignore")
	},
	"the default ignore file": func(t *testing.T, r *gittest.Repo) {
		gittest.WriteFile(t, filepath.Join(r.Home, ".config", "git", "ignore"), "*.log\n")
	},
	"configuration in XDG_CONFIG_HOME": func(t *testing.T, r *gittest.Repo) {
		gittest.WriteFile(t, filepath.Join(r.Home, ".ignore"), "*.log\n")
		gittest.WriteFile(t, filepath.Join(r.Home, ".config", "git", "config"), "[core]\n\texcludesfile = "+r.Home+"/.ignore # mine\n")
	},
	"an odd path": func(t *testing.T, r *gittest.Repo) {
		path := filepath.Join(r.Home, "a \"b\" \\c\t; # d")
		gittest.WriteFile(t, path, "*.log\n")
		r.Git("config", "--global", "core.excludesFile", path)
	},
	"a key without a value": func(t *testing.T, r *gittest.Repo) {
		gittest.WriteFile(t, filepath.Join(r.Home, ".gitconfig"), "[core]\n\tautocrlf\n\tsafecrlf = false\n")
	},
	"filter": func(t *testing.T, r *gittest.Repo) {
		globalFilter(t, r, "lfs")
	},
	"filter in core.attributesFile": func(t *testing.T, r *gittest.Repo) {
		globalFilter(t, r, "mine")
		gittest.WriteFile(t, filepath.Join(r.Home, "attributes"), "*.txt filter=mine\n")
		r.Git("config", "--global", "core.attributesFile", filepath.Join(r.Home, "attributes"))
	},
	"filter in the default attributes": func(t *testing.T, r *gittest.Repo) {
		globalFilter(t, r, "mine")
		gittest.WriteFile(t, filepath.Join(r.Home, ".config", "git", "attributes"), "*.txt filter=mine\n")
	},
	"filter that depends on the locale": func(t *testing.T, r *gittest.Repo) {
		r.Env = append(r.Env, "LC_ALL=C.UTF-8")
		r.Git("config", "--global", "filter.lfs.clean", script(t, filepath.Join(r.Home, "clean"), "sed 's/./x/g'"))
		r.Git("config", "--global", "filter.lfs.smudge", script(t, filepath.Join(r.Home, "smudge"), "sed 's/./y/g'"))
	},
	"filter by a conditional include": func(t *testing.T, r *gittest.Repo) {
		globalFilter(t, r, "lfs")
		if err := os.Rename(filepath.Join(r.Home, ".gitconfig"), filepath.Join(r.Home, "work")); err != nil {
			t.Fatal(err)
		}
		r.Git("config", "--global", "includeIf.gitdir:"+filepath.Dir(r.Dir)+"/.path", "work")
	},
	"filter by branch": func(t *testing.T, r *gittest.Repo) {
		globalFilter(t, r, "lfs")
		if err := os.Rename(filepath.Join(r.Home, ".gitconfig"), filepath.Join(r.Home, "branch")); err != nil {
			t.Fatal(err)
		}
		r.Git("config", "--global", "includeIf.onbranch:worktree-**.path", "branch")
		// The filter also applies on the branch where the content is committed. Otherwise a
		// fresh checkout counts as changed when its files are read, and git reads files
		// that are as young as the index: the result would depend on the clock.
		r.Git("switch", "--quiet", "-c", "worktree-first")
	},
	"core.autocrlf=true":  func(_ *testing.T, r *gittest.Repo) { r.Git("config", "--global", "core.autocrlf", "true") },
	"core.autocrlf=input": func(_ *testing.T, r *gittest.Repo) { r.Git("config", "--global", "core.autocrlf", "input") },
	"core.eol=crlf":       func(_ *testing.T, r *gittest.Repo) { r.Git("config", "--global", "core.eol", "crlf") },
	"core.symlinks=false": func(_ *testing.T, r *gittest.Repo) {
		r.Git("config", "--global", "core.symlinks", "false")
		_, _ = r.TryGit(r.Dir, "config", "--unset", "core.symlinks")
	},
	"info/exclude": func(t *testing.T, r *gittest.Repo) {
		gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "exclude"), "*.log\n")
	},
	"info/attributes": func(t *testing.T, r *gittest.Repo) {
		gittest.WriteFile(t, filepath.Join(r.Dir, ".git", "info", "attributes"), "dos text=auto\nunix text eol=crlf\n")
	},
	"the repository's own core.attributesFile": func(t *testing.T, r *gittest.Repo) {
		gittest.WriteFile(t, filepath.Join(r.Home, "its"), "dos text=auto\nunix text eol=crlf\n")
		r.Git("config", "core.attributesFile", filepath.Join(r.Home, "its"))
	},
	"the repository's own core.autocrlf": func(_ *testing.T, r *gittest.Repo) { r.Git("config", "core.autocrlf", "input") },
	"the repository's own core.eol":      func(_ *testing.T, r *gittest.Repo) { r.Git("config", "core.eol", "crlf") },
	"the repository's own large files": func(t *testing.T, r *gittest.Repo) {
		// A replacement for git-lfs, in the user's PATH.
		script(t, filepath.Join(r.Home, "bin", "git-lfs"), "case $1 in clean) sed 's/^/stored: /';; smudge) sed 's/^stored: //';; esac")
		r.Env = append(r.Env, "PATH="+filepath.Join(r.Home, "bin")+":"+os.Getenv("PATH"))
		r.Git("config", "filter.lfs.clean", "git-lfs clean -- %f")
		r.Git("config", "filter.lfs.smudge", "git-lfs smudge -- %f")
		r.Git("config", "filter.lfs.required", "true")
	},
	"the repository overrides": func(t *testing.T, r *gittest.Repo) {
		r.Git("config", "--global", "core.autocrlf", "true")
		r.Git("config", "core.autocrlf", "false")
		gittest.WriteFile(t, filepath.Join(r.Home, "mine"), "*.md\n")
		gittest.WriteFile(t, filepath.Join(r.Home, "its"), "*.log\n")
		r.Git("config", "--global", "core.excludesFile", filepath.Join(r.Home, "mine"))
		r.Git("config", "core.excludesFile", filepath.Join(r.Home, "its"))
	},
}

// globalFilter defines a filter that changes every line, in the user's own
// configuration.
func globalFilter(t *testing.T, r *gittest.Repo, name string) {
	t.Helper()
	r.Git("config", "--global", "filter."+name+".clean", script(t, filepath.Join(r.Home, "clean"), "sed 's/^/stored: /'"))
	r.Git("config", "--global", "filter."+name+".smudge", script(t, filepath.Join(r.Home, "smudge"), "sed 's/^stored: //'"))
	r.Git("config", "--global", "filter."+name+".required", "true")
}

// content writes files that these settings apply to.
func content(r *gittest.Repo) {
	r.Write(".gitattributes", "*.txt filter=lfs\n*.auto text=auto\n*.crlf text eol=crlf\n*.bin -text\n")
	r.Write("unix", "a\nb\n")
	r.Write("x.auto", "a\nb\n")
	r.Write("x.crlf", "a\nb\n")
	r.Write("x.bin", "a\r\nb\n")
	r.Write("x.txt", "Grüße\n")
	_ = os.Symlink("unix", filepath.Join(r.Dir, "link"))
}

// edit makes the same changes in two checkouts.
func edit(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		for name, text := range map[string]string{
			"unix": "a\r\nc\n", "dos": "a\r\nb\r\n", "new.auto": "a\r\nb\r\n", "x.txt": "Grüße!\n", "new.txt": "n\n",
			"debug.log": "ignored by some\n", "note.md": "", "sub/debug.log": "",
		} {
			gittest.WriteFile(t, filepath.Join(dir, name), text)
		}
	}
}

// TestUserConfigurationCounts compares with plain git: the files of a fresh checkout, the
// entries of a status, and the tree of a commit.
func TestUserConfigurationCounts(t *testing.T) {
	for name, configure := range userCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t)
			configure(t, r)
			content(r)
			r.Commit("content")
			plain := r.Beside("plain")
			r.Git("worktree", "add", "--quiet", "-b", "worktree-plain", plain)
			w := addWorktree(t, r, open(t, r), "worktree-door")

			if diff := cmp.Diff(files(t, plain), files(t, w.Path)); diff != "" {
				t.Errorf("checkout (-plain +door):\n%s", diff)
			}
			compareStatus(t, r, w, plain)
			edit(t, plain, w.Path)
			compareStatus(t, r, w, plain)
			r.GitIn(plain, "add", "--all")
			if _, err := w.RunGit(t.Context(), gitcmd.Call{Args: []string{"add", "--all"}, Locks: true}); err != nil {
				t.Fatal(err)
			}
			tree, err := w.RunGit(t.Context(), gitcmd.Call{Args: []string{"write-tree"}, Locks: true})
			if want := r.GitIn(plain, "write-tree"); err != nil || strings.TrimSpace(string(tree)) != want {
				t.Errorf("tree %s, %v, want %s", tree, err, want)
			}
		})
	}
}

func compareStatus(t *testing.T, r *gittest.Repo, w *Worktree, plain string) {
	t.Helper()
	got := statusOf(t, w, UntrackedAll)
	for _, dir := range []string{plain, w.Path} {
		if diff := cmp.Diff(plainStatus(t, r, dir), got); diff != "" {
			t.Errorf("status in %s (-plain +door):\n%s", filepath.Base(dir), diff)
		}
	}
}

// withoutIdentity is an environment in which only configuration names the committer.
func withoutIdentity(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_AUTHOR_") || strings.HasPrefix(kv, "GIT_COMMITTER_")
	})
}

func TestIdentity(t *testing.T) {
	r := gittest.New(t)
	r.Env = withoutIdentity(r.Env)
	r.Git("config", "--global", "user.name", "Global")
	r.Git("config", "--global", "user.email", "global@example.com")
	gittest.WriteFile(t, filepath.Join(r.Home, "work.inc"), "[user]\n\tname = \"Wörk \\\"W\\\" ; #\"\n")
	r.Git("config", "--global", "includeIf.gitdir:"+filepath.Dir(r.Dir)+"/.path", "work.inc")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	for _, step := range []struct {
		name, want string
		do         func()
	}{
		{"an include by directory", `Wörk "W" ; # <global@example.com>`, func() {}},
		{"the repository's own address", `Wörk "W" ; # <local@example.com>`, func() { r.Git("config", "user.email", "local@example.com") }},
		{"the author's own", `Author <author@example.com>`, func() {
			r.Git("config", "--global", "author.name", "Author")
			r.Git("config", "--global", "author.email", "author@example.com")
		}},
	} {
		step.do()
		report, err := repo.ConfigReport()
		if err == nil {
			err = repo.AcceptConfig(report)
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := w.RunGit(t.Context(), gitcmd.Call{Args: []string{"var", "GIT_AUTHOR_IDENT"}})
		got := string(out[:max(0, strings.LastIndexByte(string(out), '>')+1)])
		plain := r.GitIn(w.Path, "var", "GIT_AUTHOR_IDENT")
		if err != nil || got != step.want || !strings.HasPrefix(plain, got) {
			t.Errorf("%s: %q, %v, want %q; plain git has %q", step.name, got, err, step.want, plain)
		}
	}
}

// TestReflogIdentity: a git that writes a reflog never has to look up the machine's name,
// for which it would ask a server.
func TestReflogIdentity(t *testing.T) {
	for _, c := range []struct {
		name, want string
		set        func(r *gittest.Repo)
	}{
		{"nobody", gitcmd.UnknownCommitter, func(*gittest.Repo) {}},
		{"by variables", "Vera <vera@example.com>", func(r *gittest.Repo) {
			r.Env = append(r.Env, "GIT_COMMITTER_NAME=Vera", "GIT_COMMITTER_EMAIL=vera@example.com")
		}},
		{"by the address of mail", "<mail@example.com>", func(r *gittest.Repo) { r.Env = append(r.Env, "EMAIL=mail@example.com") }},
		{"by configuration", "Global <global@example.com>", func(r *gittest.Repo) {
			r.Git("config", "--global", "user.name", "Global")
			r.Git("config", "--global", "user.email", "global@example.com")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := gittest.New(t)
			r.Env = withoutIdentity(r.Env)
			c.set(r)
			w := addWorktree(t, r, open(t, r), "wt")
			if err := w.Checkout(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			head := r.Git("rev-parse", "HEAD")
			if err := w.Repo.UpdateRefs(t.Context(), refs.Update{Ref: "refs/heads/moved", New: head, Old: ""}); err != nil {
				t.Fatal(err)
			}
			for _, log := range []string{filepath.Join(w.Admin, "logs", "HEAD"), filepath.Join(w.Repo.CommonDir, "logs", "refs", "heads", "moved")} {
				b, err := os.ReadFile(log)
				lines := strings.Split(strings.TrimSpace(string(b)), "\n")
				if err != nil || !strings.Contains(lines[len(lines)-1], c.want) {
					t.Errorf("%s has %q, %v, want %s", log, b, err, c.want)
				}
			}
		})
	}
}

func TestSafeDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a repository to somebody else")
	}
	r := gittest.New(t)
	origin := gittest.New(t)
	origin.Write("more", "")
	origin.Commit("more") // there is nothing to fetch otherwise
	r.Git("remote", "add", "origin", origin.Dir)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	for _, top := range []string{r.Dir, w.Path, origin.Dir} {
		chown(t, top, 12345)
	}
	if _, err := r.TryGit(r.Dir, "status"); err == nil {
		t.Fatal("plain git trusts a repository of somebody else's")
	}
	// Versions of git differ in whether one may fetch from another user's repository: Croft
	// must answer as plain git does.
	_, plain := r.TryGit(r.Dir, "-c", "safe.directory="+r.Dir, "fetch", "--dry-run", "origin")
	if err := repo.Fetch(t.Context(), "origin"); errors.Is(err, gitcmd.KindOwner) != (plain != nil) || (err != nil) != (plain != nil) {
		t.Errorf("fetch from a repository of somebody else's: %v; plain git: %v", err, plain)
	}
	r.Git("config", "--global", "--add", "safe.directory", origin.Dir+"/.git")
	r.Git("config", "--global", "--add", "safe.directory", origin.Dir)
	if err := repo.Fetch(t.Context(), "origin"); err != nil {
		t.Errorf("fetch with safe.directory: %v", err)
	}
	if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
		t.Errorf("status: %q", got)
	}
}

func chown(t *testing.T, top string, uid int) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// cryptRepo has a filter as git-crypt installs it: required, and in the repository's
// configuration.
func cryptRepo(t *testing.T) *gittest.Repo {
	t.Helper()
	r := gittest.New(t)
	r.Git("config", "filter.git-crypt.clean", script(t, filepath.Join(r.Home, "clean"), "tr a-z n-za-m"))
	r.Git("config", "filter.git-crypt.smudge", script(t, filepath.Join(r.Home, "smudge"), "tr a-z n-za-m"))
	r.Git("config", "filter.git-crypt.required", "true")
	r.Write(".gitattributes", "secret filter=git-crypt\n")
	r.Write("secret", "hunter\n")
	r.Commit("secret")
	return r
}

func TestRefusedFilter(t *testing.T) {
	r := cryptRepo(t)
	repo := open(t, r)
	r.Git("branch", "wt")
	w, err := repo.Add(t.Context(), worktree.AddSpec{Admin: "croft-wt", Path: r.Beside("wt"), Branch: "wt"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Checkout(t.Context(), 1); !errors.Is(err, gitcmd.KindFilter) {
		t.Errorf("checkout: %v, want KindFilter", err)
	}
	if names, err := repo.RefusedFilters(); err != nil || !slices.Equal(names, []string{"git-crypt"}) {
		t.Errorf("RefusedFilters = %q, %v", names, err)
	}
	if err := w.Discard(); err != nil {
		t.Error(err)
	}

	allowed := open(t, r, func(o *gitcmd.Options) {
		o.Filters = []string{filepath.Join(r.Home, "clean"), filepath.Join(r.Home, "smudge")}
	})
	if names, err := allowed.RefusedFilters(); err != nil || len(names) > 0 {
		t.Errorf("RefusedFilters = %q, %v, although it is allowed", names, err)
	}
	w, err = allowed.Add(t.Context(), worktree.AddSpec{Admin: "croft-wt", Path: r.Beside("wt"), Branch: "wt"})
	if err == nil {
		err = w.Checkout(t.Context(), 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, filepath.Join(w.Path, "secret")); got != "hunter\n" {
		t.Errorf("an allowed filter gave %q", got)
	}
	if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
		t.Errorf("status: %q", got)
	}
}

func TestLocalOverrideOfAGlobalFilterIsIgnored(t *testing.T) {
	r := gittest.New(t)
	globalFilter(t, r, "lfs")
	content(r)
	r.Commit("content")
	r.Git("config", "filter.lfs.smudge", script(t, filepath.Join(r.Home, "evil"), "echo evil"))
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	if got := readFile(t, filepath.Join(w.Path, "x.txt")); got != "Grüße\n" {
		t.Errorf("the file is %q: not what the user's own filter makes", got)
	}
	if names, err := repo.RefusedFilters(); err != nil || len(names) > 0 {
		t.Errorf("RefusedFilters = %q, %v: the user's own filter ran instead", names, err)
	}
}

// TestSettingsFollowTheFiles: an agent in a checkout writes configuration while a process
// has the repository open.
func TestSettingsFollowTheFiles(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	refused := func(want ...string) {
		t.Helper()
		if got, err := repo.RefusedFilters(); err != nil || !slices.Equal(got, want) {
			t.Errorf("RefusedFilters = %q, %v, want %q", got, err, want)
		}
	}
	refused()
	r.Git("config", "include.path", "../later")
	refused()
	gittest.WriteFile(t, filepath.Join(r.Dir, "later"), "[filter \"a\"]\n\tclean = x\n")
	refused("a")
	gittest.WriteFile(t, filepath.Join(r.Dir, "later"), "[filter \"b\"]\n\tclean = x\n")
	refused("b")
	r.Git("config", "--global", "filter.b.clean", "mine")
	refused()
	if err := os.Remove(filepath.Join(r.Dir, "later")); err != nil {
		t.Fatal(err)
	}
	refused()

	// The generated file is written again when it is gone: without it git would not have
	// the user's configuration.
	s, err := repo.SettingsOf(t.Context(), repo.CommonDir)
	if err != nil {
		t.Fatal(err)
	}
	before := readFile(t, s.File)
	if err := os.RemoveAll(repo.Git.Options.ConfigDir); err != nil {
		t.Fatal(err)
	}
	if s, err = repo.SettingsOf(t.Context(), repo.CommonDir); err != nil || readFile(t, s.File) != before {
		t.Errorf("the generated file was not made again: %v", err)
	}
	same, err := repo.SettingsOf(t.Context(), repo.CommonDir)
	if err != nil || same != s {
		t.Errorf("settings were read again although nothing changed: %v", err)
	}
}

func TestGeneratedConfigurationIsPrivate(t *testing.T) {
	r := gittest.New(t)
	r.Git("config", "--global", "http.extraHeader", "Authorization: secret")
	repo := open(t, r)
	s, err := repo.SettingsOf(t.Context(), repo.CommonDir)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{s.File: 0o600, filepath.Dir(s.File): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}
