//go:build unix

package git

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/croft-sh/croft/internal/git/gitcmd"
	"github.com/croft-sh/croft/internal/git/gittest"
	"github.com/croft-sh/croft/internal/git/walk"
)

// withoutStatus opens a repository with a git that has no status once it is said.
func withoutStatus(t *testing.T, r *gittest.Repo) (repo *Repository, say func(bool)) {
	t.Helper()
	flag := filepath.Join(r.Home, "without-status")
	path := script(t, filepath.Join(r.Home, "git-without-status"), `for a; do [ "$a" = status ] && [ -e `+flag+` ] && exit 9; done; exec git "$@"`)
	return open(t, r, func(o *gitcmd.Options) { o.Path = path }), func(without bool) {
		_ = os.Remove(flag)
		if without {
			gittest.WriteFile(t, flag, "")
		}
	}
}

// changesIn lists what differs, as "XY path", and whether git was needed for it.
func changesIn(t *testing.T, s *Statuses, w *Worktree) (list []string, needsGit bool) {
	t.Helper()
	entries, err := s.Of(t.Context(), w, UntrackedAll)
	s.Close()
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%c%c %s", e.Index, e.Work, e.Path))
	}
	return list, err != nil
}

// TestCleanIsKnownWithoutGit: git is not started for a checkout that is clean, and is for any other.
func TestCleanIsKnownWithoutGit(t *testing.T) {
	r := gittest.New(t)
	r.Write("dir/a", "a\n")
	r.Write("dir/b", "b\n")
	r.Commit("files")
	repo, without := withoutStatus(t, r)
	w := addWorktree(t, r, open(t, r), "wt")
	without(true)
	w = repo.Linked("croft-wt", w.Path)
	file := func(name string) string { return filepath.Join(w.Path, name) }
	write := func(name, text string) func() {
		return func() { gittest.WriteFile(t, file(name), text) }
	}
	in := func(args ...string) func() { return func() { r.GitIn(w.Path, args...) } }
	for _, k := range []struct {
		name     string
		change   func()
		needsGit bool
	}{
		{"fresh", func() {}, false},
		{"a new file", write("new", ""), true},
		{"none any more", func() { _ = os.Remove(file("new")) }, false},
		{"other content", write("dir/a", "x\n"), true},
		{"the same content again", write("dir/a", "a\n"), false},
		{"a carriage return", write("dir/a", "a\r\n"), true},
		{"staged", func() { write("dir/a", "c\n")(); in("add", "--all")() }, true},
		{"committed", in("commit", "--quiet", "-m", "c"), false},
		{"another HEAD", in("reset", "--quiet", "--soft", "HEAD~1"), true},
		{"back", in("reset", "--quiet", "--hard"), false},
		{"another mode", func() { _ = os.Chmod(file("dir/a"), 0o700) }, true},
		{"the mode again", func() { _ = os.Chmod(file("dir/a"), 0o600) }, false},
		{"to be added", func() { write("new", "")(); in("add", "--intent-to-add", "new")() }, true},
		{"forgotten", func() { in("reset", "--quiet")(); _ = os.Remove(file("new")) }, false},
		{"a link for a directory", func() { _ = os.Rename(file("dir"), r.Beside("dir")); _ = os.Symlink(r.Beside("dir"), file("dir")) }, true},
		{"the directory again", func() { _ = os.Remove(file("dir")); _ = os.Rename(r.Beside("dir"), file("dir")) }, false},
		{"attributes", func() { r.Write(".git/info/attributes", "* ident\n"); write("dir/a", "a\n")() }, true},
		{"none", func() { _ = os.Remove(filepath.Join(r.Dir, ".git/info/attributes")) }, false},
		{"attributes of the user", func() {
			gittest.WriteFile(t, filepath.Join(r.Home, ".config/git/attributes"), "* ident\n")
			write("dir/a", "a\n")()
		}, true},
		{"none of the user", func() { _ = os.Remove(filepath.Join(r.Home, ".config/git/attributes")) }, false},
		{"attributes of line ends, committed", func() {
			write(".gitattributes", "* text=auto\n")()
			in("add", "--all")()
			in("commit", "--quiet", "-m", "d")()
		}, false},
		{"attributes that convert, committed", func() {
			write(".gitattributes", "* ident\n")()
			in("add", "--all")()
			in("commit", "--quiet", "-m", "e")()
			write("dir/a", "a\n")() // it has to be read
		}, true},
		{"none in the checkout", func() { in("rm", "--quiet", ".gitattributes")(); in("commit", "--quiet", "-m", "f")() }, false},
		{"sparse", in("sparse-checkout", "set", "--no-cone", "/*"), true},
	} {
		k.change()
		list, needsGit := changesIn(t, repo.Statuses(t.Context()), w)
		if needsGit != k.needsGit || len(list) > 0 {
			t.Errorf("%s: git was needed: %v, want %v; %q", k.name, needsGit, k.needsGit, list)
		}
	}
}

