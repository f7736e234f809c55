package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/croft-sh/croft/internal/fsx"
	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gitconfig"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/worktree"
)

func TestLocalExclude(t *testing.T) {
	for name, ignore := range map[string]func(t *testing.T, r *gittest.Repo){
		"no patterns of the user's": func(*testing.T, *gittest.Repo) {},
		"core.excludesFile": func(t *testing.T, r *gittest.Repo) {
			gittest.WriteFile(t, filepath.Join(r.Home, "mine"), "*.log") // no newline at the end
			r.Git("config", "--global", "core.excludesFile", "~/mine")
		},
		"the default file": func(t *testing.T, r *gittest.Repo) {
			gittest.WriteFile(t, filepath.Join(r.Home, ".config", "git", "ignore"), "*.log\n")
		},
		"the repository's own": func(t *testing.T, r *gittest.Repo) {
			gittest.WriteFile(t, filepath.Join(r.Home, ".config", "git", "ignore"), "*.md\n")
			gittest.WriteFile(t, filepath.Join(r.Home, "its"), "*.log\n")
			r.Git("config", "core.excludesFile", filepath.Join(r.Home, "its"))
		},
		"none, and said so": func(t *testing.T, r *gittest.Repo) {
			gittest.WriteFile(t, filepath.Join(r.Home, ".config", "git", "ignore"), "*.log\n")
			r.Git("config", "--global", "core.excludesFile", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t)
			ignore(t, r)
			repo := open(t, r)
			w := addWorktree(t, r, repo, "wt")
			foreign := r.Beside("foreign")
			r.Git("worktree", "add", "--quiet", "-b", "foreign", foreign)
			dirs := []string{r.Dir, foreign, w.Path}
			for _, dir := range dirs {
				for _, file := range []string{"CLAUDE.md", "src/CLAUDE.md", "debug.log", "AGENTS.md"} {
					gittest.WriteFile(t, filepath.Join(dir, file), "")
				}
			}
			before := [][]string{plainStatus(t, r, r.Dir), plainStatus(t, r, foreign)}
			want := slices.DeleteFunc(plainStatus(t, r, w.Path), func(s string) bool { return s == "?? CLAUDE.md" || s == "?? AGENTS.md" })

			if err := repo.LocalExclude(t.Context(), "croft-*", []string{"/CLAUDE.md", "/AGENTS.md"}); err != nil {
				t.Fatal(err)
			}
			config := readFile(t, filepath.Join(r.Dir, ".git", "config"))
			for range 2 {
				if err := repo.LocalExclude(t.Context(), "croft-*", []string{"/CLAUDE.md", "/AGENTS.md"}); err != nil {
					t.Fatal(err)
				}
			}
			if readFile(t, filepath.Join(r.Dir, ".git", "config")) != config || strings.Count(config, "[includeif ") != 1 {
				t.Errorf("it is not done once:\n%s", config)
			}
			if got := plainStatus(t, r, w.Path); !slices.Equal(got, want) {
				t.Errorf("plain git in the worktree: %q, want %q", got, want)
			}
			if got := statusOf(t, w, UntrackedAll); !slices.Equal(got, want) {
				t.Errorf("the door in the worktree: %q, want %q", got, want)
			}
			for i, dir := range dirs[:2] {
				if got := plainStatus(t, r, dir); !slices.Equal(got, before[i]) {
					t.Errorf("%s: %q, before %q", filepath.Base(dir), got, before[i])
				}
			}
		})
	}
}

func TestLocalExcludeFollowsTheUsersFile(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	gittest.WriteFile(t, filepath.Join(w.Path, "debug.log"), "")
	if err := repo.LocalExclude(t.Context(), "croft-*", []string{"/CLAUDE.md"}); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFile(t, filepath.Join(r.Home, ".config", "git", "ignore"), "*.log\n")
	if err := repo.LocalExclude(t.Context(), "croft-*", []string{"/CLAUDE.md"}); err != nil {
		t.Fatal(err)
	}
	if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
		t.Errorf("status: %q", got)
	}
}