// TestAnswersAreRemembered: what git said holds until something changes that git would see, and only
// for those who want to be shown it.
func TestAnswersAreRemembered(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp") // in memory git is asked wherever a file has changed
	r := gittest.New(t)
	r.Write("dir/a", "a\n")
	r.Write(".gitignore", "build/\n*.log\n")
	r.Commit("files")
	repo, without := withoutStatus(t, r)
	w := addWorktree(t, r, repo, "wt")
	file := func(name string) string { return filepath.Join(w.Path, name) }
	write := func(name, text string) func() {
		return func() { gittest.WriteFile(t, file(name), text) }
	}
	write("dir/a", "changed\n")()
	write("new/x", "x\n")()
	write("build/deep/y", "y\n")()
	write("y.log", "y\n")()
	write("own/.gitignore", "*\n")()
	if _, needs := changesIn(t, repo.RememberedStatuses(t.Context()), w); needs || len(repo.readStatusMemory().known()) > 0 {
		t.Error("an answer about what was written a moment ago is remembered")
	}
	want := []string{".M dir/a", "?? new/x"}
	learn := func() {
		t.Helper()
		time.Sleep(100 * time.Millisecond) // what is younger is not remembered
		if list, needs := changesIn(t, repo.RememberedStatuses(t.Context()), w); needs || !slices.Equal(list, want) {
			t.Fatalf("git says %q, want %q", list, want)
		}
	}
	for _, k := range []struct {
		name    string
		change  func()
		stays   bool
		restore func()
	}{
		{"nothing", func() {}, true, nil},
		{"what is ignored", func() { write("build/more/z", "z\n")(); write("y.log", "z\n")() }, true, nil},
		{"content of the same length", write("dir/a", "Changed\n"), false, nil},
		{"an untracked file", write("new/x", "y\n"), false, nil},
		{"another untracked file", write("dir/n", ""), false, func() { _ = os.Remove(file("dir/n")) }},
		{"another ignored file", write("z.log", ""), false, nil},
		{"a rule that ignores itself", write("own/.gitignore", "*\n!seen\n"), false, nil},
		{"the index", func() { r.GitIn(w.Path, "add", "new/x") }, false, func() { r.GitIn(w.Path, "reset", "--quiet") }},
		{"HEAD", func() { r.GitIn(w.Path, "commit", "--quiet", "--allow-empty", "-m", "c") }, false, nil},
		{"what is excluded", func() { r.Write(".git/info/exclude", "other\n") }, false, nil},
		{"what the user ignores", func() { gittest.WriteFile(t, filepath.Join(r.Home, ".config/git/ignore"), "other\n") }, false, nil},
		{"a repository in it", func() { r.Git("init", "--quiet", file("dir/nested")) }, false, func() { _ = os.RemoveAll(file("dir/nested")) }},
		{"the file of answers", func() { _ = os.WriteFile(repo.statusMemoryFile(), []byte("{"), 0o600) }, false, nil},
	} {
		without(false)
		learn()
		without(true)
		k.change()
		list, needs := changesIn(t, repo.RememberedStatuses(t.Context()), w)
		if needs == k.stays || k.stays && !slices.Equal(list, want) {
			t.Errorf("%s: git was needed: %v, want %v; %q", k.name, needs, !k.stays, list)
		}
		if _, needs := changesIn(t, repo.Statuses(t.Context()), w); !needs {
			t.Errorf("%s: an act believed what was remembered", k.name)
		}
		if k.restore != nil {
			k.restore()
		}
	}
	if b, err := os.ReadFile(repo.statusMemoryFile()); err == nil && strings.Contains(string(b), "changed") {
		t.Error("content was remembered")
	}
}

// TestIgnoredNoMore: a checkout in which there was nothing but what git ignored is not clean any more
// when the rule is gone that ignored it.
func TestIgnoredNoMore(t *testing.T) {
	r := gittest.New(t)
	r.Write("dir/a", "a\n")
	r.Commit("files")
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	r.Write(".git/info/exclude", "build/\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "build/deep/y"), "y\n")
	time.Sleep(100 * time.Millisecond)
	for range 2 {
		if list, _ := changesIn(t, repo.RememberedStatuses(t.Context()), w); len(list) > 0 {
			t.Fatalf("ignored: %q", list)
		}
	}
	r.Write(".git/info/exclude", "other\n")
	if list, _ := changesIn(t, repo.RememberedStatuses(t.Context()), w); !slices.Equal(list, []string{"?? build/deep/y"}) {
		t.Errorf("ignored no more: %q", list)
	}
}

// TestRememberedIsOfAllFiles: an answer that is remembered is repeated to no caller that asks for less, and not once git would read other
// settings in the checkout, or not be started there.
func TestRememberedIsOfAllFiles(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp") // in memory git is asked wherever a file has changed
	r := gittest.New(t)
	r.Write("dir/a", "a\n")
	r.Commit("files")
	r.Git("config", "extensions.worktreeConfig", "true")
	repo, without := withoutStatus(t, r)
	w := addWorktree(t, r, repo, "wt")
	gittest.WriteFile(t, filepath.Join(w.Path, "dir/a"), "changed\n")
	gittest.WriteFile(t, filepath.Join(w.Path, "new/x"), "x\n")
	time.Sleep(100 * time.Millisecond) // what is younger is not remembered
	in := func(untracked Untracked) string {
		t.Helper()
		s := repo.RememberedStatuses(t.Context())
		defer s.Close()
		entries, err := s.Of(t.Context(), w, untracked)
		list := []string{}
		for _, e := range entries {
			list = append(list, e.Path)
		}
		return fmt.Sprint(list, " ", err != nil)
	}
	const all = "[dir/a new/x] false"
	for range 2 {
		if got := in(UntrackedAll); got != all {
			t.Fatal(got)
		}
		for untracked, want := range map[Untracked]string{UntrackedNone: "[dir/a] false", UntrackedNormal: "[dir/a new/] false"} {
			if got := in(untracked); got != want {
				t.Errorf("%v: %s, want %s", untracked, got, want)
			}
		}
	}
	without(true)
	if got := in(UntrackedAll); got != all {
		t.Fatalf("it is not remembered: %s", got)
	}
	commondir, err := os.ReadFile(filepath.Join(w.Admin, "commondir"))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]struct {
		file, text string
	}{
		"a sparse checkout":         {"config.worktree", "[core]\n\tsparseCheckout = true\n"},
		"another common directory":  {"commondir", r.Beside("other") + "\n"},
		"a HEAD that names nothing": {"HEAD", "ref: refs/heads/none\n"},
	} {
		file := filepath.Join(w.Admin, change.file)
		was, werr := os.ReadFile(file)
		gittest.WriteFile(t, file, change.text)
		if got := in(UntrackedAll); got != "[] true" {
			t.Errorf("%s: %s, git was not needed", name, got)
		}
		if werr == nil {
			gittest.WriteFile(t, file, string(was))
		} else if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if got := in(UntrackedAll); got != all {
			t.Errorf("after %s: %s", name, got)
		}
	}
	if now, err := os.ReadFile(filepath.Join(w.Admin, "commondir")); err != nil || string(now) != string(commondir) {
		t.Error("the test has changed the checkout", err)
	}
}

// TestTraceOfWhatIsYoung: what has changed since a moment has no trace, although its key is that of an answer.
func TestTraceOfWhatIsYoung(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp") // in memory git is asked wherever a file has changed
	r := gittest.New(t)
	repo := open(t, r)
	w := addWorktree(t, r, repo, "wt")
	time.Sleep(100 * time.Millisecond) // what is younger has no trace
	s := repo.RememberedStatuses(t.Context())
	defer s.Close()
	seen, err := walk.Look(s.requestOf(w))
	if err != nil || !seen.IsWhole {
		t.Fatal(err)
	}
	if _, trace := s.traceOf(w, seen, "head", time.Now()); trace == "" && runtime.GOOS == "linux" { // elsewhere directories do not tell
		t.Error("what was not touched has no trace")
	}
	if _, trace := s.traceOf(w, seen, "head", time.Now().Add(-time.Hour)); trace != "" {
		t.Error("what was made since has a trace")
	}
}

// TestAnswersOfOthersStay: two processes that look at different checkouts keep each other's answers.
func TestAnswersOfOthersStay(t *testing.T) {
	repo := open(t, gittest.New(t))
	if err := os.MkdirAll(filepath.Dir(repo.statusMemoryFile()), 0o700); err != nil {
		t.Fatal(err)
	}
	one, other := repo.readStatusMemory(), repo.readStatusMemory()
	for name, m := range map[string]*statusMemory{"one": one, "other": other} {
		m.known()
		m.added[name] = statusAnswer{Key: name}
	}
	one.write()
	other.write()
	all := repo.readStatusMemory().known()
	if len(all) != 2 || all["one"].Key != "one" || all["other"].Key != "other" {
		t.Errorf("%v", all)
	}
}