// TestLocalExcludeInAnOddPlace: the condition in the configuration is a pattern, so special
// characters of the path are escaped.
func TestLocalExcludeInAnOddPlace(t *testing.T) {
	r := gittest.New(t)
	for _, name := range []string{"[x] *", `back\slash "quote"`, "a;b#c"} {
		dir := r.Beside(name)
		if err := os.Rename(r.Dir, dir); err != nil {
			t.Fatal(err)
		}
		r.Dir = dir
		repo := open(t, r)
		w, err := repo.Add(t.Context(), worktree.AddSpec{Admin: "croft-x", Path: r.Beside("wt"), Head: r.Git("rev-parse", "HEAD")})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Checkout(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := repo.LocalExclude(t.Context(), "croft-*", []string{"/CLAUDE.md"}); err != nil {
			t.Fatal(err)
		}
		gittest.WriteFile(t, filepath.Join(w.Path, "CLAUDE.md"), "")
		if got := statusOf(t, w, UntrackedAll); len(got) > 0 {
			t.Errorf("in %s: %q", name, got)
		}
		if err := w.Discard(); err != nil {
			t.Error(err)
		}
	}
}

func TestExclude(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	file := filepath.Join(r.Dir, ".git", "info", "exclude")
	gittest.WriteFile(t, file, "mine\r\nlast")
	for range 2 {
		if err := repo.Exclude("/.worktrees/", "mine"); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := readFile(t, file), "mine\r\nlast\n/.worktrees/\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	gittest.WriteFile(t, filepath.Join(r.Dir, ".worktrees", "x"), "")
	if got := plainStatus(t, r, r.Dir); len(got) > 0 {
		t.Errorf("status: %q", got)
	}
	// Croft does not write through a link: an agent may have put it there.
	shared := filepath.Join(r.Home, "shared")
	gittest.WriteFile(t, shared, "alias ll=ls\n")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shared, file); err != nil {
		t.Fatal(err)
	}
	if err := repo.Exclude("/x/"); !errors.Is(err, fsx.ErrNotRegular) {
		t.Errorf("a link: %v", err)
	}
	if err := os.Rename(filepath.Dir(file), filepath.Join(r.Home, "info")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(r.Home, "info"), filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	if err := repo.Exclude("/x/"); !errors.Is(err, fsx.ErrNotRegular) {
		t.Errorf("a link to the directory: %v", err)
	}
	if got := readFile(t, shared); got != "alias ll=ls\n" {
		t.Errorf("the link was written through: %q", got)
	}
	if err := os.RemoveAll(filepath.Dir(file)); err != nil {
		t.Fatal(err)
	}
	if err := repo.Exclude("/y/"); err != nil || readFile(t, file) != "/y/\n" {
		t.Errorf("without info: %v", err)
	}
}

// TestGeneratedConfigurationReadsBack: git reads back every setting that Croft writes,
// whatever bytes it has.
func TestGeneratedConfigurationReadsBack(t *testing.T) {
	r := gittest.New(t)
	repo := open(t, r)
	var want []gitconfig.Entry
	for _, value := range []string{
		"", " ", " lead and trail ", "a # b ; c", `quo"te`, `back\slash\`, "new\nline\n", "tab\t", "bell\b", "cr\r", "a\rb", "caf\xe9", "ünï", "=", "[x]", "\x01\x7f",
	} {
		want = append(want,
			gitconfig.Entry{Key: "user.name", Value: value},
			gitconfig.Entry{Key: `url.https://[x]/a.b "c" \d.insteadof`, Value: value})
	}
	want = append(want, gitconfig.Entry{Key: "commit.gpgsign", Bare: true})
	file, err := repo.Git.WriteConfig(want)
	if err != nil {
		t.Fatal(err)
	}
	out, err := repo.Git.Run(t.Context(), gitcmd.Target{Repo: repo.Core()}, gitcmd.Call{Args: []string{"config", "--file", file, "--list", "-z", "--show-scope", "--show-origin"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := gitconfig.ParseList(out)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d entries, %v, want %d", len(got), err, len(want))
	}
	for i := range got {
		if got[i].Key != want[i].Key || got[i].Value != want[i].Value || got[i].Bare != want[i].Bare {
			t.Errorf("%q = %q, want %q = %q", got[i].Key, got[i].Value, want[i].Key, want[i].Value)
		}
	}
}
